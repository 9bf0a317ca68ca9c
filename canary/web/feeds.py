"""The board's incidents as feeds: Atom (RFC 4287), RSS 2.0 and JSON Feed 1.1, one entry each, newest first.

Bodies of Atom and RSS entries are HTML inside of XML, so texts are escaped twice: once by us, once by the library. No
byte depends on when somebody asks: a feed that has not changed has the same ETag.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from html import escape
from io import StringIO

from feedgenerator import Atom1Feed, Rss201rev2Feed, SyndicationFeed

from canary.alerting.board import Board
from canary.alerting.published import PublicIncident

ATOM, RSS, JSON_FEED = "/history.atom", "/history.rss", "/feed.json"


class _Atom(Atom1Feed):  # type: ignore[misc]  # it has no types
    def latest_post_date(self) -> datetime:
        """Of the board: without entries the library would take the time of day."""
        return _latest(self)


class _Rss(Rss201rev2Feed):  # type: ignore[misc]  # it has no types
    def latest_post_date(self) -> datetime:
        return _latest(self)


def atom(board: Board) -> bytes:
    return _written(_Atom, ATOM, board)


def rss(board: Board) -> bytes:
    return _written(_Rss, RSS, board)


def json_feed(board: Board) -> bytes:
    return json.dumps(
        {
            "version": "https://jsonfeed.org/version/1.1",
            "title": board.title,
            "home_page_url": f"{board.url}/",
            "feed_url": f"{board.url}{JSON_FEED}",
            "language": "en",
            "authors": [{"name": board.title}],
            "items": [_item(each, board) for each in board.incidents],
        },
        ensure_ascii=False,
    ).encode()


def _written(kind: type[SyndicationFeed], path: str, board: Board) -> bytes:
    feed = kind(
        title=board.title,
        link=f"{board.url}/",
        description=f"Incidents of {board.title}",
        language="en",
        author_name=board.title,
        feed_url=f"{board.url}{path}",
        changed_at=board.changed_at,
    )
    for incident in board.incidents:
        link = _link(incident, board)
        feed.add_item(
            title=incident.title,
            link=link,
            description="".join(
                f"<p><strong>{phase}</strong>, {when}: {escape(text)}</p>" for phase, when, text in _story(incident)
            ),
            pubdate=incident.began_at.astimezone(UTC),
            updateddate=incident.updated_at.astimezone(UTC),
            unique_id=link,
            unique_id_is_permalink=True,
            categories=[incident.impact],
        )
    text = StringIO()
    feed.write(text, "utf-8")
    return text.getvalue().encode()


def _item(incident: PublicIncident, board: Board) -> dict[str, object]:
    return {
        "id": _link(incident, board),
        "url": _link(incident, board),
        "title": incident.title,
        "content_text": "\n".join(f"{phase}, {when}: {text}" for phase, when, text in _story(incident)),
        "date_published": _iso(incident.began_at),
        "date_modified": _iso(incident.updated_at),
        "tags": [incident.impact],
    }


def _story(incident: PublicIncident) -> Iterator[tuple[str, str, str]]:
    """Phase, time and text of each update, newest first."""
    for update in reversed(incident.updates):
        yield update.phase.value.capitalize(), _when(update.at), incident.text(update)


def _link(incident: PublicIncident, board: Board) -> str:
    return f"{board.url}/incidents/{incident.id}"


def _latest(feed: SyndicationFeed) -> datetime:
    changed_at: datetime = feed.feed["changed_at"]
    return changed_at.astimezone(UTC)


def _when(at: datetime) -> str:
    return f"{at.astimezone(UTC):%Y-%m-%d %H:%M} UTC"


def _iso(at: datetime) -> str:
    return at.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")

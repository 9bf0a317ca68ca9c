"""A message as Slack's Block Kit, for the bot and for the webhook. https://docs.slack.dev/reference/block-kit/blocks

Limits, in characters: header 150, section 3000, each of at most ten fields 2000, 50 blocks. One more is not documented:
all blocks together, above 13,000 (`msg_blocks_too_long`, https://github.com/slackapi/bolt-js/issues/2509), here
counted in bytes of UTF-8, since nobody knows better.
So blocks come in the order of what a person at 3 a.m. needs first, and those that no longer fit are left out, which the
last line says.

In `mrkdwn` `&`, `<` and `>` have power: `<!channel>`, `<@U1>` and links need them. Escaped, and `verbatim`, so that
Slack looks for no addresses and names of its own accord, text is only text.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType

from canary.core.finding import Severity
from canary.core.notification import Message, Notification, Reason
from canary.core.observation import Json
from canary.notify.text import facts, felt, headline, hop_table, links, mark, since

_MOST_HEADER = 150
_MOST_SECTION = 2900
_MOST_FIELD = 200
_MOST_FEEL = 600
_MOST_LINES = 1000
_MOST_LINK = 300
_MOST_ALL = 12_000
_MOST_TEXT = 3000  # of 40,000; what a lock screen and a screen reader say
FORM_REFUSED = frozenset(  # what Slack says where it is the looks that it does not take
    {
        "attachment_payload_limit_exceeded",
        "block_mismatch",
        "invalid_arguments",
        "invalid_attachments",
        "invalid_blocks",
        "invalid_blocks_format",
        "invalid_metadata_format",
        "invalid_metadata_schema",
        "invalid_payload",  # a webhook
        "metadata_must_be_sent_from_app",
        "metadata_too_large",
        "msg_blocks_too_long",
        "msg_too_long",
    }
)
_ENTITIES: Mapping[str, str] = MappingProxyType({"&": "&amp;", "<": "&lt;", ">": "&gt;"})
_SIGNS: Mapping[Reason, str] = MappingProxyType(
    {
        Reason.RESOLVED: "\N{WHITE HEAVY CHECK MARK}",
        Reason.ACKNOWLEDGED: "\N{EYES}",
        Reason.FLAPPING: "\N{ANTICLOCKWISE DOWNWARDS AND UPWARDS OPEN CIRCLE ARROWS}",
        Reason.TEST: "\N{WRENCH}",
    }
)
_SEVERITY_SIGNS = {Severity.CRITICAL: "\N{LARGE RED CIRCLE}", Severity.WARNING: "\N{LARGE YELLOW CIRCLE}"}


def fallback(notification: Notification) -> str:
    message = notification.message
    return escaped(f"{headline(notification)}\n{felt(message)}\n{message.where}", _MOST_TEXT)


def blocks(notification: Notification) -> list[Json]:
    """The whole message as it stands now."""
    message = notification.message
    fixed = [_header(notification), section(f"*{escaped(felt(message), _MOST_FEEL)}*"), _fields(message)]
    last = [_context(notification, shortened=True)]
    fitting: list[Json] = []
    wanted = list(_more(message))
    for block in filter(None, wanted):
        if _bytes([*fixed, *fitting, block, *last]) <= _MOST_ALL:
            fitting.append(block)
    return [*fixed, *fitting, _context(notification, shortened=len(fitting) < len(wanted))]


def update(notification: Notification) -> list[Json]:
    """What has changed, for the thread: the message above it already says all."""
    message = notification.message
    text = f"{_sign(notification)} *{escaped(mark(notification), _MOST_FIELD)}* at {_when(notification)}\n"
    known = dict(facts(message))
    lines = [felt(message), *(f"{name}: {known[name]}" for name in ("Where", "Observed") if name in known)]
    return [section(text + escaped("\n".join([*lines, *message.notes]), _MOST_SECTION - len(text)))]


def section(mrkdwn: str) -> Json:
    return {"type": "section", "text": _text(mrkdwn or " ")}


def _text(mrkdwn: str) -> Json:
    return {"type": "mrkdwn", "text": mrkdwn, "verbatim": True}


def escaped(text: str, most: int) -> str:
    """No half an escape."""
    return _joined([_ENTITIES.get(character, character) for character in text], most)


def _joined(pieces: Sequence[str], most: int) -> str:
    """Cut where the next piece would not fit; signs beyond the first plane count twice, as in JavaScript."""
    room = most - 1
    for kept, piece in enumerate(pieces):
        room -= len(piece) + (len(piece) == 1 and piece > "\uffff")
        if room < 0:
            return "".join(pieces[:kept]) + "…"
    return "".join(pieces)


def fenced(text: str) -> str:
    """Monospaced; its own fences would end ours."""
    inner = escaped(text.replace("```", "'''"), _MOST_SECTION - 6)
    return f"```{inner}```"


def _header(notification: Notification) -> Json:
    text = f"{_sign(notification)} {headline(notification)}"
    return {"type": "header", "text": {"type": "plain_text", "text": _joined(text, _MOST_HEADER), "emoji": False}}


def _bytes(blocks: Sequence[Json]) -> int:
    return len(json.dumps(blocks, ensure_ascii=False).encode())


def _sign(notification: Notification) -> str:
    if not notification.message.firing:
        return _SIGNS[Reason.RESOLVED]
    return _SIGNS.get(notification.reason, _SEVERITY_SIGNS[notification.message.severity])


def _fields(message: Message) -> Json:
    texts = [f"*{name}*\n{escaped(value, _MOST_FIELD)}" for name, value in facts(message)]
    texts.append(f"*First seen*\n{_date(int(message.since.timestamp()), since(message.since))}")
    return {"type": "section", "fields": [_text(text) for text in texts[:10]]}


def _more(message: Message) -> Iterator[Json | None]:
    """Most wanted first; None for what is too long by itself."""
    if message.cause:
        yield section(escaped(message.cause, _MOST_LINES))
    if message.hops:
        yield section(fenced(hop_table(message.hops)))
    if message.changed:
        yield section(f"*Changed*\n{_bullets(message.changed)}")
    if message.notes:
        yield section(_bullets(message.notes))
    if message.repeat:
        whole = escaped(message.repeat, _MOST_SECTION - 6) == escaped(message.repeat, 10**6)
        yield section(fenced(message.repeat)) if whole else None  # half a command is no command


def _bullets(lines: Sequence[str]) -> str:
    return escaped("\n".join(f"• {line}" for line in lines), _MOST_LINES)


def _context(notification: Notification, *, shortened: bool) -> Json:
    urls = [(name, url.replace("|", "%7C")) for name, url in links(notification.message) if len(url) <= _MOST_LINK]
    said = [f"<{escaped(url, 10 * _MOST_LINK)}|{name}>" for name, url in urls]
    said.append(f"page {escaped(notification.page_id, _MOST_FIELD)}")
    if shortened:
        said.append("shortened: not all of it fits into a Slack message")
    return {"type": "context", "elements": [_text("  |  ".join(said))]}


def _when(notification: Notification) -> str:
    return _date(int(notification.at.timestamp()), since(notification.at))


def _date(seconds: int, otherwise: str) -> str:
    """In the reader's own time zone."""
    return f"<!date^{seconds}^{{date_short_pretty}} {{time_secs}}|{otherwise}>"

"""Feeds as feed readers read them."""

import json
from dataclasses import replace
from xml.etree import ElementTree

import feedparser
import pytest

from canary.alerting.board import Chronicle
from canary.web.feeds import atom, json_feed, rss
from tests.fakes.boards import DOWN, STATES, URL, ago, note, over, shown

HARD = '<script>alert("1")</script> & \x00\x1b[2J\u202e ]]> 한국어 \ud800'
TIME = r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$"


def items_of(body):
    return json.loads(body)["items"]


@pytest.mark.parametrize("make", [atom, rss])
@pytest.mark.parametrize("state", STATES)
def test_a_feed_reader_reads_every_entry(make, state):
    board = STATES[state]
    read = feedparser.parse(make(board))
    assert not read.bozo, read.get("bozo_exception")
    assert [entry.title for entry in read.entries] == [each.title for each in board.incidents]
    assert [entry.id for entry in read.entries] == [f"{URL}/incidents/{each.id}" for each in board.incidents]
    assert all(entry.published_parsed and entry.link and entry.summary for entry in read.entries)
    assert read.feed.title == "Chat status"
    assert {link.rel for link in read.feed.links} == {"alternate", "self"}


def test_atom_has_what_rfc_4287_wants():
    names = {"a": "http://www.w3.org/2005/Atom"}
    for board in STATES.values():
        root = ElementTree.fromstring(atom(board))
        for place in [root, *root.findall("a:entry", names)]:
            for required in ("id", "title", "updated"):
                assert len(place.findall(f"a:{required}", names)) == 1
        assert root.find("a:author/a:name", names).text
        assert root.find("a:link[@rel='self']", names).get("href") == f"{URL}/history.atom"


@pytest.mark.parametrize("state", STATES)
def test_json_feed(state):
    """https://www.jsonfeed.org/version/1.1/"""
    board = STATES[state]
    feed = json.loads(json_feed(board))
    assert feed["version"] == "https://jsonfeed.org/version/1.1"
    assert feed["feed_url"] == f"{URL}/feed.json"
    assert [each["title"] for each in feed["items"]] == [each.title for each in board.incidents]
    for item in feed["items"]:
        assert set(item) == {"id", "url", "title", "content_text", "date_published", "date_modified", "tags"}
        assert item["content_text"]
        assert item["date_published"].endswith("Z")


@pytest.mark.parametrize("make", [atom, rss, json_feed])
@pytest.mark.parametrize("state", STATES)
def test_the_time_of_asking_changes_nothing(make, state):
    board = STATES[state]
    assert make(board) == make(replace(board, at=ago(hours=-1)))


def test_hard_text_stays_text():
    board = shown(pages=(over(DOWN),), said=Chronicle(notes=(note(HARD),)))
    for make in (atom, rss):
        (entry,) = feedparser.parse(make(board), sanitize_html=False).entries
        inner = ElementTree.fromstring(f"<body>{entry.summary}</body>")
        assert {each.tag for each in inner.iter()} == {"body", "p", "strong"}
        assert '<script>alert("1")</script> & ��[2J� ]]> 한국어 �' in "".join(inner.itertext())
    assert '<script>alert("1")</script>' in items_of(json_feed(board))[0]["content_text"]


def test_an_incident_that_comes_and_goes_is_one_entry():
    page = over(DOWN, opened=ago(minutes=50), changes=tuple(ago(minutes=each) for each in (50, 45, 30, 25, 20, 5)))
    assert len(feedparser.parse(atom(shown(pages=(page,)))).entries) == 1

"""Receivers that forget are told again."""

from canary.engine.refresh import Refresh
from tests.fakes.stored import NOON, after, notification_of

EVERY = {"am": 60.0, "slack": None}.get


def test_only_those_that_forget_and_only_while_the_page_is_open():
    refresh = Refresh()
    refresh.note(notification_of("n1", receiver="am"), NOON)
    refresh.note(notification_of("n2", receiver="slack"), NOON)
    assert refresh.due(["p1"], EVERY, after(seconds=59)) == ()
    assert [each.id for each in refresh.due(["p1"], EVERY, after(seconds=60))] == ["n1"]
    assert refresh.due(["p1"], EVERY, after(seconds=61)) == (), "the minute begins anew"
    assert refresh.due([], EVERY, after(hours=1)) == ()
    assert refresh.last == {}


def test_the_latest_is_what_is_said_again():
    refresh = Refresh()
    refresh.note(notification_of("n1", receiver="am"), NOON)
    refresh.note(notification_of("n2", receiver="am"), after(seconds=10))
    assert [each.id for each in refresh.due(["p1"], EVERY, after(minutes=2))] == ["n2"]

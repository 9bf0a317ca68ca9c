"""Tokens of the day."""

from datetime import timedelta

from canary.engine.spending import Spending
from tests.fakes.stored import NOON, after


def test_midnight_begins_a_new_day():
    spending = Spending(day=NOON.date())
    spending.add("chat", 100, NOON)
    spending.add("chat", 50, after(hours=11))
    assert spending.today({"chat": 1000, "free": None}, after(hours=11, minutes=59)) == {"chat": 150}
    assert spending.of("chat", after(hours=12)) == 0


def test_a_clock_that_is_set_back_does_not_spend_yesterdays_tokens_again():
    spending = Spending(day=NOON.date())
    spending.add("chat", 100, NOON)
    assert spending.of("chat", NOON - timedelta(days=1)) == 100

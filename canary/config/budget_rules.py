"""What the budgets of a probe must fulfil: the value that their parameter takes, and hops that can be asked."""

from __future__ import annotations

from collections.abc import Iterator

from canary.config.errors import Problem, did_you_mean, one_of, quoted, shown
from canary.config.view import View
from canary.core.budget import Budget, BudgetUnit
from canary.core.spec import Hop
from canary.wire.budgets import BUDGETS


def budget_problems(budget: View, pipeline: View) -> Iterator[Problem]:
    given = [key for key in ("tokens", "value") if budget.has(key)]
    row = BUDGETS.get(budget.text("parameter") or "")
    if len(given) != 1:
        yield budget.problem("both tokens and value" if given else "neither tokens nor value", "one of them")
    elif row is not None:
        yield from _tokens(budget, row) if row.unit is BudgetUnit.TOKENS else _value(budget, row)
    hops = [hop for hop in pipeline.at("hops").items() if hop.has("url")]
    if row is not None and hops:
        yield from _protocols(budget, row, hops, pipeline.at("defaults"))
    yield from _expected_hops(budget.at("expect"), [name for hop in hops if (name := hop.text("name"))])


def _tokens(budget: View, row: Budget) -> Iterator[Problem]:
    if budget.has("value"):
        yield budget.at("value").problem("a value", f"tokens: {row.name} takes a number of tokens")
        return
    tokens = budget.at("tokens").data
    if isinstance(tokens, int) and 0 <= tokens < row.minimum and tokens != row.off and not budget.has("expect"):
        yield budget.at("tokens").problem(
            str(tokens), f"at least {row.minimum}, or what becomes of less in expect: {row.name} takes no less"
        )


def _value(budget: View, row: Budget) -> Iterator[Problem]:
    values = [value for value in (row.off, row.on, *row.levels) if value is not None]
    words = [shown((), value) if isinstance(value, bool) else str(value) for value in dict.fromkeys(values)]
    if budget.has("tokens"):
        yield budget.at("tokens").problem("tokens", f"value: {row.name} takes {one_of(words)}")
        return
    place = budget.at("value")
    value = place.data if isinstance(place.data, bool) else budget.text("value")
    if value is not None and not any(type(value) is type(known) and value == known for known in values):
        hint = did_you_mean(value, words) if isinstance(value, str) else None
        yield place.problem(shown((), place.written()), one_of(words), hint)


def _protocols(budget: View, row: Budget, hops: list[View], defaults: View) -> Iterator[Problem]:
    spoken = {hop.text("protocol") or defaults.text("protocol") or Hop(name="").protocol for hop in hops}
    if not spoken & set(row.protocols):
        place = budget.at("parameter")
        yield place.problem(f"a parameter of {one_of(row.protocols)}", f"one of {one_of(sorted(spoken))}")


def _expected_hops(expect: View, names: list[str]) -> Iterator[Problem]:
    for name in expect.names():
        if name not in names:
            probed = f"a probed hop: {one_of(names)}" if names else "a probed hop"
            yield expect.at(name).problem(f"the unknown hop {quoted(name)}", probed, did_you_mean(name, names))

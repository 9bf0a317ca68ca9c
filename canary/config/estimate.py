"""What the probes of a plan may cost, before the first one is sent.

Two numbers, because a budget test stops its streams as soon as it knows:

- `usual`: one control for all caps of a probe, stopped once it reasoned long enough for the largest of them, and each
  treatment stopped past twice its cap or in the first words of its answer. Counts from characters are certain only a
  third later. A hop that hides reasoning tells its count at the very end, so nothing is stopped there. Where no cap is
  expected to be honoured, a short question shows how answers end.
- `upper`: no stream is stopped early, each cap takes all three questions, each with one repeat, and the short question
  is asked. Nothing on the schedule costs more.

In both, every plain answer runs to its max_tokens; so does the control where other checks need it whole, and each
repeat of a soft cap, a level or a switch. A treatment of a cap has a max_tokens of its own. A prompt has at most as
many tokens as bytes in UTF-8 (no byte-level tokenizer makes more), plus the filler of a long-context probe. Not in
here: runs asked for by hand or by a failure, and what a gateway retries, reasons beyond max_tokens, or goes on
computing after we hang up.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import ceil
from types import MappingProxyType

from canary.checks.budget_order import LEAST_REPEATS, needs_order, values_in_order
from canary.checks.budget_stop import control_tokens_needed, treatment_max_tokens
from canary.checks.reasoning_count import MARGIN
from canary.config.timetable import describe_schedule, runs_on_a_busy_day
from canary.core.budget import BudgetKind
from canary.core.schedule import Schedule
from canary.core.spec import Assignment, BudgetTest, Expectation, Hop, Pipeline, Plan, Prices, Probe
from canary.core.units import plural
from canary.wire.budgets import BUDGETS

_AROUND_PROMPT = 200  # the nonce, the chat template, a tool's description
_QUESTIONS_OF_A_TEST = 3
_TRIES_OF_A_TREATMENT = 2  # an overshoot is tried once more
_FIRST_WORDS = 160  # tokens of the answer, at a character each, after which an arm is stopped
_CERTAIN_AT = 1 / (1 - MARGIN)  # of a count by characters


@dataclass(frozen=True, slots=True, kw_only=True)
class Tokens:
    input: float = 0
    output: float = 0

    @property
    def total(self) -> float:
        return self.input + self.output

    def __add__(self, other: Tokens) -> Tokens:
        return Tokens(input=self.input + other.input, output=self.output + other.output)

    def times(self, factor: float) -> Tokens:
        return Tokens(input=self.input * factor, output=self.output * factor)

    def money(self, prices: Prices) -> float:
        """In the currency of `prices`."""
        return (self.input * prices.input + self.output * prices.output) / 1e6


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeEstimate:
    """One run of one probe through all hops.

    `longest_s`: how long it takes when no hop answers at all: the lowest is waited for until the deadline, then those
    above it together, and budgets are not asked. `runs_per_day`: of a cron, on its busiest day; 0 for a probe on
    demand.
    """

    probe: str
    schedule: Schedule | None
    requests: int
    usual: Tokens
    upper: Tokens
    longest_s: float
    runs_per_day: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    pipeline: Pipeline
    probes: tuple[ProbeEstimate, ...]

    @property
    def usual_per_day(self) -> Tokens:
        return sum((probe.usual.times(probe.runs_per_day) for probe in self.probes), Tokens())

    @property
    def upper_per_day(self) -> Tokens:
        return sum((probe.upper.times(probe.runs_per_day) for probe in self.probes), Tokens())


def estimates(plan: Plan) -> tuple[Estimate, ...]:
    """One for each pipeline."""
    return tuple(
        Estimate(pipeline=pipeline, probes=tuple(_of_assignment(pipeline, a) for a in pipeline.assignments))
        for pipeline in plan.pipelines
    )


def costs(plan: Plan) -> Mapping[tuple[str, str], ProbeEstimate]:
    """By (pipeline, probe): what one run may cost, for whoever has to stay within a limit."""
    return MappingProxyType(
        {(estimate.pipeline.name, probe.probe): probe for estimate in estimates(plan) for probe in estimate.probes}
    )


def describe_estimate(estimate: Estimate) -> list[str]:
    """Lines for a terminal: each probe's run, then the day."""
    prices = estimate.pipeline.prices
    lines = [_line(probe, prices) for probe in estimate.probes]
    day = _range(estimate.usual_per_day, estimate.upper_per_day, prices)
    return [*lines, f"a day: {day}"] if estimate.upper_per_day.total else lines


def _line(probe: ProbeEstimate, prices: Prices | None) -> str:
    often, requests = describe_schedule(probe.schedule), plural(probe.requests, "request")
    return f"{probe.probe}, {often}: {requests} a run, {_range(probe.usual, probe.upper, prices)}"


def _range(usual: Tokens, upper: Tokens, prices: Prices | None) -> str:
    if usual == upper:
        return f"up to {_amount(upper, prices)}"
    return f"usually up to {_amount(usual, prices)}, never more than {_amount(upper, prices)}"


def _amount(tokens: Tokens, prices: Prices | None) -> str:
    money = f" ({tokens.money(prices):.2f} {prices.currency})" if prices else ""
    return f"{tokens.total:,.0f} tokens{money}"


def _of_assignment(pipeline: Pipeline, assignment: Assignment) -> ProbeEstimate:
    hops = [_of_hop(hop, assignment) for hop in pipeline.hops if hop.url is not None]
    return ProbeEstimate(
        probe=assignment.probe.name,
        schedule=assignment.schedule,
        requests=len(hops) * (1 + sum(_requests(budget) for budget in assignment.budgets)),
        usual=sum((usual for usual, _ in hops), Tokens()),
        upper=sum((upper for _, upper in hops), Tokens()),
        longest_s=assignment.deadline_s * min(len(hops), 1 if pipeline.parallel else 2),
        runs_per_day=runs_on_a_busy_day(assignment.schedule),
    )


def _of_hop(hop: Hop, assignment: Assignment) -> tuple[Tokens, Tokens]:
    """Usual and upper."""
    plain = Tokens(input=_prompt_tokens(assignment.probe), output=assignment.probe.max_tokens)
    shows = hop.forwards_reasoning is not False
    usual, upper = _control(assignment, plain, shows=shows), plain
    for budget in assignment.budgets:
        usual, upper = usual + _usual(budget, plain, shows=shows), upper + _upper(budget, plain)
    short = replace(plain, input=_AROUND_PROMPT)  # without a document, with the room of a plain answer
    if shows and _asked_short(hop, assignment):
        usual += short
    if any(_is_cap(budget) for budget in assignment.budgets):
        upper += plain.times(_QUESTIONS_OF_A_TEST - 1) + short
    return usual, upper


def _prompt_tokens(probe: Probe) -> int:
    question = max((len(question.text.encode()) for question in probe.questions), default=0)
    return probe.context_tokens + question + _AROUND_PROMPT


def _is_cap(budget: BudgetTest) -> bool:
    return budget.tokens is not None and BUDGETS[budget.parameter].kind is BudgetKind.HARD_CAP


def _control(assignment: Assignment, plain: Tokens, *, shows: bool) -> Tokens:
    """The plain answer, which serves all budgets; stopped where nothing but a cap needs it."""
    caps = [budget for budget in assignment.budgets if _is_cap(budget)]
    if assignment.probe.needs_whole_answer or not caps or not shows:
        return plain
    needed = max(control_tokens_needed(budget.tokens or 0) for budget in caps)
    return _stopped_at(needed, plain)


def _asked_short(hop: Hop, assignment: Assignment) -> bool:
    """Whether no other answer is expected to show how answers end: neither a whole control nor a cap that acts."""
    expected = {budget.expected_at(hop.name) for budget in assignment.budgets if _is_cap(budget)}
    return (
        not assignment.probe.needs_whole_answer
        and Expectation.IGNORED in expected
        and Expectation.HONOURED not in expected
    )


def _stopped_at(tokens: float, whole: Tokens) -> Tokens:
    return replace(whole, output=min(whole.output, ceil(tokens * _CERTAIN_AT)))


def _requests(budget: BudgetTest) -> int:
    """Besides the control, if all goes well."""
    row = BUDGETS[budget.parameter]
    if needs_order(budget, row):
        return len(values_in_order(budget, row)) * LEAST_REPEATS
    return 2 if budget.nonsense else 1


def _usual(budget: BudgetTest, plain: Tokens, *, shows: bool) -> Tokens:
    if not _is_cap(budget):
        return plain.times(_requests(budget))
    tokens, excess = budget.tokens or 0, _excess(budget)
    treatment = _treatment(budget, plain)
    if shows:
        treatment = _stopped_at(max(BUDGETS[budget.parameter].twice(tokens), tokens + excess + _FIRST_WORDS), treatment)
    if not budget.nonsense:
        return treatment
    return treatment + (_stopped_at(control_tokens_needed(tokens), plain) if shows else plain)


def _upper(budget: BudgetTest, plain: Tokens) -> Tokens:
    """Without the controls."""
    if not _is_cap(budget):
        return plain.times(_requests(budget))
    nonsense = plain if budget.nonsense else Tokens()
    return (_treatment(budget, plain).times(_TRIES_OF_A_TREATMENT) + nonsense).times(_QUESTIONS_OF_A_TEST)


def _treatment(budget: BudgetTest, plain: Tokens) -> Tokens:
    """At its own max_tokens: enough that a cut by length is not taken for obedience."""
    return replace(plain, output=treatment_max_tokens(budget.tokens or 0, _excess(budget)))


def _excess(budget: BudgetTest) -> int:
    return BUDGETS[budget.parameter].allowed_excess(budget.tokens or 0)

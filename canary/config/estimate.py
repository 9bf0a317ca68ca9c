"""What the probes of a plan may cost, before the first one is sent.

Two numbers, because a budget test stops its streams as soon as it knows:

- `usual`: each budget once. Its control is stopped at max(4 B, B + 200) reasoning tokens and its treatment at 2 B + E
  at the latest, where B is the budget and E what an obedient engine may show above it.
- `upper`: no stream is stopped early, each budget is tried with all three prompts that the test may use and with one
  repeat. Nothing on the schedule costs more.

Both let every plain answer run to its max_tokens. A prompt has at most as many tokens as bytes in UTF-8 (no byte-level
tokenizer makes more), plus the filler of a long-context probe. Not in here: runs asked for by hand or by a failure, and
what a gateway retries, reasons beyond max_tokens, or goes on computing after we hang up.
"""

from __future__ import annotations

from dataclasses import dataclass

from canary.core.spec import Assignment, BudgetTest, Pipeline, Plan, Prices, Probe
from canary.core.units import format_duration, plural
from canary.wire.budgets import BUDGETS

_DAY_S = 86_400.0
_AROUND_PROMPT = 200  # the nonce, the chat template, a tool's description
_PROMPTS_OF_A_TEST = 3
_REPEATS_OF_A_TEST = 1


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
    """One run of one probe through all hops. `runs_per_day` is 0 for a probe on demand."""

    probe: str
    requests: int
    usual: Tokens
    upper: Tokens
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


def describe_estimate(estimate: Estimate) -> list[str]:
    """Lines for a terminal: each probe's run, then the day."""
    prices = estimate.pipeline.prices
    lines = [_line(probe, prices) for probe in estimate.probes]
    day = _range(estimate.usual_per_day, estimate.upper_per_day, prices)
    return [*lines, f"a day: {day}"] if estimate.upper_per_day.total else lines


def _line(probe: ProbeEstimate, prices: Prices | None) -> str:
    often = f"every {format_duration(_DAY_S / probe.runs_per_day)}" if probe.runs_per_day else "on demand"
    requests = plural(probe.requests, "request")
    return f"{probe.probe}, {often}: {requests} a run, {_range(probe.usual, probe.upper, prices)}"


def _range(usual: Tokens, upper: Tokens, prices: Prices | None) -> str:
    if usual == upper:
        return f"up to {_amount(upper, prices)}"
    return f"usually up to {_amount(usual, prices)}, never more than {_amount(upper, prices)}"


def _amount(tokens: Tokens, prices: Prices | None) -> str:
    money = f" ({tokens.money(prices):.2f} {prices.currency})" if prices else ""
    return f"{tokens.total:,.0f} tokens{money}"


def _of_assignment(pipeline: Pipeline, assignment: Assignment) -> ProbeEstimate:
    hops = sum(1 for hop in pipeline.hops if hop.url is not None)
    plain = Tokens(input=_prompt_tokens(assignment.probe), output=assignment.probe.max_tokens)
    usual, upper, requests = plain, plain, 1
    for budget in assignment.budgets:
        usual, upper = usual + _usual(budget, plain), upper + _upper(budget, plain)
        requests += 3 if budget.nonsense else 2
    every_s = assignment.every_s
    return ProbeEstimate(
        probe=assignment.probe.name,
        requests=requests * hops,
        usual=usual.times(hops),
        upper=upper.times(hops),
        runs_per_day=_DAY_S / every_s if every_s else 0.0,
    )


def _prompt_tokens(probe: Probe) -> int:
    question = max((len(question.text.encode()) for question in probe.questions), default=0)
    return probe.context_tokens + question + _AROUND_PROMPT


def _usual(budget: BudgetTest, plain: Tokens) -> Tokens:
    """Control, treatment and perhaps nonsense. A switch or level has no number to stop at."""
    if budget.tokens is None:
        return plain.times(3 if budget.nonsense else 2)
    control = min(plain.output, max(4 * budget.tokens, budget.tokens + 200))
    treatment = min(_treatment_max(budget, plain), 2 * budget.tokens + _excess(budget))
    nonsense = Tokens(input=plain.input, output=control) if budget.nonsense else Tokens()
    return Tokens(input=2 * plain.input, output=control + treatment) + nonsense


def _upper(budget: BudgetTest, plain: Tokens) -> Tokens:
    treatment = Tokens(input=plain.input, output=_treatment_max(budget, plain))
    tries = (plain + treatment).times(_PROMPTS_OF_A_TEST) + treatment.times(_REPEATS_OF_A_TEST)
    return tries + plain if budget.nonsense else tries


def _treatment_max(budget: BudgetTest, plain: Tokens) -> float:
    """At least B + E + 200, so that a cut by length is not taken for obedience."""
    return max(plain.output, (budget.tokens or 0) + _excess(budget) + 200)


def _excess(budget: BudgetTest) -> int:
    return BUDGETS[budget.parameter].allowed_excess(budget.tokens or 0)

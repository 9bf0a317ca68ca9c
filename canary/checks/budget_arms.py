"""The arms of a budget test, what can be read from one, and what is said in the end.

Text in the reasoning field is reasoning only at a hop that tells an answer from it. Some put all of it there: a parser
that never sees the end of the reasoning (some only where a budget forced that end, or a switch left no beginning), a
gateway that maps one field onto another. There an obedient model passes any cap, and a brief one looks like a long one.
So the field's name is believed, unless an answer that ended by itself had nothing outside of it, or somebody looked and
no answer of this hop had (`mixed`). Usage settles it where it counts other tokens than those of reasoning.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType

from canary.analysis.ticks import ends_whole
from canary.checks.evidence import Evidence, said_anything, unusable
from canary.checks.reasoning_count import ReasoningMeter, TokenRange, ends_reasoning
from canary.core.budget import Budget
from canary.core.spec import BudgetTest, Expectation
from canary.core.verdict import Status, Verdict

NAME = "budget"
OUT_OF_TOKENS = ("length", "max_tokens", "max_output_tokens")
_CUT_FINISHES = (*OUT_OF_TOKENS, "error", "abort")


class Outcome(StrEnum):
    """What a parameter was seen to do; the reason of a verdict."""

    HONOURED = "honoured"
    OVERSHOOT = "overshoot"  # past the cap, and not twice
    IGNORED = "ignored"
    REJECTED = "rejected"
    CLAMPED = "clamped"  # raised to a least value
    INVERTED = "inverted"  # less was asked for and more came
    NO_REASONING = "no_reasoning"
    INCONCLUSIVE = "inconclusive"
    RATE_LIMITED = "rate_limited"
    MISCONFIGURED = "probe_misconfigured"
    INTERRUPTED = "interrupted"
    UNREACHABLE = "unreachable"
    NO_RESPONSE = "no_response"


def _statuses(honoured: Status, ignored: Status, rejected: Status) -> Mapping[Expectation, Status]:
    return MappingProxyType(
        {Expectation.HONOURED: honoured, Expectation.IGNORED: ignored, Expectation.REJECTED: rejected}
    )


# By what was seen, then by what was expected. What is not in here could not be told: UNKNOWN.
STATUS: Mapping[Outcome, Mapping[Expectation, Status]] = MappingProxyType(
    {
        Outcome.HONOURED: _statuses(Status.PASS, Status.FAIL, Status.FAIL),
        Outcome.OVERSHOOT: _statuses(Status.WARN, Status.WARN, Status.FAIL),
        Outcome.IGNORED: _statuses(Status.FAIL, Status.PASS, Status.FAIL),
        Outcome.REJECTED: _statuses(Status.FAIL, Status.FAIL, Status.PASS),
        # Chance puts an answer near a known least value now and then: no reason to page who expects nothing to happen.
        Outcome.CLAMPED: _statuses(Status.FAIL, Status.WARN, Status.FAIL),
        Outcome.INVERTED: _statuses(Status.FAIL, Status.WARN, Status.FAIL),
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Arms:
    """The same question at the same hop: with the parameter, without it, and with a misspelt one.

    `chars_per_token`: learned from this hop's finished answers. `separates`: whether some answer of this hop in the
    same run showed that what looks like reasoning is no answer; None: nobody looked, as with recordings.
    """

    treatment: Evidence
    control: Evidence | None = None
    nonsense: Evidence | None = None
    chars_per_token: float | None = None
    separates: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Ruling:
    """What was seen, before it is held against what was expected. `because` completes "`parameter`=64 is ignored: "."""

    outcome: Outcome
    because: str
    observed: float | None = None
    limit: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """One arm that has an answer. `settled`: its reasoning is known to be over, so its count is no lower bound.

    `finished`: the model stopped by itself. `ended`: something else than reasoning came after it.
    `counted_apart`: its usage, where that is believed, counts tokens of reasoning and others.
    """

    evidence: Evidence
    count: TokenRange | None
    chars: int
    blocks: int
    present: bool
    settled: bool
    finished: bool
    ended: bool
    counted_apart: bool


def read(evidence: Evidence, budget: Budget, chars_per_token: float | None) -> Reading:
    """Measures an arm as the cap counts: its longest block where the cap is per block."""
    meter = ReasoningMeter(chars_per_token)
    for event in evidence.observation.events:
        meter.feed(event)
    finished = _finished(evidence)
    return Reading(
        evidence=evidence,
        count=meter.longest_block() if budget.per_block else meter.total(),
        chars=meter.chars,
        blocks=meter.blocks,
        present=meter.present,
        settled=finished or meter.closed or meter.counted_apart,
        finished=finished,
        ended=meter.ended,
        counted_apart=meter.counted_apart,
    )


def answers(evidence: Evidence | None) -> bool:
    """Whether there is anything to compare with: text, or a report of reasoning that this hop does not show."""
    if evidence is None or unusable(evidence) is not None:
        return False
    usage = evidence.measurement.usage
    return said_anything(evidence.measurement) or bool(usage and usage.reasoning_tokens)


def _finished(evidence: Evidence) -> bool:
    finish = evidence.measurement.finish_reason
    return ends_whole(evidence.observation) and finish is not None and finish not in _CUT_FINISHES


def tells_apart(evidence: Evidence) -> bool | None:
    """Whether this hop tells answers from reasoning, as far as this answer shows it."""
    if ends_reasoning(evidence.observation.events):
        return True
    return False if evidence.measurement.reasoning_chars and _finished(evidence) else None


def runs_on(evidence: Evidence) -> bool:
    """Whether an answer was nothing but reasoning until its room ran out.

    Asked for yes or no under a tiny cap, an obedient engine is done long before that, wherever its answer would stand.
    """
    measurement = evidence.measurement
    out_of_tokens = measurement.finish_reason in OUT_OF_TOKENS
    return out_of_tokens and measurement.reasoning_chars > 0 and not ends_reasoning(evidence.observation.events)


def alone(reading: Reading) -> bool:
    """Whether nothing came that can be told from reasoning."""
    return reading.chars > 0 and not reading.ended and not reading.counted_apart


def ended_alone(reading: Reading) -> bool:
    """Whether the model came to its end with nothing but reasoning: then its answer is among it."""
    return reading.finished and alone(reading)


def mixed(treatment: Reading, *others: Reading | None, separates: bool | None) -> bool:
    """Whether the answer may stand among what looks like reasoning. `others`: of the same hop."""
    if not alone(treatment) or separates or any(other.ended for other in others if other is not None):
        return False
    return separates is False or treatment.finished


def hides(reading: Reading) -> bool:
    """Whether it is known that there is reasoning which this hop does not show."""
    evidence = reading.evidence
    below = evidence.below is not None and evidence.below.reasoning_chars > 0
    reported = reading.count is not None and reading.count.low > 0
    return reading.present or reported or below or evidence.forwards_reasoning is False


def verdict(test: BudgetTest, hop: str, ruling: Ruling) -> Verdict:
    """The ruling held against what is expected at this hop."""
    expected = test.expected_at(hop)
    status = STATUS.get(ruling.outcome, {}).get(expected, Status.UNKNOWN)
    asked = f"`{test.parameter}`" if test.asked is None else f"`{test.parameter}`={test.asked}"
    does = "could not be judged" if status is Status.UNKNOWN else _DOES[ruling.outcome]
    against = f", expected {expected}" if status is Status.FAIL else ""
    return Verdict(
        check=NAME,
        status=status,
        reason=ruling.outcome,
        message=f"{asked} {does}{against}: {ruling.because}",
        subject=test.parameter,
        observed=ruling.observed,
        limit=ruling.limit,
        unit=None if ruling.observed is None and ruling.limit is None else "tokens",
    )


_DOES: Mapping[Outcome, str] = MappingProxyType(
    {
        Outcome.HONOURED: "is honoured",
        Outcome.OVERSHOOT: "is overshot",
        Outcome.IGNORED: "is ignored",
        Outcome.REJECTED: "is rejected",
        Outcome.CLAMPED: "is raised to a higher value",
        Outcome.INVERTED: "does the opposite",
    }
)


def cut_short(reading: Reading) -> str:
    finish = reading.evidence.measurement.finish_reason
    return f"the answer ended with finish_reason={finish}" if finish else "the answer broke off"


def nothing_else(count: TokenRange) -> str:
    return f"{count} and nothing else came, so the answer may stand among the reasoning and its length proves nothing"


def unclear(because: str) -> Ruling:
    return Ruling(outcome=Outcome.INCONCLUSIVE, because=because)

"""The arms of a budget test, and what can be read from one: how much it reasoned, and whether it was refused.

An error counts as a refusal of the parameter only if it can be one. 400, 422 and 424 are, wherever they are carried;
any other 4xx is if the same request without the parameter got an answer; a 5xx, only if it names the parameter. If the
control is refused too, or the message names a setting that the probe chose itself, it is not the parameter.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType

from canary.analysis.ticks import ends_whole
from canary.checks.evidence import Evidence, said_anything, unusable
from canary.checks.reachable import OWN_SETTINGS
from canary.checks.reasoning_count import ReasoningMeter, TokenRange
from canary.core.budget import Budget
from canary.core.observation import HttpRejected
from canary.core.spec import BudgetTest, Expectation
from canary.core.stream import ServerError
from canary.core.verdict import Status, Verdict

NAME = "budget"
REFUSALS = (400, 422, 424)
_REFUSAL_KINDS = ("badrequesterror", "invalid_request_error", "unprocessableentityerror", "validationexception")
_BUSY = (408, 409, 425, 429)
_CUT_FINISHES = ("length", "max_tokens", "max_output_tokens", "error", "abort")


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

    `chars_per_token`: learned from this hop's finished answers.
    """

    treatment: Evidence
    control: Evidence | None = None
    nonsense: Evidence | None = None
    chars_per_token: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Ruling:
    """What was seen, before it is held against what was expected. `because` completes "`parameter`=64 is ignored: "."""

    outcome: Outcome
    because: str
    observed: float | None = None
    limit: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """One arm that has an answer. `settled`: its reasoning is known to have ended, so its count is no lower bound."""

    evidence: Evidence
    count: TokenRange | None
    chars: int
    blocks: int
    present: bool
    settled: bool
    finished: bool


def read(evidence: Evidence, budget: Budget, chars_per_token: float | None) -> Reading:
    """Measures an arm as the cap counts: its longest block where the cap is per block."""
    meter = ReasoningMeter(chars_per_token)
    for event in evidence.observation.events:
        meter.feed(event)
    finish = evidence.measurement.finish_reason
    finished = ends_whole(evidence.observation) and finish is not None and finish not in _CUT_FINISHES
    return Reading(
        evidence=evidence,
        count=meter.longest_block() if budget.per_block else meter.total(),
        chars=meter.chars,
        blocks=meter.blocks,
        present=meter.present,
        settled=finished or meter.closed,
        finished=finished,
    )


def hides(reading: Reading) -> bool:
    """Whether it is known that there is reasoning which this hop does not show."""
    evidence = reading.evidence
    below = evidence.below is not None and evidence.below.reasoning_chars > 0
    reported = reading.count is not None and reading.count.low > 0
    return reading.present or reported or below or evidence.forwards_reasoning is False


def verdict(test: BudgetTest, hop: str, ruling: Ruling) -> Verdict:
    """The ruling held against what is expected at this hop."""
    expected = test.expect_at.get(hop, test.expect)
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


@dataclass(frozen=True, slots=True, kw_only=True)
class _Error:
    """An error in place of an answer. `code`: the status, or the code of an error object inside a 200."""

    code: int | None
    kind: str
    message: str
    carrier: str

    def __str__(self) -> str:
        return f"{self.carrier}{f': {self.message}' if self.message else ''}"


def refusal(arms: Arms, budget: Budget) -> Ruling | None:
    """Why there is no answer that could be judged; None where there is one."""
    error = _error(arms.treatment)
    if error is None:
        reason = unusable(arms.treatment)
        return Ruling(outcome=Outcome(reason), because=reason.replace("_", " ")) if reason else None
    if error.code == 429:
        return Ruling(outcome=Outcome.RATE_LIMITED, because=str(error))
    if arms.control is not None and (control_error := _error(arms.control)):
        because = f"{error}; the request without it was refused as well ({control_error}), so it is not the parameter"
        return Ruling(outcome=Outcome.INCONCLUSIVE, because=because)
    if not _names(error, budget) and (setting := _own_setting(error, arms.treatment)):
        return Ruling(outcome=Outcome.MISCONFIGURED, because=f"the target refuses the probe's own `{setting}`: {error}")
    if _is_refusal(error, budget, arms.control):
        return Ruling(outcome=Outcome.REJECTED, because=f"{error}{_unknown_keys(arms.nonsense)}")
    return Ruling(outcome=Outcome.INCONCLUSIVE, because=f"{error}; that says nothing of the parameter")


def answers(evidence: Evidence | None) -> bool:
    """Whether there is anything to compare with: text, or a report of reasoning that this hop does not show."""
    if evidence is None or unusable(evidence) is not None:
        return False
    usage = evidence.measurement.usage
    return said_anything(evidence.measurement) or bool(usage and usage.reasoning_tokens)


def _error(evidence: Evidence) -> _Error | None:
    measurement = evidence.measurement
    if isinstance(measurement.end, HttpRejected):
        status, message = measurement.end.status, measurement.end.message
        return _Error(code=status, kind="", message=message, carrier=f"HTTP {status}")
    if measurement.error is None or said_anything(measurement):
        return None
    code = int(measurement.error_code) if measurement.error_code and measurement.error_code.isdecimal() else None
    kind = next((event.kind for event in evidence.observation.events if isinstance(event, ServerError)), None)
    carrier = f"an error object{'' if code is None else f' (code {code})'} inside a 200"
    return _Error(code=code, kind=(kind or "").lower(), message=measurement.error, carrier=carrier)


def _is_refusal(error: _Error, budget: Budget, control: Evidence | None) -> bool:
    if error.code in REFUSALS or error.kind in _REFUSAL_KINDS or _names(error, budget):
        return True
    client_error = error.code is None or (400 <= error.code < 500 and error.code not in _BUSY)
    return client_error and answers(control)


def _names(error: _Error, budget: Budget) -> bool:
    """Whether the message names the parameter; a leaf like `type` or `effort` alone is an everyday word."""
    leaf = budget.path[-1]
    names = (budget.name, ".".join(budget.path), *((leaf,) if "_" in leaf and leaf not in OWN_SETTINGS else ()))
    return any(name in error.message for name in names if len(name) > 5)


def _own_setting(error: _Error, evidence: Evidence) -> str | None:
    request = evidence.observation.exchange.request
    sent = request if isinstance(request, dict) else {}
    return next((name for name in OWN_SETTINGS if name in sent and name in error.message), None)


def _unknown_keys(nonsense: Evidence | None) -> str:
    if nonsense is None:
        return ""
    if _error(nonsense):
        return "; a misspelt key is refused as well: this hop does not know the parameter"
    return "; a misspelt key is taken: this hop knows the parameter and refuses it" if answers(nonsense) else ""

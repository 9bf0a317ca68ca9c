"""Was the parameter refused, or the request for another reason?

An error counts as a refusal of the parameter only if it can be one. 400, 422 and 424 are, wherever they are carried;
any other 4xx is if the same request without the parameter got an answer; a 5xx, only if it names the parameter. If the
control is refused too, or the message names a setting that the probe chose itself, it is not the parameter.
"""

from __future__ import annotations

from dataclasses import dataclass

from canary.checks.budget_arms import Arms, Outcome, Ruling, answers
from canary.checks.evidence import Evidence, said_anything, unusable
from canary.checks.reachable import OWN_SETTINGS, own_setting
from canary.core.budget import Budget
from canary.core.observation import HttpRejected
from canary.core.stream import ServerError

REFUSALS = (400, 422, 424)
_REFUSAL_KINDS = ("badrequesterror", "invalid_request_error", "unprocessableentityerror", "validationexception")
_BUSY = (408, 409, 425, 429)


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
    if not _names(error, budget) and (setting := own_setting(error.message, arms.treatment.observation.exchange)):
        return Ruling(outcome=Outcome.MISCONFIGURED, because=f"the target refuses the probe's own `{setting}`: {error}")
    if _is_refusal(error, budget, arms.control):
        return Ruling(outcome=Outcome.REJECTED, because=f"{error}{_unknown_keys(arms.nonsense)}")
    return Ruling(outcome=Outcome.INCONCLUSIVE, because=f"{error}; that says nothing of the parameter")


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


def _unknown_keys(nonsense: Evidence | None) -> str:
    if nonsense is None:
        return ""
    if _error(nonsense):
        return "; a misspelt key is refused as well: this hop does not know the parameter"
    return "; a misspelt key is taken: this hop knows the parameter and refuses it" if answers(nonsense) else ""

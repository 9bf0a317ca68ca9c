"""Did the model answer that was asked for? Never worse than WARN: the answer did come.

A gateway may hide a refusal, or an engine that is down, behind a fallback: status 200, and another model's answer. The
response names the model, so that it can be told; but names need not be equal to mean the same. Hosted services add the
version that a name stands for (`gpt-5-2025-08-07`), hops add or take a provider (`openai/`), and a gateway may answer
under its own alias or under the name below it. All of these are the asked model. An alias that is resolved to something
quite different, as a hosted deployment's name is, looks like a swap from outside: hence WARN, and its message.
"""

from __future__ import annotations

import re

from canary.checks.evidence import Evidence, quoted, unusable
from canary.core.verdict import Status, Verdict

NAME = "served_model"
_VERSION = re.compile(r"(?:[-:@](?:latest|preview|exp|\d{2,8}))+$")


def check(evidence: Evidence) -> list[Verdict]:
    """No verdict where the response names no model."""
    asked = evidence.observation.exchange.asked.get("model")
    served = evidence.measurement.fingerprint.model
    if unusable(evidence) or not served or not isinstance(asked, str) or not asked:
        return []
    below = evidence.below.fingerprint.model if evidence.below else None
    if _same(served, asked):
        return [_verdict(Status.PASS, "as_asked", f"{quoted(served)} answered")]
    if below and _same(served, below):
        return [_verdict(Status.PASS, "as_below", f"{quoted(served)} answered, as at the hop below")]
    message = f"{quoted(asked)} was asked for and {quoted(served)} answered{_at_below(below)}"
    return [_verdict(Status.WARN, "other_model", f"{message}: a fallback, unless it is what that name stands for")]


def _same(one: str, other: str) -> bool:
    return _bare(one) == _bare(other)


def _bare(name: str) -> str:
    """Without provider and version."""
    last = name.casefold().rpartition("/")[2]
    return _VERSION.sub("", last) or last


def _at_below(below: str | None) -> str:
    return f", {quoted(below)} at the hop below" if below else ""


def _verdict(status: Status, reason: str, message: str) -> Verdict:
    return Verdict(check=NAME, status=status, reason=reason, message=message)

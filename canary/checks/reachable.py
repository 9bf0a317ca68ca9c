"""Did a usable answer begin? Names the layer that said no: DNS, TCP, TLS, HTTP, or an error object inside a 200.

Two answers are not the target's failure. 429 says that we may not ask now: UNKNOWN. A 4xx that complains about a
setting that only the probe chose (how many tokens, which temperature) says that the probe is wrong, not the target:
UNKNOWN too, so that it never pages.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType

from canary.checks.attribution import names, suspects
from canary.checks.echo import without_prompt
from canary.checks.evidence import Evidence, quoted, said_anything, status
from canary.core.observation import (
    ConnectFailed,
    DeadlineExceeded,
    Exchange,
    HttpRejected,
    Interrupted,
    Phase,
)
from canary.core.units import format_duration
from canary.core.verdict import Status, Verdict

NAME = "reachable"

REASON_BY_STATUS: Mapping[int, str] = MappingProxyType(
    {
        401: "auth",
        403: "auth",
        404: "not_found",
        405: "not_found",
        408: "gateway_timeout",
        429: "rate_limited",
        504: "gateway_timeout",
        524: "gateway_timeout",
    }
)
CAPS = ("max_tokens", "max_completion_tokens", "max_output_tokens")  # one setting: hops rename it on the way
OWN_SETTINGS = (*CAPS, "temperature", "stream_options")

_PHASES = {Phase.DNS: "name resolution", Phase.CONNECT: "TCP connect", Phase.TLS: "TLS handshake"}


def check(evidence: Evidence) -> list[Verdict]:
    measurement = evidence.measurement
    match measurement.end:
        case Interrupted(detail=detail):
            return [_verdict(Status.UNKNOWN, "interrupted", f"we broke off the request{_because(detail)}")]
        case ConnectFailed(phase=phase, detail=detail):
            step = _PHASES.get(phase, phase.value)
            return [_verdict(Status.FAIL, phase.value, f"{step} failed{_because(detail)}")]
        case HttpRejected() as end:
            return [_rejected(end, evidence)]
    if measurement.time_to_headers_s is None:
        return [_no_response(evidence)]
    code = status(evidence)
    if 300 <= code < 400:
        return [_verdict(Status.FAIL, "redirected", f"HTTP {code}: a redirect, which a streaming client must not need")]
    if measurement.error is not None and not said_anything(measurement):
        return [_error_in_stream(evidence)]
    answered = f"HTTP {code} after {format_duration(measurement.time_to_headers_s)}"
    return [_verdict(Status.PASS, "answered", answered, observed=measurement.time_to_headers_s, unit="s")]


def _rejected(end: HttpRejected, evidence: Evidence) -> Verdict:
    code, exchange = end.status, evidence.observation.exchange
    page = " (a web page: a proxy's answer, not the engine's)" if "html" in end.content_type else ""
    text = f"HTTP {code}{page}{_because(without_prompt(end.message, exchange))}"
    if code == 429:
        return _verdict(Status.UNKNOWN, "rate_limited", text, observed=code)
    if code < 500 and (setting := own_setting(end.message, exchange)):
        return _misconfigured(setting, text)
    reason = REASON_BY_STATUS.get(code, "server_error" if code >= 500 else "rejected")
    return _verdict(Status.FAIL, reason, f"{text}{_cut_by(evidence)}", observed=code)


def _cut_by(evidence: Evidence) -> str:
    """The timer that fits; a well-known default is named only where a timer certainly fired."""
    found = suspects(evidence)
    end = evidence.measurement.end
    timed_out = isinstance(end, HttpRejected) and REASON_BY_STATUS.get(end.status) == "gateway_timeout"
    if not found or not (found[0].configured or timed_out):
        return ""
    return f"; {names(found)} after {format_duration(found[0].gap_s)}"


def _error_in_stream(evidence: Evidence) -> Verdict:
    exchange = evidence.observation.exchange
    message, code = evidence.measurement.error or "", evidence.measurement.error_code
    page = exchange.head is not None and "html" in exchange.head.headers.get("content-type", "")
    instead = "a web page instead of an answer" if page else "only an error object"
    said = _because(without_prompt(message, exchange))
    text = f"HTTP {status(evidence)}, then {instead}{f' (code {quoted(code)})' if code else ''}{said}"
    if code == "429":
        return _verdict(Status.UNKNOWN, "rate_limited", text, observed=429)
    if code in ("400", "422") and (setting := own_setting(message, exchange)):
        return _misconfigured(setting, text)
    return _verdict(Status.FAIL, "error_in_stream", text, observed=_status_of(code))


def _status_of(code: str | None) -> int | None:
    return int(code) if code and re.fullmatch(r"[1-9][0-9]{2}", code) else None


def own_setting(message: str, exchange: Exchange) -> str | None:
    """The setting of the probe's own that an error complains about, if it was sent, under this name or another."""
    sent = set(exchange.asked)
    if sent & set(CAPS):
        sent |= set(CAPS)
    return next((name for name in OWN_SETTINGS if name in sent and name in message), None)


def _misconfigured(setting: str, text: str) -> Verdict:
    return _verdict(Status.UNKNOWN, "probe_misconfigured", f"the target refuses the probe's own `{setting}`: {text}")


def _no_response(evidence: Evidence) -> Verdict:
    measurement = evidence.measurement
    after = format_duration(measurement.total_s)
    if isinstance(measurement.end, DeadlineExceeded):
        return _verdict(
            Status.FAIL, "deadline", f"no response headers within {after}", observed=measurement.total_s, unit="s"
        )
    detail = getattr(measurement.end, "detail", "")
    message = f"the connection ended after {after} without response headers{_because(detail)}{_cut_by(evidence)}"
    return _verdict(Status.FAIL, "no_response", message, observed=measurement.total_s, unit="s")


def _because(detail: str) -> str:
    return f": {quoted(detail)}" if detail else ""


def _verdict(
    verdict: Status, reason: str, message: str, *, observed: float | None = None, unit: str = "status"
) -> Verdict:
    return Verdict(
        check=NAME,
        status=verdict,
        reason=reason,
        message=message,
        observed=observed,
        unit=None if observed is None else unit,
    )

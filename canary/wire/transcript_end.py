"""How an exchange ended, as a word and its fields in a transcript's last line."""

from __future__ import annotations

from collections.abc import Mapping

from canary.core.observation import (
    Completed,
    ConnectFailed,
    DeadlineExceeded,
    Disconnected,
    End,
    HttpRejected,
    Interrupted,
    Json,
    Phase,
    StoppedByUs,
    Truncated,
)

_NAMES: Mapping[type[End], str] = {
    Completed: "complete",
    Truncated: "truncated",
    Disconnected: "reset",
    DeadlineExceeded: "deadline",
    ConnectFailed: "connect_failed",
    StoppedByUs: "stopped",
    HttpRejected: "rejected",
    Interrupted: "interrupted",
}
END_NAMES = tuple(_NAMES.values())

_FIELDS = ("phase", "detail", "reason", "status", "message", "content_type")
_PHASED = ("reset", "deadline", "connect_failed")


def end_words(end: End) -> dict[str, Json]:
    """The word and the fields of an end, without its `at`; what is empty is left out."""
    values = {field: getattr(end, field, "") for field in _FIELDS}
    words = {field: str(value) if isinstance(value, Phase) else value for field, value in values.items()}
    return {"end": _NAMES[type(end)], **{field: value for field, value in words.items() if value != ""}}


def end_of(name: str, *, at: float, words: Mapping[str, Json], saw_headers: bool) -> End | None:
    """The end that `name` and the other keys of its line describe; None where they make no sense.

    A recording may leave the phase out: then it is the body if headers came, else the wait for them.
    """
    detail = words.get("detail", "")
    if not isinstance(detail, str):
        return None
    if name in _PHASED:
        usual = Phase.BODY if saw_headers else Phase.HEADERS
        return _phased(
            name, at, _phase(words.get("phase"), Phase.CONNECT if name == "connect_failed" else usual), detail
        )
    match name:
        case "complete":
            return Completed(at=at)
        case "truncated":
            return Truncated(at=at, detail=detail)
        case "interrupted":
            return Interrupted(at=at, detail=detail)
        case _:
            return _spoken(name, at, words, detail)


def _phased(name: str, at: float, phase: Phase | None, detail: str) -> End | None:
    if phase is None:
        return None
    if name == "deadline":
        return DeadlineExceeded(at=at, phase=phase)
    kind = Disconnected if name == "reset" else ConnectFailed
    return kind(at=at, phase=phase, detail=detail)


def _spoken(name: str, at: float, words: Mapping[str, Json], detail: str) -> End | None:
    """The ends that have words of their own."""
    reason, status = words.get("reason", detail), words.get("status")
    message, content_type = words.get("message", ""), words.get("content_type", "")
    if name == "stopped" and isinstance(reason, str):
        return StoppedByUs(at=at, reason=reason)
    if name == "rejected" and isinstance(status, int) and isinstance(message, str) and isinstance(content_type, str):
        return HttpRejected(at=at, status=status, message=message, content_type=content_type)
    return None


def _phase(value: Json, default: Phase) -> Phase | None:
    if value is None:
        return default
    return Phase(value) if value in [*Phase] else None

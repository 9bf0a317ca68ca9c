"""A message as plain English text: the fallback of every notifier, and the words that all of them share."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from types import MappingProxyType

from rich.cells import cell_len

from canary.core.notification import HopRow, Message, Notification, Reason
from canary.core.units import format_duration
from canary.notify.tidy import cut

_MARKS: Mapping[Reason, str] = MappingProxyType(
    {
        Reason.OPENED: "{severity}",
        Reason.WORSE: "WORSE, now {severity}",
        Reason.BETTER: "BETTER, now {severity}",
        Reason.CHANGED: "CHANGED, still {severity}",
        Reason.REMINDER: "REMINDER, {severity} for {age}",
        Reason.ESCALATED: "ESCALATED, {severity} for {age} and nobody has it in hand",
        Reason.ACKNOWLEDGED: "ACKNOWLEDGED",
        Reason.FLAPPING: "FLAPPING, {severity} now, quiet until it settles",
        Reason.RESOLVED: "RESOLVED after {age}",
        Reason.TEST: "TEST",
    }
)
_MOST_HOP, _MOST_STATUS, _MOST_SAID = 28, 10, 60  # characters of a cell


def headline(notification: Notification) -> str:
    """`[CRITICAL] title`, `[RESOLVED after 12 min 5 s] title`: one line that says all."""
    return f"[{mark(notification)}] {notification.message.title}"


def mark(notification: Notification) -> str:
    """What has happened, in a few words; a reason that is none for telling people shows as itself."""
    message = notification.message
    words = "ENDED after {age}" if message.ended else _MARKS.get(notification.reason, notification.reason.value)
    return words.format(severity=message.severity.value.upper(), age=age(notification))


def felt(message: Message) -> str:
    """What users feel, or felt: nobody is to run for what is over, nor take for over what is only watched no more."""
    if message.firing:
        return message.users_feel
    over = f"Not seen to be over, but {message.ended}" if message.ended else "It is over"
    return f"{over}. It was: {message.users_feel}"


def age(notification: Notification) -> str:
    return format_duration(max(round((notification.at - notification.message.since).total_seconds()), 0))


def facts(message: Message) -> Iterator[tuple[str, str]]:
    """What is known, as pairs of name and value; nothing for what is not."""
    yield "Where", message.where
    if message.observed is not None:
        yield "Observed", _against_limit(message)
    yield "Check", f"{message.check}: {message.reason}" if message.reason else message.check
    yield "Severity", message.severity.value
    if message.pipelines:
        yield "Pipelines" if len(message.pipelines) > 1 else "Pipeline", ", ".join(message.pipelines)
    if message.probes:
        yield "Probes" if len(message.probes) > 1 else "Probe", ", ".join(message.probes)


def _against_limit(message: Message) -> str:
    observed = amount(message.observed or 0.0, message.unit)
    return observed if message.limit is None else f"{observed}, limit {amount(message.limit, message.unit)}"


def amount(value: float, unit: str | None) -> str:
    if unit == "s":
        return format_duration(value)
    if unit == "status":
        return f"status {value:g}"
    return f"{value:g} {unit}" if unit else f"{value:g}"


def since(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def hop_table(rows: Sequence[HopRow]) -> str:
    """Aligned for a monospaced font, wide characters counted as two; empty without rows."""
    if not rows:
        return ""
    silent = "longest silence"
    table = [("hop", "status", "first token", "first visible", silent, "reasoning", ""), *map(_cells, rows)]
    widths = [max(map(cell_len, column)) for column in zip(*table, strict=True)]
    return "\n".join(_aligned(cells, widths) for cells in table)


def _cells(row: HopRow) -> tuple[str, ...]:
    share = "" if row.reasoning_share is None else f"{row.reasoning_share:.0%}"
    silence = "" if row.longest_silence_s is None else format_duration(row.longest_silence_s)
    first = (_or_never(row.first_token_s), _or_never(row.first_visible_s))
    return (cut(row.hop, _MOST_HOP), cut(row.status, _MOST_STATUS), *first, silence, share, cut(row.said, _MOST_SAID))


def _or_never(seconds: float | None) -> str:
    return "never" if seconds is None else format_duration(seconds)


def _aligned(cells: Sequence[str], widths: Sequence[int]) -> str:
    padded = (cell + " " * (width - cell_len(cell)) for cell, width in zip(cells, widths, strict=True))
    return "  ".join(padded).rstrip()


def plain(notification: Notification) -> str:
    """All of it."""
    message = notification.message
    parts = [
        headline(notification),
        felt(message),
        "\n".join([*(f"{name}: {value}" for name, value in facts(message)), f"First seen: {since(message.since)}"]),
        message.cause,
        _listed("Changed", message.changed),
        hop_table(message.hops),
        _listed("Note", message.notes),
        f"Repeat it:\n{message.repeat}" if message.repeat else "",
        message.content or "",
        "\n".join(f"{name}: {url}" for name, url in links(message)),
    ]
    return "\n\n".join(part for part in parts if part)


def links(message: Message) -> Iterator[tuple[str, str]]:
    if message.run_url:
        yield "Run", message.run_url
    if message.page_url:
        yield "Page", message.page_url


def _listed(name: str, lines: Sequence[str]) -> str:
    return "\n".join(f"{name}: {line}" for line in lines)

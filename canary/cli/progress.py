"""What a run is at, on stderr: a moving line in a terminal, one line per finished request of several anywhere."""

from __future__ import annotations

from types import TracebackType
from typing import Self

from rich.console import Console
from rich.status import Status as Spinner
from rich.text import Text

from canary.cli.screen import STYLES, plain
from canary.core.observation import StoppedByUs
from canary.core.run import HopResult
from canary.core.units import format_duration
from canary.core.verdict import Status, worst
from canary.engine.visit import Started

_GLYPHS = {Status.PASS: "✓", Status.WARN: "!", Status.FAIL: "✗", Status.UNKNOWN: "?"}


class Progress:
    """Give `step` to a run to watch. A context: the moving line ends with it."""

    def __init__(self, console: Console, *, lines: bool = True) -> None:
        self._console = console
        self._lines = lines
        self._spinner = Spinner("asking", console=console) if console.is_terminal else None

    def __enter__(self) -> Self:
        if self._spinner:
            self._spinner.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._spinner:
            self._spinner.stop()

    def step(self, step: Started | HopResult) -> None:
        if isinstance(step, Started):
            if self._spinner:
                self._spinner.update(Text(f"asking {step.hop}: {step.variant}"))
            return
        if not self._lines:
            return
        status = worst(step.verdicts) if step.verdicts else Status.PASS
        line = Text(f"{_GLYPHS[status]} ", style=STYLES[status]).append(f"{step.hop} {step.variant}", style="bold")
        self._console.print(line.append(f"  {format_duration(step.measurement.total_s)}, {_seen(step)}"))


def _seen(result: HopResult) -> str:
    """The one fact that tells most: why we stopped, or when the first visible word came."""
    first_s = result.measurement.time_to_first_visible_content_s
    if isinstance(result.measurement.end, StoppedByUs):
        return f"stopped, {plain(result.measurement.end.reason)}"
    return "nothing visible" if first_s is None else f"first visible after {format_duration(first_s)}"

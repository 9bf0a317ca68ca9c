"""A run as a picture: every request of every hop on one time axis, and the timers that would have cut.

A picture is boxes and words with their places, so that a browser's SVG and a chat's PNG are drawn from the same thing
and look the same. A lane's parts differ in height as well as in colour, for whoever cannot tell the colours apart. A
timer is drawn below the lanes, from where the fatal gap began to where it cuts, and the cut goes up through all lanes:
what stands right of it, nobody would have seen.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Literal, Protocol, TypeVar

from canary.analysis.forecast import forecast
from canary.analysis.lane import MEANINGS, Sign, column, lane, round_step
from canary.core.observation import Completed, StoppedByUs
from canary.core.run import PLAIN, HopResult, Run
from canary.core.timeout import Fires
from canary.core.units import format_duration
from canary.core.verdict import Status, worst

WIDTH = 960
_LEFT, _RIGHT = 230, 150  # names; how it ended
_COLUMN = 2
_COLUMNS = (WIDTH - _LEFT - _RIGHT) // _COLUMN
_TOP, _ROW, _TALLEST = 48, 28, 20
_SIZE = 13
_LONGEST_NAME, _LONGEST_TITLE = 30, 110
_MOST_ROWS = 40

INK, FAINT, RED = "#1f2937", "#6b7280", "#c81e1e"
_LOOKS: dict[Sign, tuple[str, int]] = {  # colour, height
    Sign.SILENCE: ("#d1d5db", 2),
    Sign.KEEPALIVE: ("#d99a00", 6),
    Sign.OTHER: ("#9ca3af", 8),
    Sign.HEADERS: ("#2563eb", 12),
    Sign.REASONING: ("#a78bda", 14),
    Sign.TOOL: ("#0e8aa8", 16),
    Sign.VISIBLE: ("#15803d", 20),
    Sign.ERROR: (RED, 20),
}
_STATUS_COLOURS = {Status.PASS: "#15803d", Status.WARN: "#b45309", Status.FAIL: RED, Status.UNKNOWN: FAINT}


@dataclass(frozen=True, slots=True, kw_only=True)
class Captions:
    """What a picture says in words: the same in each language. `{…}` places are filled in."""

    title: str
    more: str
    visible: str
    nothing: str
    cut: str
    meanings: Mapping[Sign, str]
    status: Callable[[Status], str]
    duration: Callable[[float], str]
    tick: str


ENGLISH = Captions(
    title="{pipeline}, {probe}, run {id}, {at}",
    more="{count} more",
    visible="visible {after}",
    nothing="nothing visible",
    cut="cut at {after}",
    meanings=MEANINGS,
    status=lambda status: status.value,
    duration=format_duration,
    tick="{at} s",
)


class AtHop(Protocol):
    """What was asked of one hop."""

    @property
    def hop(self) -> str: ...


_Result = TypeVar("_Result", bound=AtHop)


@dataclass(frozen=True, slots=True, kw_only=True)
class Box:
    """Pixels from the left top corner."""

    x: float
    y: float
    width: float
    height: float
    colour: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Words:
    """`y` is the line that they stand on; `anchor` says which of their ends is at `x`."""

    x: float
    y: float
    text: str
    colour: str = INK
    size: int = _SIZE
    anchor: Literal["start", "middle", "end"] = "start"


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    width: int
    height: int
    title: str
    shapes: tuple[Box | Words, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Cut:
    """The earliest cut of one timer, over all streams that it would have cut."""

    name: str
    gap_from: float
    at: float


def picture(run: Run, captions: Captions = ENGLISH) -> Picture:
    """Of a run with at least one result, from the user down; what is beyond 40 rows is left out, and says so."""
    results = top_down(run.results)
    shown, cuts = results[:_MOST_ROWS], cuts_of(results)[:_MOST_ROWS]
    span_s = max([*(result.observation.end.at for result in shown), *(cut.at for cut in cuts), 0.001])
    at = f"{run.started_at:%Y-%m-%d %H:%M:%S %Z}"
    named = captions.title.format(pipeline=run.pipeline, probe=run.probe, id=run.id, at=at)
    title = _short(named, _LONGEST_TITLE)
    below = _TOP + _ROW * len(shown)
    axis = below + _ROW * len(cuts) + 8
    shapes: list[Box | Words] = [Words(x=12, y=26, text=title, size=15)]
    shapes += [shape for index, each in enumerate(shown) for shape in _row(each, _TOP + _ROW * index, span_s, captions)]
    shapes += [shape for index, cut in enumerate(cuts) for shape in _cut(cut, below + _ROW * index, span_s, captions)]
    shapes += [*_axis(axis, span_s, captions), *_legend(axis + 44, shown, span_s, captions)]
    if len(results) > len(shown):
        more = captions.more.format(count=len(results) - len(shown))
        shapes.append(Words(x=WIDTH - 12, y=26, text=more, colour=FAINT, anchor="end"))
    return Picture(width=WIDTH, height=axis + 60, title=title, shapes=tuple(shapes))


def cuts_of(results: Sequence[HopResult]) -> list[Cut]:
    """Of the timers whose verdict is that they would have cut; earliest first."""
    found: dict[str, Cut] = {}
    for result in results:
        fatal = {verdict.subject for verdict in result.verdicts if verdict.status is Status.FAIL}
        for timer in result.timeouts:
            fate = forecast(timer, result.observation)
            if timer.label not in fatal or not isinstance(fate, Fires):
                continue
            if timer.label not in found or fate.at < found[timer.label].at:
                found[timer.label] = Cut(name=timer.label, gap_from=max(fate.gap_from, 0.0), at=fate.at)
    return sorted(found.values(), key=lambda cut: cut.at)


def top_down(results: Sequence[_Result]) -> list[_Result]:
    """Hops were asked from the engine up; people read from the user down. A hop's requests stay in their order."""
    hops = list(dict.fromkeys(result.hop for result in results))
    return [result for hop in reversed(hops) for result in results if result.hop == hop]


def _row(result: HopResult, top: float, span_s: float, captions: Captions) -> Iterator[Box | Words]:
    name = result.hop if result.variant == PLAIN else f"{result.hop} {result.variant}"
    middle = top + _ROW / 2
    yield Words(x=12, y=middle + 4, text=_short(name, _LONGEST_NAME))
    x: float = _LEFT
    for sign, same in groupby(lane(result.observation, span_s=span_s, columns=_COLUMNS)):
        colour, height = _LOOKS[sign]
        width = _COLUMN * len(list(same))
        yield Box(x=x, y=middle - height / 2, width=width, height=height, colour=colour)
        x += width
    if not isinstance(result.observation.end, Completed | StoppedByUs):
        yield Box(x=x, y=middle - _TALLEST / 2, width=3, height=_TALLEST, colour=RED)
    status = worst(result.verdicts)
    yield Words(x=WIDTH - 12, y=middle + 4, text=_said(result, captions), colour=_STATUS_COLOURS[status], anchor="end")


def _said(result: HopResult, captions: Captions) -> str:
    visible_s = result.measurement.time_to_first_visible_content_s
    seen = captions.nothing if visible_s is None else captions.visible.format(after=captions.duration(visible_s))
    return f"{seen}  {captions.status(worst(result.verdicts))}"


def _cut(cut: Cut, top: float, span_s: float, captions: Captions) -> Iterator[Box | Words]:
    middle = top + _ROW / 2
    start, stop = _x(cut.gap_from, span_s), _x(cut.at, span_s)
    yield Words(x=12, y=middle + 4, text=_short(cut.name, _LONGEST_NAME), colour=RED)
    yield Box(x=start, y=middle - 1, width=max(stop - start, 2), height=2, colour=RED)
    yield Box(x=start, y=middle - 5, width=2, height=10, colour=RED)
    yield Box(x=stop, y=_TOP, width=1, height=middle + 8 - _TOP, colour=RED)
    words = captions.cut.format(after=captions.duration(cut.at))
    fits = stop < WIDTH - _RIGHT - 90
    yield Words(x=stop + (8 if fits else -8), y=middle - 4, text=words, colour=RED, anchor="start" if fits else "end")


def _axis(top: float, span_s: float, captions: Captions) -> Iterator[Box | Words]:
    yield Box(x=_LEFT, y=top, width=_COLUMN * _COLUMNS, height=1, colour=FAINT)
    step_s, tick_s = round_step(span_s / 8), 0.0
    while tick_s <= span_s:
        yield Box(x=_x(tick_s, span_s), y=top, width=1, height=5, colour=FAINT)
        text = captions.tick.format(at=f"{tick_s:g}")
        yield Words(x=_x(tick_s, span_s), y=top + 18, text=text, colour=FAINT, size=11, anchor="middle")
        tick_s = round(tick_s + step_s, 9)


def _legend(y: float, results: Sequence[HopResult], span_s: float, captions: Captions) -> Iterator[Box | Words]:
    seen = {sign for each in results for sign in lane(each.observation, span_s=span_s, columns=_COLUMNS)}
    x: float = _LEFT
    for sign in sorted(seen, reverse=True):
        colour, height = _LOOKS[sign]
        yield Box(x=x, y=y - 4 - height / 2, width=14, height=height, colour=colour)
        yield Words(x=x + 20, y=y, text=captions.meanings[sign], colour=FAINT, size=11)
        x += 90


def _x(at: float, span_s: float) -> float:
    return _LEFT + _COLUMN * column(at, span_s, _COLUMNS)


def _short(text: str, most: int) -> str:
    """Without what no font has a shape for, and cut where it is long."""
    legible = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return legible if len(legible) <= most else f"{legible[: most - 1]}…"

"""A chart over time: an SVG that stretches with its place, its axes as text beside it, and the same in one sentence.

Values are steps, one a span of time, because each stands for all answers in it; where there was no answer, there is no
line. The band reaches from the least to the most that was seen. A level far above everything would press the rest flat:
it is left out of the picture and named in the words.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial

from markupsafe import Markup, escape

from canary.analysis.lane import round_step
from canary.web.figures import clock, percent, plain, seconds
from canary.web.words import Words

_HEIGHT = 1000
_REACH = 2.5  # a level is drawn up to so many times the greatest value

Value = float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """`look`: its class in the style sheet. `band`: (least, most) a span."""

    name: str
    look: str
    values: Sequence[Value]
    band: Sequence[tuple[float, float] | None] = ()

    @property
    def most(self) -> float | None:
        greatest = [each[1] for each in self.band if each] + [each for each in self.values if each is not None]
        return max(greatest, default=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Level:
    name: str
    value: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Axis:
    """Time. `incidents`: (from, to), and `marks`: (where, class), as shares of the width."""

    starts: Sequence[datetime]
    end: datetime
    incidents: Sequence[tuple[float, float]] = ()
    marks: Sequence[tuple[float, str]] = ()

    def place(self, at: datetime) -> float:
        """From 0 to 1."""
        whole = (self.end - self.starts[0]).total_seconds()
        return min(max((at - self.starts[0]).total_seconds() / whole, 0.0), 1.0)

    def labels(self) -> tuple[str, ...]:
        """Five, evenly spaced."""
        whole = self.end - self.starts[0]
        pattern = "%H:%M" if whole.days <= 1 else "%m-%d"
        return tuple(f"{self.starts[0] + whole * quarter / 4:{pattern}}" for quarter in range(5))


@dataclass(frozen=True, slots=True, kw_only=True)
class Chart:
    """`never`: by span, how many answers had nothing to show. `share`: values are shares and not seconds."""

    title: str
    lines: Sequence[Line]
    levels: Sequence[Level] = ()
    never: Sequence[int] = ()
    share: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawn:
    """`scale`: from the top down. `above`: levels that are not in the picture. `empty`: nothing was measured."""

    title: str
    svg: Markup
    text: str
    scale: tuple[str, ...]
    lines: tuple[tuple[str, str], ...]
    levels: tuple[str, ...]
    above: tuple[str, ...]
    never: int
    empty: bool


def draw(chart: Chart, axis: Axis, t: Words) -> Drawn:
    write = partial(percent if chart.share else seconds, t=t)
    greatest = max((each.most for each in chart.lines if each.most is not None), default=None)
    inside = [each for each in chart.levels if greatest is None or each.value <= greatest * _REACH]
    top = 1.0 if chart.share else _top(max([greatest or 0.0, *(each.value for each in inside)]))
    above = [each for each in chart.levels if each not in inside]
    text = _in_words(chart, axis, t, write)
    svg = (
        f'<svg class="plot" viewBox="0 0 {len(axis.starts)} 1000" preserveAspectRatio="none" role="img" '
        f'aria-label="{escape(text)}" data-from="{round(axis.starts[0].timestamp())}" '
        f'data-to="{round(axis.end.timestamp())}" data-share="{int(chart.share)}" '
        f'data-lines="{escape(_data(chart.lines))}">{"".join(_body(chart, inside, axis, top))}</svg>'
    )
    return Drawn(
        title=chart.title,
        svg=Markup(svg),  # noqa: S704  # numbers, names of ours, and escaped text
        text=text,
        scale=(write(top), write(top / 2), "0"),
        lines=tuple((each.name, each.look) for each in chart.lines),
        levels=tuple(t("chart_level", name=plain(each.name), value=write(each.value)) for each in inside),
        above=tuple(t("chart_above", name=plain(each.name), value=write(each.value)) for each in above),
        never=sum(chart.never),
        empty=greatest is None,
    )


def _top(greatest: float) -> float:
    """A round number with room above the greatest value."""
    step = round_step(max(greatest * 1.08, 1e-3) / 4)
    return step * -(-greatest * 1.08 // step) if greatest else 1.0


def _body(chart: Chart, levels: Sequence[Level], axis: Axis, top: float) -> Iterator[str]:
    """In units of one span across and a thousandth of the height down: whole numbers, of which there are many.

    Nothing but numbers and classes of ours: `Markup.format` would escape each of them, for a third of the page's time.
    """
    spans = len(axis.starts)
    for begin, end in axis.incidents:
        width = max((end - begin) * spans, 0.2)
        yield f'<rect class="incident" x="{begin * spans:.2f}" y="0" width="{width:.2f}" height="1000"/>'
    yield f'<path class="grid" d="M0 500H{spans}M0 1000H{spans}"/>'
    for line in chart.lines:
        if line.band:
            yield f'<path class="band {line.look}" d="{_band(line.band, top)}"/>'
    for line in chart.lines:
        yield from _curve(line, top)
    for level in levels:
        yield f'<path class="level" d="M0 {_y(level.value, _HEIGHT / top)}H{spans}"/>'
    for place, look in axis.marks:
        yield f'<path class="mark {look}" d="M{place * spans:.2f} 0V1000"/>'
    nevers = "".join(f"M{place}.5 0v120" for place, count in enumerate(chart.never) if count)
    if nevers:
        yield f'<path class="never" d="{nevers}"/>'


def _curve(line: Line, top: float) -> Iterator[str]:
    yield f'<path class="line {line.look}" d="{_steps(line.values, top)}"/>'
    if dots := _dots(line.values, top):
        yield f'<path class="dot {line.look}" d="{dots}"/>'


def _steps(values: Sequence[Value], top: float) -> str:
    parts, on, scale = [], False, _HEIGHT / top
    for place, value in enumerate(values):
        if value is not None:
            y = _HEIGHT - int(value * scale)
            parts.append(f"V{y}h1" if on else f"M{place} {y}h1")
        on = value is not None
    return "".join(parts)


def _dots(values: Sequence[Value], top: float) -> str:
    """Of values that stand alone: a line of one span is too short to be seen."""
    scale, last = _HEIGHT / top, len(values) - 1
    return "".join(
        f"M{place}.5 {_y(value, scale)}h0"
        for place, value in enumerate(values)
        if value is not None
        and (place == 0 or values[place - 1] is None)
        and (place == last or values[place + 1] is None)
    )


def _band(band: Sequence[tuple[float, float] | None], top: float) -> str:
    scale = _HEIGHT / top
    return "".join(
        [
            f"M{place} {_HEIGHT - int(each[1] * scale)}h1V{_HEIGHT - int(each[0] * scale)}h-1z"
            for place, each in enumerate(band)
            if each
        ]
    )


def _y(value: float, scale: float) -> int:
    """Nothing is above the top: it was chosen so."""
    return _HEIGHT - int(value * scale)


def _data(lines: Sequence[Line]) -> str:
    """For the hand of the reader: names and values, which a script shows under the pointer."""
    told = (
        f"[{json.dumps(each.name)},[{','.join('null' if value is None else f'{value:.4g}' for value in each.values)}]]"
        for each in lines
    )
    return f"[{','.join(told)}]"


def _in_words(chart: Chart, axis: Axis, t: Words, write: Callable[[float | None], str]) -> str:
    told = [sentence for line in chart.lines if (sentence := _line_in_words(line, axis, t, write))]
    never = sum(chart.never)
    levels = [t("chart_level", name=plain(each.name), value=write(each.value)) for each in chart.levels]
    said = [*told, *([t("chart_never", count=never)] if never else []), *levels]
    return f"{chart.title}. " + "; ".join(said if told or never else [t("chart_empty"), *levels])


def _line_in_words(line: Line, axis: Axis, t: Words, write: Callable[[float | None], str]) -> str | None:
    known = [(value, at) for value, at in zip(line.values, axis.starts, strict=True) if value is not None]
    if not known:
        return None
    peaks = [(each[1], at) for each, at in zip(line.band, axis.starts, strict=True) if each] if line.band else known
    most, at = max(peaks)
    return t("chart_last", name=line.name, last=write(known[-1][0]), most=write(most), at=clock(at, axis.end))

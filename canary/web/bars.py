"""Ninety days as ninety bars: one SVG that stretches with its place, and the same in words.

A day is full height where something failed in it and lower where nothing did, so it shows without its colour too; the
failed part stands at the foot, as tall as its share. A day without runs is a line on the ground and no success.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache

from markupsafe import Markup, escape

from canary.core.span import Counts
from canary.web.figures import percent
from canary.web.words import Words

_HEIGHT, _FINE, _LEAST = 24.0, 17.0, 3.0
_WIDTH = 0.74  # of a day's place, which is 1
_NO_RUN = Counts()


@dataclass(frozen=True, slots=True, kw_only=True)
class Strip:
    """`share`: of the runs of which something is known, those without a failure; None: of none it is."""

    svg: Markup
    text: str
    share: float | None


def strip(days: Mapping[datetime, Counts], starts: Sequence[datetime], t: Words) -> Strip:
    """`days`: those with runs, by their beginning."""
    shown = [days.get(start, _NO_RUN) for start in starts]
    text, share = _in_words(shown, starts, t), share_of(shown)
    paths = "".join(f'<path class="{name}" d="{drawn}"/>' for name, drawn in _paths(shown).items() if drawn)
    data = ",".join(_data(each) for each in shown)
    svg = (
        f'<svg class="bars" viewBox="0 0 {len(starts)} 24" preserveAspectRatio="none" role="img" '
        f'aria-label="{escape(text)}" data-from="{starts[0]:%Y-%m-%d}" data-bars="{data}">{paths}</svg>'
    )
    return Strip(svg=Markup(svg), text=text, share=share)  # noqa: S704  # numbers, names of ours, and escaped text


def share_of(days: Sequence[Counts]) -> float | None:
    told = sum(each.passed + each.warned + each.failed for each in days)
    return 1.0 - sum(each.failed for each in days) / told if told else None


def _data(counts: Counts) -> str:
    if not counts.total:
        return ""
    return f"{counts.failed}/{counts.warned}/{counts.passed}/{counts.unknown}"


def _paths(days: Sequence[Counts]) -> Mapping[str, str]:
    drawn: dict[str, list[str]] = {"none": [], "unknown": [], "pass": [], "warn": [], "fail": []}
    for place, counts in enumerate(days):
        if not counts.total:
            drawn["none"].append(_bar(place, 2.0))
        elif counts.failed:
            share = counts.failed / counts.total
            tall = max(_LEAST, share * _HEIGHT)
            drawn["pass"].append(_bar(place, _HEIGHT - tall, foot=tall))
            drawn["fail"] += [_bar(place, tall), _bar(place, _LEAST, foot=_HEIGHT - _LEAST)]
        else:
            drawn[_NAMES[counts.passed > 0, counts.warned > 0]].append(_bar(place, _FINE))
    return {name: "".join(bars) for name, bars in drawn.items()}


# By whether something passed and something warned.
_NAMES = {(True, True): "warn", (True, False): "pass", (False, True): "warn", (False, False): "unknown"}


@lru_cache(maxsize=1024)  # most days of most strips look the same
def _bar(place: int, tall: float, *, foot: float = 0.0) -> str:
    return f"M{place + 0.13:g} {_HEIGHT - foot:g}v-{tall:g}h{_WIDTH:g}v{tall:g}z" if tall > 0 else ""


def _in_words(days: Sequence[Counts], starts: Sequence[datetime], t: Words) -> str:
    count = sum(each.total for each in days)
    bad = [start for start, each in zip(starts, days, strict=True) if each.failed]
    if not count:
        return t("day_bars_none")
    if not bad:
        return t("day_bars_fine", count=count)
    return t("day_bars", share=percent(share_of(days), t), count=count, days=len(bad), last=f"{bad[-1]:%Y-%m-%d}")

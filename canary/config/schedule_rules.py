"""What the schedules of a pipeline must fulfil: one way to say when, and nothing that would do nothing.

A probe's own `every` or `cron` takes the place of the defaults' whole schedule; `jitter` and `timezone` are inherited
one by one.
"""

from __future__ import annotations

from collections.abc import Iterator

from canary.config.errors import Problem
from canary.config.view import View
from canary.core.units import format_duration, parse_duration

_WAYS = ("every", "cron")


def schedule_problems(pipeline: View) -> Iterator[Problem]:
    defaults, probes = pipeline.at("defaults"), list(pipeline.at("probes").items())
    yield from _one_way(defaults)
    for probe in probes:
        yield from _one_way(probe)
        way = way_of(probe, defaults)
        if probe.has("timezone") and way != "cron":
            yield probe.at("timezone").problem("a time zone without cron", "cron beside it")
        if probe.has("jitter") and way is None:
            yield probe.at("jitter").problem("a jitter without a schedule", "every or cron beside it")
        yield from _jitter(probe, defaults)
    ways = [way_of(probe, defaults) for probe in probes]
    if probes and defaults.has("timezone") and "cron" not in ways:
        yield defaults.at("timezone").problem("a time zone without cron", "cron here or at a probe")
    if probes and defaults.has("jitter") and not any(ways):
        yield defaults.at("jitter").problem("a jitter without a schedule", "every or cron here or at a probe")


def way_of(probe: View, defaults: View) -> str | None:
    return next((way for place in (probe, defaults) for way in _WAYS if place.has(way)), None)


def _one_way(place: View) -> Iterator[Problem]:
    if all(place.has(way) for way in _WAYS):
        yield place.at("cron").problem("cron beside every", "one of them")


def _jitter(probe: View, defaults: View) -> Iterator[Problem]:
    """Said at the probe if it says one of both, else at the defaults. The gaps of a cron are not looked at."""
    if way_of(probe, defaults) != "every":
        return
    every_s, jitter_s = (seconds(probe if probe.has(key) else defaults, key) for key in ("every", "jitter"))
    if every_s is None or jitter_s is None or jitter_s < every_s:
        return
    place = probe if probe.has("jitter") or probe.has("every") else defaults
    yield place.at("jitter" if place.has("jitter") else "every").problem(
        f"jitter {format_duration(jitter_s)} and every {format_duration(every_s)}", "a jitter shorter than the interval"
    )


def seconds(place: View, key: str) -> float | None:
    """None where no duration stands: that is the schema's business."""
    value = place.at(key).data
    try:
        return parse_duration(place.text(key) or str(value)) if value is not None else None
    except ValueError:
        return None

"""Presets: what is known of the timers of well-known components, read from `presets.yaml` beside this file.

The YAML is the catalogue, with a source for every number; here is only how it becomes `Timeout`s. Three rules:

- A preset's timers are the defaults that act on every streaming answer. What acts in one variant only (another region,
  another provider) is in the catalogue, to name a cut that nothing else explains, and not in the preset.
- A number that somebody typed replaces the default of its phase, and of the other phase that the same knob rules: in
  nginx one `proxy_read_timeout` bounds both the headers and the body. Where several timers share a phase it is the
  shortest that moves, because it is the one that cuts. `math.inf` switches a timer off.
- A timer that is off by default and is given a number acts as the component would: its own clock, its own outcome.
"""

from __future__ import annotations

import difflib
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cache
from importlib import resources
from types import MappingProxyType
from typing import Any

import yaml

from canary.core.timeout import Clock, Outcome, StartsAt, Timeout, TimerPhase


class PresetPhase(StrEnum):
    """What a timer covers. Only the first three can cut a running answer, and have a `TimerPhase` of the same name."""

    HEADERS = "headers"
    IDLE = "idle"
    TOTAL = "total"
    FIRST_OUTPUT = "first_output"
    CONNECT = "connect"
    UPLOAD = "upload"
    WRITE = "write"
    BETWEEN_REQUESTS = "between_requests"
    TUNNEL = "tunnel"
    HEALTH = "health"
    PROCESS = "process"
    LIFECYCLE = "lifecycle"
    RETRY = "retry"
    OTHER_CALL = "other_call"


class ResetsOn(StrEnum):
    """What restarts a timer, finer than a `Clock`: two may look the same from outside and differ in the cure."""

    BYTE = "byte"
    BYTE_EITHER_WAY = "byte_either_way"
    STREAM_FRAME = "stream_frame"
    SEGMENT = "segment"
    EVENT = "event"
    CHUNK = "chunk"
    TEXT = "text"
    PROGRESS = "progress"
    WRITE = "write"
    HEADER_BLOCK = "header_block"
    NEXT_REQUEST = "next_request"
    NOTHING = "nothing"


class Evidence(StrEnum):
    """Where a number comes from, best first."""

    EXPERIMENT = "experiment"
    SOURCE = "source"
    DOC = "doc"
    SECONDARY = "secondary"
    RECALL = "recall"


class Confidence(StrEnum):
    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"


@dataclass(frozen=True, slots=True, kw_only=True)
class PresetTimer:
    """One row of the catalogue. `limit_s` None = off by default; `clock` None = it cuts no running answer.

    `comments_reset` None = not known. `source`: best first; empty once somebody typed the number.
    """

    setting: str
    phase: PresetPhase
    limit_s: float | None
    in_preset: bool
    clock: Clock | None
    starts: StartsAt
    resets_on: ResetsOn
    comments_reset: bool | None
    outcome: Outcome | None
    header_status: int | None
    early_slack_s: float
    late_slack_s: float
    evidence: tuple[Evidence, ...]
    confidence: Confidence
    source: tuple[str, ...]

    @property
    def knob(self) -> str:
        """The setting's own name; timers with the same knob move together."""
        return self.setting.partition(" (")[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class Preset:
    """One component. `version`: the one that was read. `retries`: silent ones, after a failure before the headers."""

    id: str
    name: str
    kind: str
    version: str | None
    retries: int | None
    aliases: tuple[str, ...]
    timers: tuple[PresetTimer, ...]


class PresetError(ValueError):
    """A preset cannot be used as it was asked for."""


class UnknownPresetError(PresetError):
    """No preset has this name or alias. `suggestions`: the nearest ids, best first."""

    def __init__(self, name: str, suggestions: tuple[str, ...]) -> None:
        self.name = name
        self.suggestions = suggestions
        hint = f"; did you mean {', '.join(suggestions)}?" if suggestions else ""
        super().__init__(f"unknown preset {name!r}{hint}")


@cache
def presets() -> Mapping[str, Preset]:
    """All presets by id, in the order of the file."""
    text = resources.files("canary.config").joinpath("presets.yaml").read_text(encoding="utf-8")
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # both are safe; the one in C is ten times faster
    raw = yaml.load(text, Loader=loader)  # noqa: S506  # a safe loader, see above
    loaded = (_preset(component, raw["aliases"]) for component in raw["components"])
    return MappingProxyType({preset.id: preset for preset in loaded})


def preset_named(name: str) -> Preset:
    """The preset of an id or an alias, in any case. Raises UnknownPresetError with what may have been meant."""
    ids = _ids()
    key = name.strip().lower()
    if key in ids:
        return presets()[ids[key]]
    near = difflib.get_close_matches(key, ids, n=5, cutoff=0.7)
    parts = [known for known in ids if len(key) > 2 and key in known]
    raise UnknownPresetError(name, tuple(dict.fromkeys(ids[match] for match in [*near, *parts]))[:5])


def timeouts_of(
    name: str,
    *,
    hop: str | None = None,
    idle_s: float | None = None,
    headers_s: float | None = None,
    total_s: float | None = None,
) -> tuple[Timeout, ...]:
    """The timers of preset `name` as `hop` holds them. A number overrides its phase; `math.inf` switches it off.

    Raises UnknownPresetError, and PresetError for a number that is not positive.
    """
    preset = preset_named(name)
    typed = {PresetPhase.HEADERS: headers_s, PresetPhase.IDLE: idle_s, PresetPhase.TOTAL: total_s}
    given = {phase: limit for phase, limit in typed.items() if limit is not None}
    for phase, limit in given.items():
        if not limit > 0:
            msg = f"{phase}: {limit:g} s is no limit of a timer; it must be more than 0"
            raise PresetError(msg)
    timers = _with_overrides(preset, given)
    return tuple(_timeout(preset, timer, hop) for timer in timers if timer.limit_s != math.inf)


@cache
def catalogue() -> tuple[Timeout, ...]:
    """Every timer of every component that is on by default and can cut a running answer: to name a cut by its time."""
    return tuple(
        _timeout(preset, timer, None)
        for preset in presets().values()
        for timer in preset.timers
        if timer.phase in _CUTTING and timer.limit_s is not None
    )


_CUTTING = (PresetPhase.HEADERS, PresetPhase.IDLE, PresetPhase.TOTAL)


@cache
def _ids() -> Mapping[str, str]:
    return {name: preset.id for preset in presets().values() for name in (preset.id, *preset.aliases)}


def _with_overrides(preset: Preset, given: Mapping[PresetPhase, float]) -> list[PresetTimer]:
    timers = [timer for timer in preset.timers if timer.in_preset]
    for phase, limit_s in given.items():
        chosen = _chosen(timers, phase)
        if chosen is None:
            timers.append(replace(_off_by_default(preset, phase), limit_s=limit_s, source=()))
            continue
        moved = {timer.setting for timer in timers if timer is chosen or _moves_with(timer, chosen, given)}
        timers = [replace(timer, limit_s=limit_s, source=()) if timer.setting in moved else timer for timer in timers]
    return timers


def _chosen(timers: list[PresetTimer], phase: PresetPhase) -> PresetTimer | None:
    """The shortest of a phase: the one that cuts."""
    return min((timer for timer in timers if timer.phase is phase), key=lambda t: t.limit_s or math.inf, default=None)


def _moves_with(timer: PresetTimer, chosen: PresetTimer, given: Mapping[PresetPhase, float]) -> bool:
    return timer.knob == chosen.knob and timer.phase not in given


def _off_by_default(preset: Preset, phase: PresetPhase) -> PresetTimer:
    """The component's own timer of a phase that its preset lacks; without one, a timer like its others."""
    rows = [timer for timer in preset.timers if timer.phase is phase]
    off = [timer for timer in rows if timer.limit_s is None]
    if off or rows:
        return (off or rows)[0]
    like = next((timer for timer in preset.timers if timer.phase in _CUTTING), preset.timers[0])
    return replace(like, setting=str(phase), phase=phase, starts=StartsAt.REQUEST_SENT)


def _timeout(preset: Preset, timer: PresetTimer, hop: str | None) -> Timeout:
    return Timeout(
        name=f"{preset.id} {timer.setting}",
        phase=TimerPhase(timer.phase),
        clock=timer.clock or Clock.BYTE,
        limit_s=timer.limit_s or math.inf,
        starts=timer.starts,
        early_slack_s=timer.early_slack_s,
        late_slack_s=timer.late_slack_s,
        outcome=timer.outcome,
        header_status=timer.header_status,
        hop=hop,
        preset=preset.id,
        setting=timer.setting,
        source=timer.source[0] if timer.source else None,
    )


def _preset(raw: Mapping[str, Any], aliases: Mapping[str, str]) -> Preset:
    return Preset(
        id=raw["id"],
        name=raw["name"],
        kind=raw["kind"],
        version=raw["version"],
        retries=raw.get("retries"),
        aliases=tuple(alias for alias, known in aliases.items() if known == raw["id"]),
        timers=tuple(_timer(row) for row in raw["timers"]),
    )


def _timer(raw: Mapping[str, Any]) -> PresetTimer:
    """One row; a word outside the closed vocabularies raises ValueError, a missing key KeyError: our own bug."""
    return PresetTimer(
        setting=raw["setting"],
        phase=PresetPhase(raw["phase"]),
        limit_s=None if raw["limit"] is None else float(raw["limit"]),
        in_preset=raw.get("preset", False),
        clock=Clock(raw["clock"]) if "clock" in raw else None,
        starts=StartsAt(raw.get("starts", StartsAt.REQUEST_SENT)),
        resets_on=ResetsOn(raw["resets_on"]),
        comments_reset=raw.get("comments_reset"),
        outcome=Outcome(raw["outcome"]) if "outcome" in raw else None,
        header_status=raw.get("header_status"),
        early_slack_s=float(raw.get("early", 0.0)),
        late_slack_s=float(raw.get("late", 0.0)),
        evidence=tuple(Evidence(kind) for kind in raw["evidence"]),
        confidence=Confidence(raw["confidence"]),
        source=tuple(raw["source"]),
    )

"""What the page of a run shows: its waterfall, what was found and on which evidence, and what was answered. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from canary.analysis.picture import picture
from canary.analysis.svg import svg
from canary.core.finding import Finding
from canary.core.kept import StoredResult, StoredRun
from canary.core.measurement import Measurement
from canary.core.observation import Observation, StoppedByUs
from canary.core.run import HopResult, Run
from canary.core.stream import ReasoningDelta, RefusalDelta, ToolCallDelta, VisibleDelta
from canary.core.verdict import Status, Verdict, worst
from canary.wire.curl import curl
from canary.wire.kept import run_of

_LONGEST = 4000  # characters of one text; the recording holds all of it
_CHANNELS: Mapping[type, str] = {
    ReasoningDelta: "reasoning",
    VisibleDelta: "visible",
    ToolCallDelta: "tool call",
    RefusalDelta: "refusal",
}
_ORDER = (Status.FAIL, Status.WARN, Status.UNKNOWN, Status.PASS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """The beginning of one text of an answer; `channel`: reasoning, visible, tool call or refusal; `chars`: of all."""

    channel: str
    text: str
    chars: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One form of the request at one hop. `place`: among the run's results. `texts` empty: its stream is not kept."""

    place: int
    name: str
    status: Status
    numbers: Measurement
    verdicts: tuple[Verdict, ...]
    engine_version: str | None
    kept: bool
    missing: str | None
    texts: tuple[Told, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    finding: Finding
    repeat: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Alike:
    """Several checks of one request that say the same."""

    name: str
    status: Status
    message: str
    checks: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunView:
    """`requests`: from the user down."""

    stored: StoredRun
    waterfall: Markup | None
    findings: tuple[Found, ...]
    requests: tuple[Request, ...]

    @property
    def verdicts(self) -> int:
        return sum(len(each.verdicts) for each in self.requests)

    def told(self, every: bool) -> tuple[Alike, ...]:  # a template gives it by place
        """What the verdicts say, each once; those that pass only where every one is asked for."""
        alike: dict[tuple[str, Status, str], list[str]] = {}
        for request in self.requests:
            for verdict in request.verdicts:
                if every or verdict.status is not Status.PASS:
                    checks = alike.setdefault((request.name, verdict.status, verdict.message), [])
                    checks.append(f"{verdict.check} ({verdict.subject})" if verdict.subject else verdict.check)
        return tuple(
            Alike(name=name, status=status, message=message, checks=tuple(checks))
            for (name, status, message), checks in alike.items()
        )

    @property
    def troubled(self) -> bool:
        return any(verdict.status is not Status.PASS for each in self.requests for verdict in each.verdicts)


def run_view(stored: StoredRun) -> RunView:
    run = run_of(stored)
    kept = {(each.hop, each.variant): each for each in run.results}
    return RunView(
        stored=stored,
        # Its texts are escaped where it is written; nothing else of a target is in it.
        waterfall=Markup(svg(picture(run))) if run.results else None,  # noqa: S704
        findings=tuple(Found(finding=each, repeat=_repeat(each, run)) for each in stored.row.findings),
        requests=tuple(_request(place, each, kept) for place, each in _top_down(stored.results)),
    )


def _top_down(results: Sequence[StoredResult]) -> list[tuple[int, StoredResult]]:
    """Hops were asked from the engine up; people read from the user down."""
    hops = list(dict.fromkeys(result.hop for result in results))
    return [(place, each) for hop in reversed(hops) for place, each in enumerate(results) if each.hop == hop]


def _request(place: int, stored: StoredResult, kept: dict[tuple[str, str], HopResult]) -> Request:
    result = kept.get((stored.hop, stored.variant))
    return Request(
        place=place,
        name=stored.hop if stored.variant == "plain" else f"{stored.hop} {stored.variant}",
        status=worst(stored.verdicts),
        numbers=stored.measurement,
        verdicts=tuple(sorted(stored.verdicts, key=lambda verdict: _ORDER.index(verdict.status))),
        engine_version=stored.engine_version,
        kept=result is not None,
        missing=_missing(result) if result else None,
        texts=tuple(_texts(result.observation)) if result else (),
    )


def _missing(result: HopResult) -> str | None:
    """A long transcript is stored without its last part, and then says so in its own end."""
    end = result.observation.end
    return end.reason if isinstance(end, StoppedByUs) and end != result.measurement.end else None


def _texts(observation: Observation) -> list[Told]:
    found: dict[str, list[str]] = {}
    for event in observation.events:
        if isinstance(event, ReasoningDelta | VisibleDelta | ToolCallDelta | RefusalDelta):
            found.setdefault(_CHANNELS[type(event)], []).append(event.text)
    texts = {channel: "".join(pieces) for channel, pieces in found.items()}
    return [Told(channel=channel, text=text[: _LONGEST + 1], chars=len(text)) for channel, text in texts.items()]


def _repeat(finding: Finding, run: Run) -> str | None:
    """The request at the origin, without its credentials; None where its stream was not kept."""
    results = (each for each in run.results if (each.hop, each.variant) == (finding.origin, finding.variant))
    result = next(results, None)
    return curl(result.observation.exchange) if result else None

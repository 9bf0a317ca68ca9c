"""What the page of a run shows: its waterfall, what was found and on which evidence, and what was answered. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

from markupsafe import Markup

from canary.analysis.lane import Sign
from canary.analysis.picture import Captions, picture, top_down
from canary.analysis.svg import svg
from canary.core.finding import Finding
from canary.core.incident import Page
from canary.core.kept import RunRow, StoredResult, StoredRun
from canary.core.measurement import Measurement
from canary.core.observation import Observation, StoppedByUs
from canary.core.run import PLAIN, HopResult, Run
from canary.core.stream import ReasoningDelta, RefusalDelta, ToolCallDelta, VisibleDelta
from canary.core.verdict import Status, Verdict, worst
from canary.web.figures import in_units
from canary.web.words import Words
from canary.wire.curl import curl
from canary.wire.kept import run_of

_LONGEST = 4000  # characters of one text; the recording holds all of it
CHANNELS: Mapping[type, str] = {
    ReasoningDelta: "reasoning",
    VisibleDelta: "visible",
    ToolCallDelta: "tool_call",
    RefusalDelta: "refusal",
}
_ORDER = (Status.FAIL, Status.WARN, Status.UNKNOWN, Status.PASS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """The beginning of one text of an answer; `channel`: reasoning, visible, tool_call or refusal; `chars`: of all."""

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
    """Several checks of one request that say the same; each with its subject."""

    name: str
    status: Status
    message: str
    checks: tuple[tuple[str, str | None], ...]


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
        alike: dict[tuple[str, Status, str], list[tuple[str, str | None]]] = {}
        for request in self.requests:
            for verdict in request.verdicts:
                if every or verdict.status is not Status.PASS:
                    checks = alike.setdefault((request.name, verdict.status, verdict.message), [])
                    checks.append((verdict.check, verdict.subject))
        return tuple(
            Alike(name=name, status=status, message=message, checks=tuple(checks))
            for (name, status, message), checks in alike.items()
        )

    @property
    def troubled(self) -> bool:
        return any(verdict.status is not Status.PASS for each in self.requests for verdict in each.verdicts)


def run_view(stored: StoredRun, t: Words) -> RunView:
    run = run_of(stored)
    kept = {(each.hop, each.variant): each for each in run.results}
    return RunView(
        stored=stored,
        # Its texts are escaped where it is written; nothing else of a target is in it.
        waterfall=Markup(svg(picture(run, _captions(t)))) if run.results else None,  # noqa: S704
        findings=tuple(Found(finding=each, repeat=_repeat(each, run)) for each in stored.row.findings),
        requests=tuple(_request(stored.results.index(each), each, kept) for each in top_down(stored.results)),
    )


def was_open(page: Page, row: RunRow) -> bool:
    """Whether the page is of the run's probe and was open, or about to be, when the run was sent.

    A page opens once there are failures enough: the first of them came before it.
    """
    first_seen_at = page.lead.seen_at if page.lead else None
    began = min(at for at in (page.began_at, page.opened_at, first_seen_at) if at is not None)
    mine = row.pipeline in page.pipelines and row.probe in page.probes
    return mine and began <= row.started_at <= (page.resolved_at or row.started_at)


def _captions(t: Words) -> Captions:
    return Captions(
        title=t("picture_title"),
        more=t("picture_more"),
        visible=t("picture_visible"),
        nothing=t("picture_nothing"),
        cut=t("picture_cut"),
        meanings={sign: t(f"sign_{sign.name.lower()}") for sign in Sign},
        status=lambda status: t(f"state_{status}"),
        duration=partial(in_units, t=t),
        tick=f"{{at}}{t('unit_s')}",
    )


def _request(place: int, stored: StoredResult, kept: dict[tuple[str, str], HopResult]) -> Request:
    result = kept.get((stored.hop, stored.variant))
    return Request(
        place=place,
        name=stored.hop if stored.variant == PLAIN else f"{stored.hop} {stored.variant}",
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
            found.setdefault(CHANNELS[type(event)], []).append(event.text)
    texts = {channel: "".join(pieces) for channel, pieces in found.items()}
    return [Told(channel=channel, text=text[: _LONGEST + 1], chars=len(text)) for channel, text in texts.items()]


def _repeat(finding: Finding, run: Run) -> str | None:
    """The request at the origin, without its credentials; None where its stream was not kept."""
    results = (each for each in run.results if (each.hop, each.variant) == (finding.origin, finding.variant))
    result = next(results, None)
    return curl(result.observation.exchange) if result else None

"""Timers that are legal and will not do what somebody meant: they can never act, or comments do not reach them.

Two facts of streams rule here:

- Above the first timer that cuts, everybody sees an end. Of two timers of the same kind the outer one sees at most the
  ticks of the inner one, and later; so a shorter outer one always cuts first, unless something between them speaks.
- A comment (`: ping`) restarts byte clocks only, and only up to the first hop that reads the stream and writes its own:
  such a hop drops it. Proxies, load balancers and CDNs pass comments on; of a hop that no preset tells to be one, that
  is not known, and it is taken as one that drops them, as gateways, agents and UIs do.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from canary.config.lint_kind import Lint, LintKind
from canary.config.presets import presets
from canary.core.spec import Hop, Pipeline
from canary.core.timeout import Clock, StartsAt, Timeout, TimerPhase
from canary.core.units import format_duration

_PASSING_KINDS = {"reverse proxy", "load balancer", "CDN", "network"}  # of presets: they hand bytes on as they come
_START_ORDER = (StartsAt.REQUEST_START, StartsAt.REQUEST_SENT, StartsAt.HEADERS, StartsAt.FIRST_TICK)


def timer_lints(pipeline: Pipeline) -> Iterator[Lint]:
    for rule in (_outer_shorter, _keepalive, _total_under_deadline):
        yield from rule(pipeline)


def _outer_shorter(pipeline: Pipeline) -> Iterator[Lint]:
    """For each timer the shortest one above it that makes it pointless."""
    for below, hop in enumerate(pipeline.hops):
        for inner in hop.timeouts:
            rivals = [
                outer
                for above in range(below)
                for outer in pipeline.hops[above].timeouts
                if _cuts_first(outer, inner, pipeline.hops[above], pipeline.hops[above + 1 : below + 1])
            ]
            if rivals:
                outer = min(rivals, key=lambda timer: timer.limit_s)
                yield Lint(
                    kind=LintKind.OUTER_SHORTER,
                    pipeline=pipeline.name,
                    where=hop.name,
                    message=f"{_called(inner)} can never act: {_called(outer)} of {outer.hop} above it cuts first",
                )


def _cuts_first(outer: Timeout, inner: Timeout, owner: Hop, between: Sequence[Hop]) -> bool:
    """`between`: from the hop below the outer timer's owner to the inner timer's owner."""
    if outer.phase is not inner.phase or outer.limit_s >= inner.limit_s:
        return False
    if outer.phase is TimerPhase.TOTAL:
        return True
    if outer.phase is TimerPhase.IDLE and (outer.clock is not inner.clock or not _armed_in_time(outer, inner, owner)):
        return False
    fed = outer.phase is TimerPhase.HEADERS or outer.clock is Clock.BYTE
    return not (fed and any(hop.keepalive_s and hop.keepalive_s < outer.limit_s for hop in between))


def _armed_in_time(outer: Timeout, inner: Timeout, owner: Hop) -> bool:
    """A timer that starts later leaves the time before to the other one, unless its owner limits that time too."""
    if _START_ORDER.index(outer.starts) <= _START_ORDER.index(inner.starts):
        return True
    if outer.starts is not StartsAt.HEADERS:
        return False
    return any(t.phase is TimerPhase.HEADERS and t.limit_s < inner.limit_s for t in owner.timeouts)


def _keepalive(pipeline: Pipeline) -> Iterator[Lint]:
    for index, hop in enumerate(pipeline.hops):
        if hop.keepalive_s is None:
            continue
        reach = _reach(pipeline.hops[:index])
        above = pipeline.hops[:index]
        counted = [timer for owner in reach for timer in owner.timeouts if _counts_comments(timer)]
        for timer in counted:
            if hop.keepalive_s >= timer.limit_s - timer.early_slack_s:
                message = f"a comment every {_s(hop.keepalive_s)} is too slow for {_called(timer)} of {timer.hop}"
                yield _at(pipeline, hop, LintKind.KEEPALIVE_TOO_SLOW, message)
        short_way = list(_short_way(pipeline, index, reach))
        yield from short_way
        if not counted and not short_way and any(owner.timeouts for owner in above):
            yield _at(pipeline, hop, LintKind.KEEPALIVE_UNCOUNTED, _uncounted(hop, reach, above))


def _reach(above: Sequence[Hop]) -> list[Hop]:
    """The hops that see the comments of the hop below them all, nearest first: up to the first that drops them."""
    reach: list[Hop] = []
    for hop in reversed(above):
        reach.append(hop)
        if not _passes_comments(hop):
            break
    return reach


def _passes_comments(hop: Hop) -> bool:
    kinds = {presets()[timer.preset].kind for timer in hop.timeouts if timer.preset}
    return bool(kinds) and kinds <= _PASSING_KINDS


def _counts_comments(timer: Timeout) -> bool:
    return timer.phase is TimerPhase.IDLE and timer.clock is Clock.BYTE


def _uncounted(hop: Hop, reach: Sequence[Hop], above: Sequence[Hop]) -> str:
    last = reach[-1]
    stop = f"; {last.name} does not pass comments on, as far as its presets tell" if len(reach) < len(above) else ""
    idle = [timer for owner in reach for timer in owner.timeouts if timer.phase is TimerPhase.IDLE]
    deaf = [f"{_called(timer)} of {timer.hop} counts {_TICKS[timer.clock]}" for timer in idle]
    why = f": {', '.join(deaf)}" if deaf else ""
    return f"no timer above counts the comments that it sends every {_s(hop.keepalive_s or 0)}{why}{stop}"


_TICKS = {
    Clock.BYTE: "bytes",
    Clock.EVENT: "events only",
    Clock.TOKEN: "tokens only",
    Clock.VISIBLE: "visible text only",
}


def _short_way(pipeline: Pipeline, index: int, reach: Sequence[Hop]) -> Iterator[Lint]:
    """Byte clocks that stand above the hop where the comments end, and that nothing else feeds."""
    end = index - len(reach)  # the topmost hop that sees them
    if any(hop.keepalive_s for hop in pipeline.hops[:index]):
        return  # an injector of its own, which is judged by itself
    beyond = [timer for hop in pipeline.hops[:end] for timer in hop.timeouts if _counts_comments(timer)]
    if beyond:
        hop, timer = pipeline.hops[index], min(beyond, key=lambda timer: timer.limit_s)
        last = pipeline.hops[end].name
        message = (
            f"its comments end at {last}, unless that passes them on: {_called(timer)} of {timer.hop} "
            f"needs a keepalive of {last} itself"
        )
        yield _at(pipeline, hop, LintKind.KEEPALIVE_TOO_SHORT_A_WAY, message)


def _total_under_deadline(pipeline: Pipeline) -> Iterator[Lint]:
    """One for each timer: the probe with the longest deadline stands for all."""
    if not pipeline.assignments:
        return
    longest = max(pipeline.assignments, key=lambda assignment: assignment.deadline_s)
    for hop in pipeline.hops:
        for timer in hop.timeouts:
            if timer.phase is TimerPhase.TOTAL and timer.limit_s < longest.deadline_s:
                message = (
                    f"{_called(timer)} ends every answer before the deadline of {longest.probe.name}, "
                    f"{_s(longest.deadline_s)}"
                )
                yield _at(pipeline, hop, LintKind.TOTAL_UNDER_DEADLINE, message)


def _at(pipeline: Pipeline, hop: Hop, kind: LintKind, message: str) -> Lint:
    return Lint(kind=kind, pipeline=pipeline.name, where=hop.name, message=message)


def _called(timer: Timeout) -> str:
    return f"{timer.name} ({_s(timer.limit_s)})"


def _s(seconds: float) -> str:
    return format_duration(seconds)

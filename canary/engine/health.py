"""Is it us? Before a target is blamed, we look at ourselves.

Our event loop: a sampler measures how late it is; what one answer suffered from that is in its own measurement, and the
checks judge it there. Here it is a fact about the daemon.

Our network: asked only if a run gives reason to, and then at once. The reason: no hop that is not on this machine could
be connected to (DNS, TCP or TLS failed at every one). One that could be proves that our network works, and a hop on
this machine proves nothing either way. If then the configured address does not answer as well, what these hops failed
for is our own fault: their verdicts become UNKNOWN `prober_fault`, and no finding begins at them.

Our attention: a process that was stopped, or starved, finds that a deadline is over as soon as it goes on, and never
looks at what came meanwhile. What ended by time while we were away for a good part of it says nothing about the target.
A machine that was suspended is worse: its monotonic clock stood still, so no duration of that run is one, good or bad.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from urllib.parse import urlsplit

from canary.core.observation import ConnectFailed, DeadlineExceeded
from canary.core.run import HopResult, Run
from canary.core.service import OwnNetwork, is_loopback
from canary.core.units import format_duration
from canary.core.verdict import Status, Verdict

PERIOD_S = 0.25
_WINDOW = 240  # samples: a minute
_FAILING = (Status.FAIL, Status.WARN)
_AWAY_S, _AWAY_PART = 1.0, 0.1  # at least, and of an answer's time: who needed that little more was late enough
_SLEPT_S = 0.1  # what the two clocks differ by when nobody slept is microseconds


@dataclass(slots=True, kw_only=True)
class LoopLag:
    """The worst lateness of the loop within the last minute."""

    steady: Callable[[], float]
    _late_s: deque[float] = field(default_factory=lambda: deque(maxlen=_WINDOW))

    async def watch(self) -> None:
        while True:
            due_s = self.steady() + PERIOD_S
            await asyncio.sleep(PERIOD_S)
            self.note(self.steady() - due_s)

    def note(self, late_s: float) -> None:
        self._late_s.append(max(0.0, late_s))

    @property
    def worst_s(self) -> float:
        return max(self._late_s, default=0.0)


async def guarded(run: Run, own_network: OwnNetwork | None, *, slept_s: float = 0.0) -> Run:
    """The run as it may be judged: without what we are to blame for. `slept_s`: how long the machine was suspended."""
    if slept_s > _SLEPT_S:
        return asleep(run, slept_s)
    run = ours(run, absent(run), "we were not running for a good part of the time that it had")
    suspects = cut_off(run)
    if not suspects or own_network is None or await answers(own_network):
        return run
    return ours(run, suspects, f"our own network is down: {own_network.address} cannot be connected to either")


def asleep(run: Run, slept_s: float) -> Run:
    """Nothing is known."""
    message = f"this machine was suspended for {format_duration(slept_s)} during the run"
    results = tuple(_excused(result, message, of=tuple(Status)) for result in run.results)
    return replace(run, results=results, findings=())


def absent(run: Run) -> frozenset[str]:
    """The hops whose answer ended by time while our loop was away for a good part of it."""
    return frozenset(result.hop for result in run.results if _timed_out(result) and _away(result))


def _timed_out(result: HopResult) -> bool:
    return isinstance(result.observation.end, DeadlineExceeded | ConnectFailed)


def _away(result: HopResult) -> bool:
    return (result.measurement.loop_lag_s or 0.0) > max(_AWAY_S, _AWAY_PART * result.observation.end.at)


def cut_off(run: Run) -> frozenset[str]:
    """The hops that our own network may have failed: all that are elsewhere, if none of them could be connected to."""
    elsewhere = [result for result in run.results if not _is_here(result)]
    failed = [result for result in elsewhere if isinstance(result.observation.end, ConnectFailed)]
    return frozenset(result.hop for result in failed) if len(failed) == len(elsewhere) else frozenset()


def ours(run: Run, hops: frozenset[str], message: str) -> Run:
    """The run with all blame taken from `hops`."""
    if not hops:
        return run
    return replace(
        run,
        results=tuple(_excused(result, message) if result.hop in hops else result for result in run.results),
        findings=tuple(
            replace(finding, affected=tuple(hop for hop in finding.affected if hop not in hops))
            for finding in run.findings
            if finding.origin not in hops
        ),
    )


async def answers(own_network: OwnNetwork) -> bool:
    """Whether a TCP connection to the address can be made."""
    host, _, port = own_network.address.rpartition(":")
    try:
        async with asyncio.timeout(own_network.timeout_s):
            _, writer = await asyncio.open_connection(host.strip("[]"), int(port))
    except (OSError, TimeoutError):
        return False
    writer.close()
    with suppress(OSError):
        await writer.wait_closed()
    return True


def _is_here(result: HopResult) -> bool:
    return is_loopback(urlsplit(result.observation.exchange.url).hostname or "")


def _excused(result: HopResult, message: str, *, of: tuple[Status, ...] = _FAILING) -> HopResult:
    verdicts = (_unknown(each, message) if each.status in of else each for each in result.verdicts)
    return replace(result, verdicts=tuple(verdicts))


def _unknown(verdict: Verdict, message: str) -> Verdict:
    return replace(
        verdict, status=Status.UNKNOWN, reason="prober_fault", message=message, observed=None, limit=None, unit=None
    )

"""From a fault to the page, and from its end to the resolution, with a stopwatch.

The daemon's own parts run here, as `canary run` has them, over a store of their own. A message has arrived when its
receiver took it and its row in the outbox is marked as sent. Whatever happens, nobody is left with an open page: what
still fires at the end is resolved, since nothing asks for it any more.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from enum import StrEnum

import aiohttp

from canary.core.conclusion import Conclusion
from canary.core.incident import State
from canary.core.metrics import Sending
from canary.core.notification import Delivery, Notification, Reason
from canary.core.run import Run
from canary.core.spec import Plan
from canary.daemon import REAL_CLOCKS, Config, build
from canary.engine.cycle import History
from canary.engine.running import Running
from canary.store import open_store

_LEAVE_WITHIN_S = 15.0  # for a resolution that is refused at first to be tried again
_NOT_WORTH_SAYING = frozenset({Reason.NOTHING_NEW, Reason.NEVER_ANNOUNCED})


class Step(StrEnum):
    FAULT = "fault"
    FIRST_FAIL = "first FAIL"
    CONFIRMED = "confirmed"
    WITHHELD = "withheld"
    RETRY = "not taken yet"
    REFUSED = "refused"
    SENT = "sent"
    HEALED = "healed"
    FIRST_PASS = "first PASS"  # noqa: S105
    RESOLVED = "resolved"


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """`after_s`: since the fault, or since it was healed."""

    step: Step
    after_s: float
    detail: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """`judge`: the run that conclusions are drawn from; None: from this one nothing follows.

    `what`: the fault in words. Page and resolution must each arrive within `within_s`.
    """

    plan: Plan
    what: str
    within_s: float
    fault: Callable[[], None]
    heal: Callable[[], None]
    judge: Callable[[Run], Run | None] = lambda run: run
    seed: int = field(default_factory=lambda: secrets.randbits(63))


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """Whether all who should hear of it have, of the beginning and of the end."""

    paged: bool
    resolved: bool


async def rehearse(scene: Scene, say: Callable[[Moment], None]) -> Outcome:
    """Raises StoreError where there is no room for a store."""
    config = Config(load=lambda: scene.plan, seed=lambda: scene.seed)
    async with (
        open_store(scene.plan.service.storage) as store,
        aiohttp.ClientSession(cookie_jar=aiohttp.DummyCookieJar()) as session,
    ):
        running = build(scene.plan, config, store=store, session=session, clocks=REAL_CLOCKS)
        watch = Stopwatch(running=running, say=say)
        _tie(running, scene, watch)
        await running.recall()
        async with running.going():
            try:
                return await _through(scene, watch)
            finally:
                await running.follow(replace(scene.plan, pipelines=()), {})
                await watch.until(watch.closed, _LEAVE_WITHIN_S)


async def _through(scene: Scene, watch: Stopwatch) -> Outcome:
    scene.fault()
    watch.start(Step.FAULT, scene.what)
    paged = await watch.until(watch.opened, scene.within_s)
    if not watch.reached:
        return Outcome(paged=False, resolved=False)
    scene.heal()
    watch.start(Step.HEALED)
    resolved = await watch.until(watch.closed, scene.within_s)
    return Outcome(paged=paged and not watch.refused, resolved=resolved and not watch.refused)


def _tie(running: Running, scene: Scene, watch: Stopwatch) -> None:
    """The stopwatch looks on where the parts meet, and every message says that it is a drill."""
    conclude, deliver, told = running.cycle.conclude, running.dispatcher.deliver, running.dispatcher.told

    def judged(run: Run, history: History) -> Conclusion:
        judged = scene.judge(run)
        conclusion = conclude(judged, history) if judged else Conclusion()
        watch.concluded(conclusion)
        return conclusion

    async def delivered(notification: Notification, handle: str | None) -> Delivery:
        return await deliver(marked(notification), handle)

    def heard(notification: Notification, sending: Sending, why: str) -> None:
        told(marked(notification), sending, why)
        watch.told(notification, sending, why)

    running.cycle.conclude = judged
    running.dispatcher.deliver = delivered
    running.dispatcher.told = heard


def marked(notification: Notification) -> Notification:
    """The message as one that nobody takes for real."""
    message = notification.message
    drill = replace(
        message,
        title=f"DRILL: {message.title}",
        users_feel=f"This is a drill, and nothing is wrong. In earnest: {message.users_feel}",
        notes=(*message.notes, "a drill, started by a person with `canary drill`; it resolves itself"),
    )
    return replace(notification, message=drill)


@dataclass(slots=True, kw_only=True)
class Stopwatch:
    """`page_id`: of the first page that somebody was to be told of. `reached`: who took it; `over`: who knows the end;
    `refused`: who never will.
    """

    running: Running
    say: Callable[[Moment], None]
    page_id: str | None = None
    reached: set[str] = field(default_factory=set)
    over: set[str] = field(default_factory=set)
    refused: set[str] = field(default_factory=set)
    _start_s: float = 0.0
    _said: set[Step] = field(default_factory=set)
    _moved: asyncio.Event = field(default_factory=asyncio.Event)

    def start(self, step: Step, detail: str = "") -> None:
        self._start_s = self.running.clocks.steady()
        self._note(step, detail)

    async def until(self, settled: Callable[[], bool], within_s: float) -> bool:
        """Whether it was so within that time."""
        try:
            async with asyncio.timeout(within_s):
                while not settled():
                    self._moved.clear()
                    await self._moved.wait()
        except TimeoutError:
            return False
        return True

    def opened(self) -> bool:
        """Everybody who is to hear of the page took it, or never will."""
        page = self.running.known.pages.get(self.page_id or "")
        wanted = {told.receiver for told in page.told if told.reason == Reason.OPENED} if page else set()
        return bool(wanted) and wanted <= self.reached | self.refused

    def closed(self) -> bool:
        return self.reached <= self.over | self.refused

    def concluded(self, conclusion: Conclusion) -> None:
        healed = Step.HEALED in self._said
        for change in conclusion.transitions:
            what = f"{change.key.check} at {change.key.origin}"
            if change.before is State.OK and not healed:
                self._note(Step.FIRST_FAIL, what, once=True)
            if change.before is State.FIRING and healed:
                self._note(Step.FIRST_PASS, what, once=True)
        for held in conclusion.withheld:
            if held.reason not in _NOT_WORTH_SAYING:
                until = f" until {held.until:%Y-%m-%d %H:%M} UTC" if held.until else ""
                self._note(Step.WITHHELD, f"{held.receiver or 'nobody is told'}: {held.reason}{until}")

    def told(self, notification: Notification, sending: Sending, why: str) -> None:
        """What became of one attempt. When it was decided is told with the first."""
        self.page_id = self.page_id or notification.page_id
        if notification.page_id != self.page_id or notification.reason not in (Reason.OPENED, Reason.RESOLVED):
            return
        opened, who = notification.reason is Reason.OPENED, notification.receiver
        age_s = (self.running.clocks.wall() - notification.at).total_seconds()
        self._note(Step.CONFIRMED if opened else Step.RESOLVED, f"page {self.page_id}", age_s=age_s, once=True)
        if sending is Sending.RETRY:
            self._note(Step.RETRY, f"{who}: {why}")
            return
        taken = self.reached if opened else self.over
        (taken if sending is Sending.SENT else self.refused).add(who)
        if sending is Sending.SENT:
            self._note(Step.SENT, f"{who}: {marked(notification).message.title}")
        else:
            self._note(Step.REFUSED, f"{who}: {why}")
        self._moved.set()

    def _note(self, step: Step, detail: str = "", *, age_s: float = 0.0, once: bool = False) -> None:
        if once and step in self._said:
            return
        self._said.add(step)
        after_s = self.running.clocks.steady() - self._start_s - age_s
        self.say(Moment(step=step, after_s=max(0.0, after_s), detail=detail))

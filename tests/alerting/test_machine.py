"""What the stories of test_properties do not tell: clocks that are set back, hops under new names, receivers that come
and go, routes by severity, maintenance. What must hold holds after each step."""

from collections import Counter
from dataclasses import replace
from datetime import timedelta

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from canary.alerting.incidents import ACTIVE
from canary.alerting.mute import mute_of
from canary.core.finding import Severity
from canary.core.incident import State
from canary.core.notification import Reason
from canary.core.route import Maintenance, Match, Route, Silence
from canary.core.run import CutShort
from canary.core.schedule import Cron, Recurring
from tests.fakes.alerts import HOPS, World, pipeline, policy, receiver, rules, verdicts

NAMES = ("vllm", "engine")  # of the hop at the bottom of `chat`
ALL = ("on-call", "pager", "boss")
POLICIES = (
    policy(remind_s=1800.0, escalate_after_s=900.0, escalate_to="boss", unknown=3),
    policy(fail=1, of=1, recover=1),
    policy(fail=3, of=5, hold_s=600.0, remind_s=900.0),
    policy(fail=2, of=40, recover=3),
)
letters = st.text(alphabet="PPFFUW", min_size=4, max_size=4)
NOT_MUTED = frozenset({Reason.RESOLVED, Reason.ACKNOWLEDGED})


class Alerting(RuleBasedStateMachine):
    @initialize(chosen=st.sampled_from(POLICIES), urgent=st.sampled_from(POLICIES))
    def begin(self, chosen, urgent):
        self.bottom, self.chosen = "vllm", chosen
        self.routes = (
            Route(match=Match(severity=Severity.CRITICAL), receiver="pager", policy=urgent, go_on=True),
            Route(match=Match(pipeline="chat"), receiver="on-call", policy=chosen, go_on=True),
            Route(match=Match(severity=Severity.CRITICAL), receiver="on-call", policy=chosen),
        )
        self.world = World(rules=self.plan(ALL))
        self.running, self.missed = {}, set()
        self.seen = 0

    def plan(self, receivers, **more):
        chat = pipeline("chat", probes=("heavy", "tiny"))
        hops = tuple(replace(each, name=self.bottom) if each.name == "vllm" else each for each in chat.hops)
        stage = pipeline("stage", probes=("heavy", "tiny"))
        found = rules(replace(chat, hops=hops), stage, receivers=ALL, routes=self.routes, **more)
        return replace(found, receivers=tuple(receiver(name) for name in receivers))

    @rule(
        name=st.sampled_from(("chat", "stage")),
        probe=st.sampled_from(("heavy", "tiny")),
        visible=letters,
        reached=letters,
        gap_s=st.sampled_from((0, 5, 60, 300)),
    )
    def see(self, name, probe, visible, reached, gap_s):
        self.world.tick(gap_s)
        self.run(name, probe, visible, reached)

    @rule(name=st.sampled_from(("chat", "stage")), letter=st.sampled_from("PFU"), times=st.integers(1, 6))
    def often(self, name, letter, times):
        for _ in range(times):
            self.world.tick(60)
            self.run(name, "heavy", letter * 4, "PPPP")

    @rule(
        name=st.sampled_from(("chat", "stage")),
        cut=st.sampled_from((CutShort.BUG, CutShort.SHUTDOWN, CutShort.DEADLINE)),
    )
    def cut(self, name, cut):
        self.run(name, "heavy", "FFFF", "FFFF", cut_short=cut)

    @rule(seconds=st.sampled_from((1, 60, 600, 1900, 4000, 90_000)))
    def tick(self, seconds):
        self.world.tick(seconds)

    @rule(seconds=st.sampled_from((1, 60, 3600, 90_000)))
    def set_back(self, seconds):
        self.world.now -= timedelta(seconds=seconds)
        self.world.tick()

    @rule()
    def ack(self):
        for page in self.world.open_pages():
            self.world.ack(page)

    @rule()
    def restart(self):
        self.world.restart()

    @rule()
    def start(self):
        """A start that reads the config too."""
        self.world.restart()
        self.world.reload(self.world.rules)

    @rule(
        seconds=st.sampled_from((60, 900, 9000)),
        match=st.sampled_from((Match(), Match(pipeline="chat"), Match(severity=Severity.WARNING))),
    )
    def silence(self, seconds, match):
        now = self.world.now
        made = Silence(id="s", match=match, starts_at=now, ends_at=now + timedelta(seconds=seconds), author="kim")
        self.world.rules = replace(self.world.rules, silences=(made,))

    @rule(
        window=st.sampled_from(
            (
                Recurring(cron=Cron(expression="*/30 * * * *", timezone="Australia/Lord_Howe"), duration_s=600.0),
                Recurring(cron=Cron(expression="0 0 * * mon", timezone="Europe/Berlin"), duration_s=86_400.0),
                None,
            )
        )
    )
    def maintenance(self, window):
        planned = () if window is None else (Maintenance(name="m", window=window),)
        self.world.reload(replace(self.world.rules, maintenance=planned))

    @rule(name=st.sampled_from(NAMES))
    def rename(self, name):
        self.bottom = name
        kept = self.world.rules
        self.world.reload(
            self.plan([each.name for each in kept.receivers], silences=kept.silences, maintenance=kept.maintenance)
        )

    @rule(receivers=st.sampled_from((ALL, ("on-call",), ("pager", "boss"), ())))
    def receivers(self, receivers):
        kept = self.world.rules
        self.missed |= {each.name for each in kept.receivers} - set(receivers)
        self.world.reload(replace(kept, receivers=tuple(receiver(name) for name in receivers)))

    def run(self, name, probe, visible, reached, **more):
        hops = (*HOPS[:-1], self.bottom) if name == "chat" else HOPS

        def chain(text):
            return " | ".join(f"{hop} {letter}" for hop, letter in zip(hops[1:], text, strict=True))

        self.world.see(
            verdicts(chain(visible)),
            verdicts(chain(reached), "reachable"),
            pipeline=name,
            probe=probe,
            hops=hops,
            **more,
        )

    @invariant()
    def every_key_once(self):
        keys = Counter(each.key for each in self.world.known.incidents)
        assert not [key for key, count in keys.items() if count > 1]

    @invariant()
    def what_fires_is_on_one_page(self):
        active = sorted(each.id for each in self.world.known.incidents if each.state in ACTIVE)
        assert active == sorted(member for page in self.world.open_pages() for member in page.members)

    @invariant()
    def messages_make_sense(self):
        for made in self.world.conclusions[self.seen :]:
            told = Counter((each.page_id, each.receiver) for each in made.notifications)
            assert max(told.values(), default=1) == 1
            here = {each.name for each in self.world.rules.receivers}
            for each in made.notifications:
                assert each.receiver in here
                lane = each.page_id, each.receiver
                if each.reason is Reason.RESOLVED:
                    assert self.running.pop(lane, None), "an end without a beginning"
                    assert not each.message.firing
                else:
                    assert each.message.firing or each.reason is Reason.FLAPPING
                    if lane not in self.running:
                        assert each.reason in (Reason.OPENED, Reason.FLAPPING, Reason.ESCALATED)
                    self.running[lane] = True
                page = next(p for p in self.world.known.pages if p.id == each.page_id)
                members = [i for i in self.world.known.incidents if i.id in page.members]
                if each.reason not in NOT_MUTED and members:
                    assert not all(mute_of(i, self.world.rules, each.at) for i in members), each.reason
        self.seen = len(self.world.conclusions)

    @invariant()
    def nothing_was_told_in_time_to_come(self):
        assert all(told.at <= self.world.now for page in self.world.open_pages() for told in page.told)

    def teardown(self):
        if not hasattr(self, "world"):
            return
        self.world.rules = replace(self.plan(ALL))
        self.world.reload(self.world.rules)
        for _ in range(60):
            self.world.tick(120)
            for name in ("chat", "stage"):
                for probe in ("heavy", "tiny"):
                    self.run(name, probe, "PPPP", "PPPP")
        self.messages_make_sense()
        assert self.world.known.incidents == ()
        assert self.world.open_pages() == []
        ends = Counter(each.incident_id for each in self.world.transitions if each.after is State.OK)
        opened = {each.incident_id for each in self.world.transitions if each.after is State.FIRING}
        assert all(ends[each] == 1 for each in opened)
        believe = {receiver for _, receiver in self.running}
        assert believe <= self.missed, "somebody believes that it goes on, and was there all the time"


Alerting.TestCase.settings = settings(
    max_examples=30, stateful_step_count=25, deadline=None, suppress_health_check=list(HealthCheck)
)
TestAlerting = Alerting.TestCase

"""Whatever happens, in whatever order: several probes, pipelines and hops, unknowns, reloads, mutes, restarts, time."""

from collections import Counter
from dataclasses import replace
from datetime import timedelta

from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from canary.alerting.incidents import ACTIVE, BLIND
from canary.core.incident import State
from canary.core.notification import Reason
from canary.core.route import Match, Route, Silence
from canary.core.run import CutShort
from tests.fakes.alerts import HOPS, NOW, World, pipeline, policy, rules, verdicts

PROBED = HOPS[1:]
PIPELINES = ("chat", "stage")
ESCALATE = policy(remind_s=1800.0, escalate_after_s=900.0, escalate_to="boss", unknown=3)
FULL = (pipeline("chat"), pipeline("stage"))
PLANS = {
    "full": FULL,
    "one pipeline": (pipeline("chat"),),
    "one probe": (pipeline("chat", probes=("heavy",)), pipeline("stage")),
    "no engine": (pipeline("chat", hops=HOPS[:-1]), pipeline("stage")),
}
POLICIES = st.sampled_from([ESCALATE, policy(fail=1, of=1, recover=1), policy(fail=3, of=5, hold_s=300.0)])

letters = st.text(alphabet="PFUW", min_size=len(PROBED), max_size=len(PROBED))
cuts = st.sampled_from([None, None, None, None, CutShort.BUG, CutShort.SHUTDOWN])
runs = st.tuples(st.just("run"), st.sampled_from(PIPELINES), st.sampled_from(("heavy", "tiny")), letters, letters, cuts)
others = st.one_of(
    st.tuples(st.just("tick"), st.sampled_from([1, 60, 600, 4000])),
    st.tuples(st.just("ack")),
    st.tuples(st.just("restart")),
    st.tuples(st.just("silence"), st.sampled_from([60, 900])),
    st.tuples(st.just("reload"), st.sampled_from(list(PLANS))),
)
stories = st.lists(st.one_of(runs, runs, runs, others), max_size=25)


def chain(text):
    return " | ".join(f"{hop} {letter}" for hop, letter in zip(PROBED, text, strict=True))


def plan(name, settled_policy, silences=()):
    return rules(
        *PLANS[name],
        receivers=("on-call", "boss"),
        routes=(Route(match=Match(), receiver="on-call", policy=settled_policy),),
        silences=silences,
    )


def happen(world, event, settled_policy):
    match event:
        case ("run", pipeline_name, probe, visible, reached, cut):
            world.tick(20)
            groups = (verdicts(chain(visible)), verdicts(chain(reached), "reachable"))
            world.see(*groups, pipeline=pipeline_name, probe=probe, cut_short=cut)
        case ("tick", seconds):
            world.tick(seconds)
        case ("ack",):
            for page in world.open_pages():
                world.ack(page)
        case ("restart",):
            world.restart()
        case ("silence", seconds):
            silence = Silence(
                id="s",
                match=Match(),
                starts_at=world.now,
                ends_at=world.now + timedelta(seconds=seconds),
                author="kim",
            )
            world.rules = replace(world.rules, silences=(silence,))
        case ("reload", name):
            world.reload(plan(name, settled_policy, world.rules.silences))


def check_always(world):
    keys = Counter(each.key for each in world.known.incidents)
    assert not [key for key, count in keys.items() if count > 1], "two open incidents for one key"
    active = {each.id for each in world.known.incidents if each.state in ACTIVE}
    held = [member for page in world.open_pages() for member in page.members]
    assert sorted(active) == sorted(held), "whatever fires is on exactly one page, and nothing else is"


def aloud(world):
    return [told for told in world.told if told != "on-call changed"]


def check_messages(world):
    """Per page and receiver: begun before it goes on, one end for each beginning, and never twice in a row the same."""
    running: dict[tuple[str, str], bool] = {}
    opening = {Reason.OPENED, Reason.FLAPPING, Reason.ESCALATED}
    for made in world.conclusions:
        seen = Counter((each.page_id, each.receiver) for each in made.notifications)
        assert not [key for key, count in seen.items() if count > 1], "two messages at once"
        acked = {page.id for page in made.pages if page.acked_at is not None}
        for each in made.notifications:
            key = each.page_id, each.receiver
            if each.reason in (Reason.REMINDER, Reason.ESCALATED):
                assert each.page_id not in acked, f"{each.reason} of what somebody has in hand"
            if each.reason is Reason.RESOLVED:
                assert running[key], "an end without a beginning"
            elif not running.get(key):
                assert each.reason in opening, f"{each.reason} of something that nobody was told of"
            running[key] = each.reason is not Reason.RESOLVED
    return [key for key, runs_on in running.items() if runs_on]


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(story=stories, settled_policy=POLICIES)
def test_any_story(story, settled_policy):
    world = World(rules=plan("full", settled_policy))
    for event in story:
        happen(world, event, settled_policy)
        check_always(world)
    opened = {each.incident_id for each in world.transitions if each.after is State.FIRING}
    for _ in range(12):  # passes persist, and the plan is whole again, so that everything is asked
        for name in PIPELINES:
            for probe in ("heavy", "tiny"):
                happen(world, ("run", name, probe, "PPPP", "PPPP", None), settled_policy)
        world.tick(300)
        world.rules = plan("full", settled_policy)
    check_always(world)
    assert world.known.incidents == ()
    assert world.open_pages() == []
    assert check_messages(world) == [], "somebody believes that it goes on"
    ends = Counter(each.incident_id for each in world.transitions if each.after is State.OK)
    assert all(ends[incident] == 1 for incident in opened), "each opened incident ends exactly once"
    assert {each.before for each in world.transitions if each.event == "gone"} <= {*ACTIVE, State.PENDING}


@settings(max_examples=30, deadline=None)
@given(story=stories, count=st.integers(1, 8))
def test_unknown_changes_nothing(story, count):
    """Except that a monitor that is blind says so."""
    world = World(rules=plan("full", ESCALATE))
    for event in story:
        happen(world, event, ESCALATE)
    before = {each.id: each for each in world.known.incidents}
    for _ in range(count):
        made = world.see(verdicts(chain("UUUU")), pipeline="chat", probe="heavy")
        assert not [each for each in made.transitions if each.key.check != BLIND]
    for each in world.known.incidents:
        if each.key.check != BLIND:
            assert replace(each, unknowns=0) == replace(before[each.id], unknowns=0)


@settings(max_examples=12, deadline=None)
@example(pattern="FPPFFFFFFFFFFFFFFFFFFPUUUUUUUUUUUPF", fail=1, recover=2)
@example(pattern="FG" * 25, fail=1, recover=1)
@given(pattern=st.text(alphabet="FGPU", min_size=20, max_size=50), fail=st.integers(1, 2), recover=st.integers(1, 2))
def test_messages_are_few_whatever_one_probe_sees(pattern, fail, recover):
    """Three, until it has been quiet for half an hour; so six within an hour. And one for how it ended.

    `G` fails for another reason: an edit, which disturbs nobody, every five minutes at most.
    """
    world = World(rules=rules(policy=policy(fail=fail, of=fail, recover=recover, unknown=1000)))
    for number, letter in enumerate(pattern):
        world.tick(60)
        reasons = dict.fromkeys(PROBED, "another") if letter == "G" else None
        world.see(verdicts(chain(letter.replace("G", "F") * 4), reasons=reasons))
        assert len(aloud(world)) <= (3 if number < 30 else 6)
        assert world.told.count("on-call changed") <= number // 5
    for _ in range(40):
        world.tick(60)
        world.see(chain("PPPP"))
    assert len(aloud(world)) <= 7
    assert world.told[-1:] in ([], ["on-call resolved"])
    assert world.known.incidents == ()


@settings(max_examples=20, deadline=None)
@given(story=stories, settled_policy=POLICIES)
def test_the_same_story_is_the_same_to_the_last_id(story, settled_policy):
    one, two = (World(rules=plan("full", settled_policy)) for _ in range(2))
    for world in (one, two):
        for event in story:
            happen(world, event, settled_policy)
    assert one.conclusions == two.conclusions
    assert one.now >= NOW

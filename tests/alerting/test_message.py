from dataclasses import replace
from datetime import timedelta

import pytest

from canary.alerting.feeling import FEELINGS, NOT_FELT, TITLES, feeling, title
from canary.checks import CHECKS
from canary.checks.budget_arms import NAME as BUDGET
from canary.core.deploy import Deploy
from canary.core.finding import Severity
from canary.core.history import Past
from canary.core.measurement import Fingerprint
from canary.core.stream import VisibleDelta
from canary.core.verdict import Status, Verdict
from tests.fakes.alerts import NOW, SEEN, World, often, pipeline, policy, rules, run, verdicts

LATE = {"observed": 31.0, "limit": 20.0, "unit": "s"}
CHAIN = "ui F | agent F | litellm P | vllm P"
AT_ONCE = policy(fail=1, of=1, recover=1)


SEEN_TEXT = "".join(event.text for event in SEEN.observation.events if isinstance(event, VisibleDelta))


def first_message(*groups, **more):
    world = World(rules=rules(**{"policy": AT_ONCE, **more}))
    world.see(*(groups or (verdicts(CHAIN, "first_visible", reasons={"agent": "late"}, **LATE),)))
    return world.messages[0]


def test_all_facts():
    message = first_message(base_url="https://canary.example.com/")
    assert message.title == "First visible text too late, between agent and litellm (chat)"
    assert message.users_feel == "People wait 31.0 s before they see the first word; 20.0 s is the limit."
    assert message.where == "agent -> litellm"
    assert message.cause.startswith("The first visible text of agent comes too late")
    assert (message.severity, message.firing, message.since) == (Severity.CRITICAL, True, NOW)
    assert (message.pipelines, message.probes) == (("chat",), ("heavy",))
    assert (message.check, message.reason) == ("first_visible", "late")
    assert (message.observed, message.limit, message.unit) == (31.0, 20.0, "s")
    assert message.repeat == "canary probe chat heavy"
    assert (message.run_id, message.run_url) == ("run-1", "https://canary.example.com/runs/run-1")
    assert message.page_url.startswith("https://canary.example.com/incidents/")
    assert (message.changed, message.notes, message.content) == ((), (), None)


def test_since_is_when_the_first_run_that_showed_it_was_sent():
    """Where hops hang, runs take minutes, and the one that makes it fire is not the first: a deploy in between is no
    suspect."""
    world = World(rules=rules(policy=policy(fail=2, of=3)))
    for _ in range(2):
        sent = world.now
        world.now += timedelta(seconds=84)
        world.conclude(run("ui F | agent F | litellm F | vllm F", run_id=f"run-{sent}", at=sent))
    (message,) = world.messages
    assert message.since == NOW
    assert world.known.incidents[0].opened_at == NOW + timedelta(seconds=168)


@pytest.mark.parametrize(
    ("below", "top", "felt"),
    [
        pytest.param(
            verdicts("ui F | agent F | litellm F | vllm F", "reachable", reasons={"vllm": "connect"}),
            verdicts("ui F", "complete", reasons={"ui": "hung"}),
            "People get an error instead of an answer.",
            id="an error up to the top, whatever else fails there",
        ),
        pytest.param(
            verdicts("litellm F | vllm F", "reachable", reasons={"vllm": "deadline"}),
            verdicts("ui F | agent F", "complete", reasons={"ui": "hung"}),
            "People wait and see nothing: the stream opens and then stays silent.",
            id="an agent that sends its headers first",
        ),
        pytest.param(
            verdicts("litellm F | vllm P", "reachable", reasons={"litellm": "connect"}),
            verdicts("ui F | agent F", "complete", reasons={"ui": "truncated"}),
            "People see the answer break off, or never begin.",
            id="an agent that gives up",
        ),
        pytest.param(
            verdicts("ui F | agent F | litellm F | vllm F", "reachable", reasons={"ui": "deadline"}),
            [],
            "People wait and get nothing at all.",
            id="the same check for another reason",
        ),
        pytest.param(
            verdicts("litellm F | vllm P", "visible_content", reasons={"litellm": "stripped"}),
            verdicts(
                "ui F | agent F | litellm F | vllm P", "first_visible", reasons={"ui": "never"}, limit=20, unit="s"
            ),
            "People wait and see nothing; 20.0 s is the limit.",
            id="its number is the one at the top",
        ),
    ],
)
def test_people_feel_what_fails_at_the_hop_nearest_to_them(below, top, felt):
    assert first_message(below, top).users_feel == felt


@pytest.mark.parametrize(
    ("reason", "where", "title"),
    [
        pytest.param("connect", "agent", "No usable answer, at agent (chat)", id="it is down"),
        pytest.param("dns", "agent", "No usable answer, at agent (chat)", id="it has no address"),
        pytest.param("tls", "agent", "No usable answer, at agent (chat)", id="it has no valid certificate"),
        pytest.param(
            "server_error", "agent -> litellm", "No usable answer, between agent and litellm (chat)", id="it may relay"
        ),
    ],
)
def test_what_is_down_is_down_by_itself(reason, where, title):
    message = first_message(verdicts("ui F | agent F | litellm P | vllm P", "reachable", reasons={"agent": reason}))
    assert (message.where, message.title) == (where, title)


def test_reasoning_that_was_lost_further_down_is_missed_by_people_too():
    """The hops above have nothing to strip, so they pass."""
    lost = verdicts("ui P | agent P | litellm F | vllm P", "streaming", reasons={"litellm": "reasoning_stripped"})
    assert first_message(lost).users_feel == "People see no sign of life while the model thinks."


def test_the_table_has_every_hop_of_the_run_from_the_user_down():
    rows = first_message().hops
    assert [(row.hop, row.status, row.said) for row in rows] == [
        ("ui", "FAIL", "first_visible reason_f"),
        ("agent", "FAIL", "first_visible late"),
        ("litellm", "PASS", ""),
        ("vllm", "PASS", ""),
    ]
    assert (rows[0].first_token_s, rows[0].first_visible_s, rows[0].longest_silence_s) == (1.0, 2.0, 1.0)
    assert rows[0].reasoning_share == SEEN.measurement.reasoning_to_output_ratio


def test_the_table_shows_the_form_of_the_request_that_failed():
    groups = (verdicts("ui P | agent P"), verdicts("ui F | agent P", variant="budget"))
    assert [(row.hop, row.status) for row in first_message(*groups).hops] == [("ui", "FAIL"), ("agent", "PASS")]


def test_and_not_another_one_that_came_later():
    seen = run(verdicts("ui F | agent P"))
    other = replace(seen.results[-1], variant="other", measurement=replace(SEEN.measurement, time_to_first_token_s=9.0))
    world = World(rules=rules(policy=AT_ONCE))
    world.conclude(replace(seen, results=(*seen.results, other)))
    assert [row.first_token_s for row in world.messages[0].hops] == [1.0, 1.0]


def upgraded():
    """The first failing run of an upgrade: what it shows, and the history that it is compared with."""
    measured = replace(SEEN, measurement=replace(SEEN.measurement, fingerprint=Fingerprint(model="b")))
    return run("ui F | agent F | litellm F | vllm F", measured=measured), {("vllm", "plain"): (past("a"),)}


def wait(world, seconds):
    """Without a tick: nobody looks at the clock."""
    world.now += timedelta(seconds=seconds)


LATER = {
    "time passed": lambda world: world.tick(60),
    "an acknowledgement": lambda world: world.ack(world.page),
    "another probe": lambda world: (wait(world, 60), world.see("ui P", probe="tiny")),
    "a restart": lambda world: (world.restart(), world.tick(60)),
    "a probe that is gone": lambda world: world.reload(rules(pipeline("other"), policy=REMINDING)),
}  # fmt: skip
REMINDING = policy(fail=1, of=1, remind_s=60.0)


@pytest.mark.parametrize("name", LATER)
def test_a_later_message_says_no_less_than_the_first(name):
    """Some receivers put it in the place of the first."""
    world = World(rules=rules(policy=REMINDING))
    seen, history = upgraded()
    world.conclude(seen, history=history)
    LATER[name](world)
    first, later = world.messages
    assert len(first.hops) == 4
    assert (later.hops, later.changed) == (first.hops, first.changed) == (later.hops, ("model a -> b at vllm",))


def test_what_changed_is_not_forgotten_when_history_is():
    world = World(rules=rules(policy=REMINDING))
    seen, history = upgraded()
    world.conclude(seen, history=history)
    wait(world, 60)
    world.conclude(replace(seen, id="r2"), history={})
    assert world.told[-1] == "on-call reminder"
    assert world.messages[-1].changed == ("model a -> b at vllm",)


def test_a_new_outage_has_a_table_of_its_own():
    world = World(rules=rules(policy=AT_ONCE))
    seen, history = upgraded()
    world.conclude(seen, history=history)
    often(world, "PF", every_s=1800.0)
    assert world.messages[-1].changed == ()


def test_without_any_run_the_table_has_the_evidence():
    world = World(rules=rules(policy=REMINDING))
    often(world, "F")
    world.known = replace(world.known, pages=())
    world.tick(60)
    assert [(row.hop, row.status, row.first_token_s) for row in world.messages[-1].hops] == [
        (name, Status.FAIL, None) for name in ("ui", "agent", "litellm", "vllm")
    ]


@pytest.mark.parametrize(
    ("chain", "where", "at"),
    [
        pytest.param("ui F | agent F | litellm P", "agent -> litellm", "between agent and litellm", id="an edge"),
        pytest.param("ui F | agent F | litellm U", "agent or below", "at agent or below", id="at or below"),
        pytest.param("ui F | agent F | litellm F | vllm F", "vllm", "at vllm", id="the engine"),
    ],
)
def test_where(chain, where, at):
    message = first_message(verdicts(chain))
    assert message.where == where
    assert message.title == f"Empty answers, {at} (chat)"


SECRET = verdicts("ui F | agent P", "answer", reasons={"ui": "wrong_answer"})


def test_without_leave_there_is_no_content():
    world = World(rules=rules(policy=AT_ONCE))
    world.conclude(run(SECRET), repeat=lambda finding: f"curl {finding.origin} 'the prompt'")
    (message,) = world.messages
    assert message.cause == "The answer of ui is not the known one (wrong_answer)."
    assert message.content is None
    assert message.repeat == "canary probe chat heavy"


def test_with_leave_there_is():
    world = World(rules=rules(policy=AT_ONCE, include_content=True))
    world.conclude(run(SECRET), repeat=lambda finding: f"curl {finding.origin} 'the prompt'")
    (message,) = world.messages
    assert "answer F" in message.cause
    assert message.content == SEEN_TEXT[:2000]
    assert message.repeat == "curl ui 'the prompt'"


def test_who_is_affected_is_said_without_content_too():
    message = first_message(verdicts("ui F | agent F | litellm P", "answer", reasons={"agent": "wrong_answer"}))
    assert message.cause == "The answer of agent is not the known one (wrong_answer). ui affected."


def test_with_leave_and_nothing_to_quote():
    world = World(rules=rules(policy=AT_ONCE, include_content=True))
    silent = replace(SEEN, observation=replace(SEEN.observation, events=()))
    world.conclude(run(SECRET, measured=silent), repeat=lambda _: None)
    assert (world.messages[0].content, world.messages[0].repeat) == (None, "canary probe chat heavy")


def test_a_finding_from_elsewhere_has_no_content_of_this_run():
    world = World(rules=rules(policy=AT_ONCE, include_content=True))
    seen = run(SECRET)
    world.conclude(replace(seen, results=tuple(each for each in seen.results if each.hop != "ui")))
    assert world.messages[0].content is None


def past(model, *, clean=True, **more):
    return Past(run_id="r0", at=NOW, values={}, fingerprint=Fingerprint(model=model, **more), clean=clean)


def changed_by(history, **after):
    fingerprint = Fingerprint(**after)
    measured = replace(SEEN, measurement=replace(SEEN.measurement, fingerprint=fingerprint))
    world = World(rules=rules(policy=AT_ONCE))
    world.conclude(run("ui F | agent P", measured=measured), history=history)
    return world.messages[0].changed


BOTH = {("ui", "plain"): (past("a"),), ("agent", "plain"): (past("a"),)}


@pytest.mark.parametrize(
    ("history", "after", "changed"),
    [
        pytest.param({}, {"model": "b"}, (), id="no history"),
        pytest.param(BOTH, {"model": "a"}, (), id="the same"),
        pytest.param(BOTH, {"model": "b"}, ("model a -> b",), id="at two hops, said once"),
        pytest.param(BOTH, {}, (), id="not said any more"),
        pytest.param(BOTH, {"model": "a", "litellm_version": "1.2"}, (), id="not said before"),
        pytest.param(
            {("ui", "plain"): (past("a"), past("b", clean=False))}, {"model": "b"}, ("model a -> b at ui",),
            id="in order",
        ),
        pytest.param({("ui", "plain"): (past("a", clean=False),)}, {"model": "b"}, (), id="never in order"),
        pytest.param({("ui", "other"): (past("a"),)}, {"model": "b"}, (), id="of another form"),
        pytest.param(
            {("ui", "plain"): (past("a", server="x"),)}, {"model": "a", "server": "y"}, ("server x -> y at ui",),
            id="at one hop, with its place",
        ),
        pytest.param(
            {("ui", "plain"): (past(None, system_fingerprint="vllm-0.22.1-a"),)},
            {"system_fingerprint": "vllm-0.23.0-b"}, ("vLLM 0.22.1 -> 0.23.0 at ui",), id="the engine's version",
        ),
    ],
)  # fmt: skip
def test_versions(history, after, changed):
    assert changed_by(history, **after) == changed


def deploy(minutes, **more):
    return Deploy(at=NOW - timedelta(minutes=minutes), text="litellm 1.2", **more)


@pytest.mark.parametrize(
    ("mark", "changed"),
    [
        pytest.param(deploy(12), ("deploy 12 min before it began: litellm 1.2",), id="shortly before"),
        pytest.param(deploy(0), ("deploy 0 ms before it began: litellm 1.2",), id="at the same time"),
        pytest.param(deploy(180), ("deploy 3 h before it began: litellm 1.2",), id="three slow runs before"),
        pytest.param(deploy(181), (), id="long before"),
        pytest.param(deploy(-1), (), id="not yet"),
        pytest.param(deploy(5, pipeline="chat"), ("deploy 5 min before it began: litellm 1.2",), id="of this pipeline"),
        pytest.param(deploy(5, pipeline="other"), (), id="of another"),
        pytest.param(
            deploy(5, labels={"env": "prod"}), ("deploy 5 min before it began: litellm 1.2",), id="of its label"
        ),
        pytest.param(deploy(5, labels={"env": "dev"}), (), id="of another label"),
    ],
)
def test_deploys(mark, changed):
    assert first_message(deploys=(mark,)).changed == changed


def test_a_deploy_after_it_began():
    world = World(rules=rules(policy=policy(fail=1, of=1, remind_s=600.0)))
    world.see(CHAIN)
    world.rules = replace(world.rules, deploys=(deploy(-5),))
    world.tick(600)
    assert world.messages[-1].changed == ("deploy 5 min after it began: litellm 1.2",)


def test_since_is_when_the_page_opened():
    """Not when its worst member did: what is over was not over after ten minutes."""
    world = World(rules=rules(policy=AT_ONCE))
    world.see("ui P | agent P | litellm P | vllm F", probe="tiny")
    world.tick(3 * 3600)
    world.see("ui F | agent F | litellm F | vllm F")
    for probe in ("tiny", "heavy"):
        world.tick(300)
        world.see("ui P | agent P | litellm P | vllm P", probe=probe)
    assert world.told == ["on-call opened", "on-call worse", "on-call resolved"]
    assert {message.since for message in world.messages} == {NOW}


def test_since_begins_anew_when_it_was_over_and_goes_on_while_it_flaps():
    world = World(rules=rules(policy=replace(AT_ONCE, remind_s=1800.0)))
    often(world, "FPF" + "PF" * 20)
    assert world.told == ["on-call opened", "on-call resolved", "on-call flapping", "on-call reminder"]
    minutes = [(message.since - NOW).total_seconds() / 60 for message in world.messages]
    assert minutes == [1, 1, 3, 3]


def test_notes_name_the_others():
    world = World(rules=rules(policy=policy(fail=1, of=1, recover=2, remind_s=60.0)))
    world.see("ui F | agent F | litellm F | vllm F")
    world.now += timedelta(seconds=1)
    world.see(verdicts("ui F | agent F | litellm F | vllm F"), probe="tiny")
    lost = verdicts("vllm F", "budget", subject="b"), verdicts("ui F | agent F | litellm F | vllm F")
    world.see(*lost, probe="long")
    world.tick(60)
    (note,) = world.messages[-1].notes
    assert note == ("also: budget (b) at vllm, seen by chat/long, visible_content at vllm, seen by chat/tiny")


def test_a_note_on_flapping():
    world = World(rules=rules(policy=AT_ONCE))
    often(world, "FPF")
    note = "it comes and goes (3 changes within the hour); how it ends is told once nothing has changed for 30 min"
    assert world.messages[-1].notes == (note,)


def finding_of(check, reason, severity=Severity.CRITICAL):
    found = run(verdicts("ui F", check, reasons={"ui": reason})).findings[0]
    return replace(found, severity=severity, subject="x")


WITH_NUMBERS = Verdict(
    check="c", status=Status.FAIL, reason="r", message="m", observed=31.0, limit=20.0, unit="s", subject="x"
)


@pytest.mark.parametrize(("check", "reason"), FEELINGS, ids=str)
def test_every_feeling_is_a_sentence(check, reason):
    sentence = feeling(finding_of(check, reason or "anything"), WITH_NUMBERS)
    assert sentence.endswith(".")
    assert "{" not in sentence
    assert sentence != "People are affected."


@pytest.mark.parametrize(
    ("check", "reason", "verdict", "sentence"),
    [
        pytest.param(
            "first_visible", "never", WITH_NUMBERS, "People wait and see nothing; 20.0 s is the limit.", id="-"
        ),
        pytest.param("first_visible", "late", None, "People are affected.", id="no numbers"),
        pytest.param("new_check", "bad", WITH_NUMBERS, "People are affected.", id="a check that is not in the table"),
        pytest.param(
            "idle_timeout",
            "would_fire",
            replace(WITH_NUMBERS, unit="tokens"),
            "People hear nothing for 31 tokens, and whatever waits for them hangs up at 20 tokens.",
            id="a unit",
        ),
        pytest.param(
            "idle_timeout",
            "would_fire",
            replace(WITH_NUMBERS, unit=None),
            "People hear nothing for 31, and whatever waits for them hangs up at 20.",
            id="no unit",
        ),
    ],
)
def test_feelings(check, reason, verdict, sentence):
    assert feeling(finding_of(check, reason), verdict) == sentence


def test_what_nobody_feels_is_not_said_to_be_felt():
    assert feeling(finding_of("visible_content", "stripped", Severity.WARNING), None) == NOT_FELT


def test_titles():
    assert title(finding_of("budget", "ignored")) == "Reasoning budget `x` does not act"
    assert title(finding_of("streaming", "reasoning_stripped")) == "Reasoning is not passed on"
    assert title(finding_of("new_check", "bad")) == "new_check fails"


ONLY_WARN = {"usage", "served_model", "saturation"}


def test_every_check_that_can_fail_has_its_words():
    can_fail = {*CHECKS, BUDGET} - ONLY_WARN
    for table in (TITLES, FEELINGS):
        assert can_fail <= {check for check, reason in table if reason is None}

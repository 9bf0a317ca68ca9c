"""What a config says of schedules, receivers, routes, windows and the daemon, as the plan has it."""

from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest

from canary.config.errors import ConfigError
from canary.config.load import load_plan
from canary.config.show import describe
from canary.core.finding import Severity
from canary.core.jsonable import as_json
from canary.core.route import Maintenance, Match, Policy, Receiver, Route
from canary.core.schedule import Cron, Every, Once, Recurring
from canary.core.secret import Secret
from canary.core.service import Heartbeat, Listen, LogFormat, OwnNetwork, Service, Storage
from canary.core.spec import Plan
from canary.notify.alertmanager import AlertmanagerOptions
from canary.notify.apprise import AppriseOptions
from canary.notify.pagerduty import PagerDutyOptions
from canary.notify.slack import SlackOptions
from canary.notify.slack_webhook import SlackWebhookOptions
from canary.notify.webhook import WebhookOptions
from canary.store.database import url_of
from tests.config.conftest import SECRET

GOOD = Path(__file__).parent / "good"
KEY = Secret(SECRET)
URL = Secret(f"https://{SECRET}.example.com/x")
PIPELINE = """
pipelines:
  - name: {name}
    hops: [{{name: a, url: "http://a/v1", model: m}}]
    probes: [{{use: quick}}]
"""


@pytest.fixture
def plan(env: dict[str, str]) -> Plan:
    return load_plan([GOOD / "daemon.yaml"], env=env)


def write(folder: Path, **texts: str) -> Path:
    """Each text in a file of its own; `a` has a pipeline too."""
    folder.mkdir(exist_ok=True)
    for name, text in texts.items():
        pipeline = PIPELINE.format(name=name) if name == "a" else ""
        (folder / f"{name}.yaml").write_text(f"include: []\n{pipeline}{text}", encoding="utf-8")
    return folder


def test_a_probe_says_when_instead_of_the_defaults_and_inherits_the_rest(plan: Plan):
    schedules = {use.probe.name: use.schedule for use in plan.pipelines[0].assignments}
    assert schedules == {
        "quick": Every(seconds=300.0, jitter_s=10.0),
        "tiny-budget": Cron(expression="*/30 8-18 * * mon-fri", timezone="Asia/Seoul", jitter_s=0.0),
        "reasoning-heavy": Cron(expression="0 3 * * 7", timezone="Europe/Berlin", jitter_s=10.0),
        "long-context": Every(seconds=3600.0, jitter_s=10.0),
    }


def test_a_cron_without_a_zone_is_in_utc(tmp_path: Path, env: dict[str, str]):
    text = PIPELINE.format(name="a").replace("use: quick", 'use: quick, cron: "0 3 * * *"')
    (tmp_path / "a.yaml").write_text(text, encoding="utf-8")
    (assignment,) = load_plan([tmp_path], env=env).pipelines[0].assignments
    assert assignment.schedule == Cron(expression="0 3 * * *")


def test_metrics_of_a_hop(plan: Plan):
    assert plan.pipelines[0].hops[0].metrics_url == "http://vllm:8000/metrics"


def test_receivers_have_the_options_of_their_kind(plan: Plan):
    assert plan.receivers == (
        Receiver(name="on-call", kind="slack", options=SlackOptions(token=KEY, channel="#llm-oncall"), edits=True),
        Receiver(name="duty", kind="pagerduty", options=PagerDutyOptions(routing_key=KEY), edits=True),
        Receiver(
            name="am",
            kind="alertmanager",
            options=AlertmanagerOptions(
                url="http://alertmanager:9093",
                headers={"Authorization": Secret(f"Bearer {SECRET}"), "X-A": "b"},
                labels={"a": "b"},
            ),
            edits=True,
        ),
        Receiver(name="hook", kind="webhook", options=WebhookOptions(url=URL, secret=KEY), edits=True),
        Receiver(name="mail", kind="apprise", options=AppriseOptions(url=Secret(f"mailto://u:{SECRET}-2@example.com"))),
        Receiver(name="room", kind="slack_webhook", options=SlackWebhookOptions(url=URL)),
        Receiver(name="team", kind="webhook", options=WebhookOptions(url=URL), edits=True),
    )


def test_routes_keep_the_order_of_the_files(plan: Plan):
    everything = Match(
        labels={"env": "prod"},
        pipeline="chat",
        probe="quick",
        check="reachable",
        hop="vllm",
        severity=Severity.CRITICAL,
    )
    policy = Policy(
        fail=3,
        of=5,
        recover=4,
        hold_s=60.0,
        unknown=6,
        remind_s=14_400.0,
        escalate_after_s=1800.0,
        escalate_to="duty",
    )
    assert plan.routes == (
        Route(match=everything, receiver="on-call", policy=policy, go_on=True),
        Route(match=Match(), receiver="team", policy=Policy(fail=2, of=2)),
        Route(match=Match(labels={"env": "prod"}), receiver="team"),
    )


def test_windows(plan: Plan):
    starts = datetime(2026, 12, 1, 3, tzinfo=timezone(timedelta(hours=1)))
    assert plan.maintenance == (
        Maintenance(
            name="again",
            window=Recurring(cron=Cron(expression="0 3 * * sun", timezone="Europe/Berlin"), duration_s=7200.0),
            match=Match(labels={"env": "prod"}),
        ),
        Maintenance(
            name="once", window=Once(starts_at=starts, ends_at=datetime(2026, 12, 1, 4, 30, tzinfo=UTC)), match=Match()
        ),
    )


def test_the_daemon_itself(plan: Plan):
    assert plan.service == Service(
        listen=Listen(host="::", port=80, token=KEY, public_url="https://canary.example.com"),
        storage=Storage(
            url=Secret(f"sqlite:///{GOOD.absolute()}/data/canary.db"),
            keep_days=1.5,
            keep_runs=10,
            keep_bytes=2 * 1024**3,
            transcript_bytes=1_500_000,
            passed_transcript_every=7,
        ),
        heartbeat=Heartbeat(url=URL, every_s=30.0),
        own_network=OwnNetwork(address="1.1.1.1:443", timeout_s=2.0),
        shutdown_grace_s=10.0,
        concurrent_runs=2,
        log_format=LogFormat.CONSOLE,
        include_content=True,
    )


def test_what_is_not_said_is_the_default(tmp_path: Path, env: dict[str, str]):
    plan = load_plan([write(tmp_path, a="listen: {}\nstorage: {}\nlog: {}\n")], env=env)
    plain = Storage(url=Secret(f"sqlite:///{tmp_path}/canary-data/canary.db"))
    assert (plan.receivers, plan.routes, plan.maintenance) == ((), (), ())
    assert plan.service == Service(storage=plain)


@pytest.mark.parametrize(
    ("texts", "url"),
    [
        pytest.param({"a": "", "b": ""}, "sqlite:///{0}/one/canary-data/canary.db", id="nowhere: the first file"),
        pytest.param(
            {"a": "", "b": "storage: {keep: {runs: 3}}"},
            "sqlite:///{0}/one/canary-data/canary.db",
            id="a file without a url does not count",
        ),
        pytest.param(
            {"a": "", "b": 'storage: {url: "sqlite:///x/y.db"}'},
            "sqlite:///{0}/two/x/y.db",
            id="the file that says it",
        ),
        pytest.param({"a": 'storage: {url: "sqlite:////var/c.db"}', "b": ""}, "sqlite:////var/c.db", id="absolute"),
        pytest.param(
            {"a": 'storage: {url: "postgresql://u:${env:PASSWORD}@db:5433/c?ssl=require"}', "b": ""},
            f"postgresql://u:{SECRET}-2@db:5433/c?ssl=require",
            id="a server",
        ),
    ],
)
def test_a_database_is_found_from_the_file_that_names_it(tmp_path: Path, env: dict[str, str], texts, url: str):
    folders = [write(tmp_path / "one", a=texts["a"]), write(tmp_path / "two", b=texts["b"])]
    assert load_plan(folders, env=env).service.storage.url == Secret(url.format(tmp_path))


def test_two_files_may_say_the_same_of_the_daemon_and_not_another_thing(tmp_path: Path, env: dict[str, str]):
    same = write(tmp_path / "same", a="shutdown_grace: 60s\n", b="shutdown_grace: 60s\nconcurrent_runs: 1\n")
    service = load_plan([same], env=env).service
    assert (service.shutdown_grace_s, service.concurrent_runs) == (60.0, 1)
    other = write(tmp_path / "other", a="shutdown_grace: 60s\n", b="shutdown_grace: 1m\n")
    with pytest.raises(ConfigError) as caught:
        load_plan([other], env=env)
    assert str(caught.value) == (
        f"{other}/b.yaml:2: shutdown_grace: found another shutdown_grace, "
        f"expected it in one file only; the first is in {other}/a.yaml:7"
    )


@pytest.mark.parametrize("address", ["127.0.0.1:80", "[::1]:80", "localhost:0", "127.9.9.9:65535"])
def test_loopback_needs_no_token(tmp_path: Path, env: dict[str, str], address: str):
    assert load_plan([write(tmp_path, a=f'listen: {{address: "{address}"}}')], env=env).service.listen.token is None


def test_a_token_does_not_hide_a_plain_password(tmp_path: Path, env: dict[str, str]):
    text = 'storage: {url: "postgresql://${env:KEY}:plain${env:KEY}@db/c"}'
    with pytest.raises(ConfigError, match="a password in plain text") as caught:
        load_plan([write(tmp_path, a=text)], env=env)
    assert "plain$" not in str(caught.value)


def test_no_printed_form_holds_a_secret(plan: Plan):
    printed = "\n".join([repr(plan), *describe(plan)])
    assert SECRET not in printed
    assert SECRET not in str(as_json(plan.service))


def test_the_daemon_in_words(plan: Plan):
    assert [line for line in describe(plan) if not line.startswith(" ")][1:] == [
        "receiver on-call: slack, token ***, channel #llm-oncall",
        "receiver duty: pagerduty, routing_key ***",
        "receiver am: alertmanager, url http://alertmanager:9093, headers Authorization=*** X-A=b, labels a=b",
        "receiver hook: webhook, url ***, secret ***",
        "receiver mail: apprise, url ***",
        "receiver room: slack_webhook, url ***",
        "receiver team: webhook, url ***",
        (
            "route 1: pipeline=chat probe=quick check=reachable hop=vllm severity=critical env=prod to on-call; "
            "3 of 5 fail, 4 pass in a row, not over before 60.0 s, blind after 6 unknown, again every 4 h, "
            "duty after 30 min, then the next routes"
        ),
        "route 2: everything to team; 2 of 2 fail, 2 pass in a row, blind after 5 unknown",
        "route 3: env=prod to team; 2 of 3 fail, 2 pass in a row, blind after 5 unknown",
        "maintenance again: env=prod, at 0 3 * * sun in Europe/Berlin for 2 h",
        "maintenance once: everything, 2026-12-01T03:00:00+01:00 to 2026-12-01T04:30:00+00:00",
        (
            f"daemon: listens at [::]:80 with a token, history in {GOOD.absolute()}/data/canary.db, up to 1.5 days, "
            "10 runs and 2.15 GB of transcripts, heartbeat every 30.0 s, own network told by 1.1.1.1:443, "
            "prompts and answers in messages"
        ),
    ]
    assert "  probe tiny-budget: at */30 8-18 * * mon-fri in Asia/Seoul, deadline 5 min" in describe(plan)
    assert "  probe quick: every 5 min ± 10.0 s, deadline 5 min" in describe(plan)


def test_of_a_server_the_user_is_not_shown(tmp_path: Path, env: dict[str, str]):
    text = 'storage: {url: "postgresql://u:${env:PASSWORD}@db:5433/c?ssl=require"}'
    line = describe(load_plan([write(tmp_path, a=text)], env=env))[-1]
    assert "history in postgresql://db:5433/c, up to 90 days" in line


@pytest.mark.parametrize(
    "url",
    [
        "sqlite:///canary.db",
        "sqlite:////var/lib/canary/a b.db",
        "postgresql://db/canary",
        "postgresql://u:${env:PASSWORD}@db:5433/canary?sslmode=require",
        "postgresql://u:${env:PASSWORD}@[::1]/canary",
        "${env:DATABASE}",
    ],
)
def test_the_store_takes_every_url_that_a_config_may_say(tmp_path: Path, env: dict[str, str], url: str):
    env = env | {"DATABASE": "postgresql://u:p%40w@db/canary"}
    plan = load_plan([write(tmp_path, a=f'storage: {{url: "{url}"}}')], env=env)
    assert url_of(plan.service.storage.url.reveal()).database

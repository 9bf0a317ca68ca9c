"""What the commands that look back take of a config: no secret, no certificate, and nothing that they do not use."""

from copy import deepcopy

import pytest
import yaml

from canary.config.errors import ConfigError
from canary.config.load import load_plan
from canary.config.look_back import load_storage, load_telling
from canary.core.route import Receiver

URL = "http://vllm.example/v1/chat/completions"
SECRETS = {
    "ENV": "${env:UNSET}",
    "FILE": "${file:/run/secrets/not-there}",
}
PLAIN = {
    "pipelines": [
        {
            "name": "chat",
            "labels": {"team": "a"},
            "hops": [
                {"name": "ui", "timeouts": [{"preset": "nginx"}]},
                {"name": "vllm", "url": URL, "model": "m"},
            ],
            "defaults": {"every": "5m"},
            "probes": [{"use": "reasoning-heavy", "checks": ["answer"]}],
        }
    ],
    "receivers": [
        {"name": "on-call", "pagerduty": {"routing_key": "${env:KEY}"}},
        {"name": "team", "slack": {"token": "${env:KEY}", "channel": "C1"}},
    ],
    "routes": [
        {"match": {"team": "a"}, "receiver": "on-call", "fail": "2 of 3", "continue": True},
        {"match": {}, "receiver": "team"},
    ],
    "maintenance": [{"name": "night", "cron": "0 3 * * *", "duration": "1h", "match": {"hop": "vllm"}}],
    "storage": {"url": "sqlite:///c.db"},
}


def changed(path, value):
    config = deepcopy(PLAIN)
    *parents, last = path
    place = config
    for part in parents:
        place = place[part]
    place[last] = value
    return config


@pytest.fixture
def file(tmp_path):
    def write(config):
        path = tmp_path / "canary.yaml"
        path.write_text(yaml.safe_dump(config), encoding="utf-8")
        return path

    return write


def problems(load, path):
    with pytest.raises(ConfigError) as caught:
        load([path], env={})
    return [str(problem) for problem in caught.value.problems]


HOP = ("pipelines", 0, "hops", 1)
ASKING = {
    "auth": (*HOP, "auth"),
    "headers": (*HOP, "headers"),
    "body": (*HOP, "body"),
    "model": (*HOP, "model"),
    "tls": (*HOP, "tls"),
    "proxy": (*HOP, "proxy"),
    "metrics_url": (*HOP, "metrics_url"),
    "headers of all hops": ("pipelines", 0, "defaults", "headers"),
    "a receiver": ("receivers", 0, "webhook"),
    "listen": ("listen",),
    "heartbeat": ("heartbeat",),
    "own_network": ("own_network",),
}
SHAPES = {
    "auth": lambda secret: {"bearer": secret},
    "headers": lambda secret: {"X-Key": secret},
    "headers of all hops": lambda secret: {"X-Key": secret},
    "body": lambda secret: {"user": secret},
    "tls": lambda secret: {"ca_file": secret},
    "a receiver": lambda secret: {"url": secret},
    "listen": lambda secret: {"token": secret},
    "heartbeat": lambda secret: {"url": secret},
    "own_network": lambda secret: {"address": secret},
}


@pytest.mark.parametrize("secret", SECRETS.values(), ids=SECRETS)
@pytest.mark.parametrize("place", ASKING)
def test_what_only_asking_and_telling_need_may_be_unset(file, place, secret):
    value = SHAPES.get(place, lambda text: text)(secret)
    config = changed(ASKING[place], value)
    if place == "a receiver":
        del config["receivers"][0]["pagerduty"]
    path = file(config)
    assert any(secret in problem for problem in problems(load_plan, path))
    assert load_storage([path], env={}).url.reveal() == f"sqlite:///{path.parent}/c.db"
    assert [pipeline.name for pipeline in load_telling([path], env={}).pipelines] == ["chat"]


def test_certificates_of_others_are_not_opened(file):
    path = file(changed((*HOP, "tls"), {"ca_file": "/root/not/for/us.pem"}))
    assert len(load_telling([path], env={}).pipelines) == 1
    assert "us.pem" in problems(load_plan, path)[0]


def test_who_is_told_is_what_the_daemon_says(file):
    path = file(PLAIN)
    whole, telling = load_plan([path], env={"KEY": "k" * 32}), load_telling([path], env={})
    assert telling.routes == whole.routes
    assert telling.maintenance == whole.maintenance
    assert telling.receivers == tuple(
        Receiver(name=each.name, kind=each.kind, options=None, edits=each.edits) for each in whole.receivers
    )
    (mine,), (theirs,) = telling.pipelines, whole.pipelines
    assert (mine.name, mine.labels, mine.assignments) == (theirs.name, theirs.labels, theirs.assignments)
    assert [(hop.name, hop.url) for hop in mine.hops] == [(hop.name, hop.url) for hop in theirs.hops]


@pytest.mark.parametrize(
    ("path", "value", "found"),
    [
        pytest.param((*HOP, "url"), "${env:UNSET}", "hops[1].url", id="a hop's URL, which decides the page"),
        pytest.param((*HOP, "name"), "${env:UNSET}", "hops[1].name", id="a hop's name"),
        pytest.param(("receivers", 0, "name"), "${env:UNSET}", "receivers[0].name", id="a receiver's name"),
        pytest.param(("routes", 1, "hold"), "${env:UNSET}", "routes[1].hold", id="a policy"),
        pytest.param(("routes", 1, "receiver"), "nobody", "the unknown receiver", id="a receiver that is not there"),
        pytest.param(("receivers", 0, "webhook"), {"url": "x"}, "in one receiver", id="two ways"),
        pytest.param(("receivers", 0), {"name": "on-call"}, "without a way", id="no way"),
        pytest.param(("receivers", 1, "name"), "on-call", "a second receiver", id="a name twice"),
        pytest.param(("receivers",), "on-call", "receivers", id="no list"),
        pytest.param(("pipelines", 0, "hops"), {"a": 1}, "hops", id="no list of hops"),
        pytest.param(("pipelines", 0, "probes", 0, "use"), "nope", "nope", id="an unknown probe"),
    ],
)
def test_what_decides_who_is_told_must_hold(file, path, value, found):
    said = problems(load_telling, file(changed(path, value)))
    assert any(found in problem for problem in said)


@pytest.mark.parametrize("key", ["pipelines", "receivers", "routes", "no_such_key"])
def test_to_find_the_store_nothing_else_must_hold(file, key):
    path = file(changed((key,), 7))
    assert load_storage([path], env={}).url.reveal().endswith("/c.db")


@pytest.mark.parametrize("secret", SECRETS.values(), ids=SECRETS)
def test_the_store_itself_needs_its_secret(file, secret):
    (problem,) = problems(load_storage, file(changed(("storage", "url"), f"postgresql://me:{secret}@db/canary")))
    assert "storage.url" in problem
    assert secret in problem


def test_the_store_is_said_in_one_file(file, tmp_path):
    other = tmp_path / "other.yaml"
    other.write_text("storage: {url: 'sqlite:///d.db'}", encoding="utf-8")
    path = file(PLAIN | {"include": ["other.yaml"]})
    with pytest.raises(ConfigError, match="another storage"):
        load_storage([path], env={})


def test_an_included_file_says_where_the_store_is(file, tmp_path):
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner" / "other.yaml").write_text("storage: {url: 'sqlite:///d.db'}", encoding="utf-8")
    config = {key: value for key, value in PLAIN.items() if key != "storage"} | {"include": ["inner/other.yaml"]}
    assert load_storage([file(config)], env={}).url.reveal() == f"sqlite:///{tmp_path}/inner/d.db"

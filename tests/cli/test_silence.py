"""`canary silence add|list|end`."""

import asyncio
import getpass
import json
from datetime import datetime, timedelta

import pytest

from canary.cli.errors import UsageError
from canary.cli.silence import matched
from canary.cli.stored import the_one, user_name
from canary.cli.when import now
from canary.core.finding import Severity
from canary.core.route import Match, Silence
from tests.fakes.stored import NOON
from tests.fakes.stored_runs import filled, storage_at


@pytest.fixture
def store(tmp_path):
    """The URL of an empty store that is there."""
    storage = storage_at(tmp_path / "canary.db")

    async def make():
        async with filled(storage, []):
            pass

    asyncio.run(make())
    return storage.url.reveal()


def add(canary, store, *options):
    said = canary("silence", "add", *options, "--storage", store)
    assert said.code == 0, said.err
    return said.out.strip()


def listed(canary, store):
    said = canary("silence", "list", "--storage", store, "--json")
    assert said.code == 0, said.err
    return [json.loads(line) for line in said.out.splitlines()]


def test_add_list_end(canary, store):
    before = now()
    options = ["--pipeline", "chat", "--probe", "ask", "--check", "budget", "--hop", "vllm", "--severity", "WARNING"]
    options += ["--label", "env=prod", "--label", "team=a=b", "--for", "2h", "--comment", "deploy", "--author", "kim"]
    made = add(canary, store, *options)
    (silence,) = listed(canary, store)
    assert silence["id"] == made
    assert silence["match"] == {
        "pipeline": "chat",
        "probe": "ask",
        "check": "budget",
        "hop": "vllm",
        "severity": "warning",
        "labels": {"env": "prod", "team": "a=b"},
    }
    assert (silence["author"], silence["comment"]) == ("kim", "deploy")
    begun, over = (datetime.fromisoformat(silence[name]) for name in ("starts_at", "ends_at"))
    assert before <= begun <= now()
    assert abs(over - begun - timedelta(hours=2)) < timedelta(seconds=5)

    text = canary("silence", "list", "--storage", store).out
    assert f"{made}  pipeline chat, probe ask, check budget, hop vllm, severity warning, env=prod, team=a=b" in text
    assert "by kim: deploy" in text

    other = add(canary, store, "--check", "blind", "--for", "10m")
    said = canary("silence", "end", made, "--storage", store)
    assert said.out.startswith(f"ended {made}: pipeline chat")
    assert [each["id"] for each in listed(canary, store)] == [other]
    assert canary("silence", "end", made, "--storage", store).code == 3


def test_the_author_is_who_typed_it(canary, store):
    add(canary, store, "--check", "answer", "--for", "1h")
    assert [each["author"] for each in listed(canary, store)] == [getpass.getuser()]


@pytest.mark.parametrize(
    ("env", "uid", "name"),
    [
        pytest.param({"LOGNAME": "kim", "USER": "lee"}, 0, "kim", id="as the shell says it"),
        pytest.param({"LOGNAME": "", "USER": "lee"}, 0, "lee", id="su"),
        pytest.param({}, 0, "root", id="as the machine knows them"),
        pytest.param({}, 2_000_000_001, "user 2000000001", id="a container that is told a number"),
    ],
)
def test_who_typed_it(env, uid, name):
    assert user_name(env, uid) == name


def test_no_silence(canary, store):
    assert canary("silence", "list", "--storage", store).out == "no silence holds now\n"
    assert listed(canary, store) == []
    said = canary("silence", "end", "ab", "--storage", store)
    assert said.code == 3
    assert "no single silence 'ab' holds now; there are none" in said.err


def test_an_end_that_fits_several_ends_none():
    silences = [
        Silence(id=each, match=Match(), starts_at=NOON, ends_at=NOON, author="kim") for each in ("ab1", "ab2", "b")
    ]
    assert the_one("silence", silences, "b").id == "b"
    with pytest.raises(UsageError, match="no single silence 'ab' holds now; there are ab1, ab2"):
        the_one("silence", silences, "ab")


@pytest.mark.parametrize("count", [1, 2])
def test_an_end_of_nothing_ends_none(canary, store, count):
    """As a shell says it whose variable is not set: also where there is only one."""
    made = [add(canary, store, "--check", "answer", "--for", "1h") for _ in range(count)]
    said = canary("silence", "end", "", "--storage", store)
    assert said.code == 3
    assert all(each in said.err for each in made)
    assert len(listed(canary, store)) == count


@pytest.mark.parametrize(
    ("options", "error"),
    [
        pytest.param(["--for", "2h"], "this would silence everything; name a pipeline", id="everything"),
        pytest.param(
            ["--check", "buget", "--for", "2h"], "--check: there is no check 'buget'; there are reachable", id="check"
        ),
        pytest.param(["--check", "answer", "--for", "soon"], "--for", id="no duration"),
        pytest.param(["--check", "answer", "--for", "0s"], "more than 0", id="no time at all"),
        pytest.param(["--label", "prod", "--for", "2h"], "expected NAME=VALUE, like env=prod", id="label"),
        pytest.param(["--check", "answer"], "--for", id="for ever"),
    ],
)
def test_what_is_no_silence(canary, store, options, error):
    said = canary("silence", "add", *options, "--storage", store)
    assert (said.code, said.out) == (3, "")
    assert error in said.err
    assert listed(canary, store) == []


def test_it_is_seen_by_a_daemon_that_runs(canary, tmp_path):
    storage = storage_at(tmp_path / "canary.db")

    async def live():
        async with filled(storage, []) as store:
            said = await asyncio.to_thread(
                canary, "silence", "add", "--hop", "vllm", "--for", "1h", "--storage", storage.url.reveal()
            )
            return said, await store.silences(now())

    said, seen = asyncio.run(live())
    assert [each.id for each in seen] == [said.out.strip()]


def test_what_people_typed_is_shown_and_not_obeyed(canary, store):
    add(canary, store, "--pipeline", "p\x1b[2J", "--for", "1h", "--comment", "c\u202e\x9b", "--author", "a\x1b")
    for options in ((), ("--json",)):
        said = canary("silence", "list", "--storage", store, *options)
        assert not set(said.out) & {"\x1b", "\x9b", "\u202e"}


def test_a_match_in_words():
    assert matched(Match(severity=Severity.CRITICAL, labels={"env": "prod"})) == "severity critical, env=prod"
    assert matched(Match()) == "everything"

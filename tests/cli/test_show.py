"""`canary show RUN`: a stored run, as it looked when it was made."""

import asyncio
import json
import sqlite3
from dataclasses import replace
from io import StringIO

import pytest
from rich.console import Console

from canary.cli.probe import run_record
from canary.cli.waterfall import show_run
from canary.core.verdict import Status, Verdict
from tests.fakes.stored_runs import HOPS, filled, storage_at

HOSTILE = "\x1b[2J\x9b31m\u202egnp [red]x[/red]"


def stored(path, runs, **more):
    """The URL of a store with these runs."""
    storage = storage_at(path / "canary.db", **more)

    async def fill():
        async with filled(storage, runs):
            pass

    asyncio.run(fill())
    return storage.url.reveal()


def picture(run):
    """What `canary probe` shows of it, without the headline."""
    console = Console(file=StringIO(), width=80, highlight=False)
    show_run(console, run)
    return console.file.getvalue().split("\n", 1)[1]


@pytest.fixture
def bare_store(made_runs, tmp_path):
    """A store whose transcripts are pruned."""
    url = stored(tmp_path, made_runs)
    with sqlite3.connect(tmp_path / "canary.db") as connection:
        connection.execute("DELETE FROM transcripts")
    return url


@pytest.mark.parametrize("index", range(5))
def test_the_same_picture_as_when_it_was_made(canary, daemon_store, made_runs, index):
    run = made_runs[index]
    said = canary("show", run.id, "--storage", daemon_store)
    assert said.code == 0, said.err
    headline, rest = said.out.split("\n", 1)
    assert headline.startswith(f"demo, {run.probe}, run {run.id}, 2026-01-31")
    assert rest == picture(run)
    assert ("curl -N" in rest) == bool(run.findings)


@pytest.mark.parametrize("index", range(5))
def test_the_same_json_as_when_it_was_made(canary, daemon_store, made_runs, index):
    run = made_runs[index]
    made, said = run_record(run), canary("show", run.id, "--storage", daemon_store, "--json").json
    said["hops"], kept = (
        [{name: hop[name] for name in made["hops"][0]} for hop in said["hops"]],
        [hop["stream_kept"] for hop in said["hops"]],
    )
    assert {name: said[name] for name in made} == json.loads(json.dumps(made))
    assert all(kept)


def test_a_unique_beginning_is_enough(canary, daemon_store):
    assert canary("show", "cc", "--storage", daemon_store, "--json").json["run"] == "ccc111"


@pytest.mark.parametrize(
    ("run", "error"),
    [
        pytest.param("aaa", "several runs begin with 'aaa': aaa111, aaa222", id="ambiguous"),
        pytest.param("zzz", "there is no run 'zzz'; the newest are eee111, ddd111, ccc111, bbb111, aaa222", id="none"),
        pytest.param("a%", "there is no run 'a%'", id="no wildcard"),
        pytest.param("\x1b[2J", "there is no run", id="control characters"),
    ],
)
def test_a_run_that_is_not_one(canary, daemon_store, run, error):
    said = canary("show", run, "--storage", daemon_store)
    assert (said.code, said.out) == (3, "")
    assert error in said.err
    assert "\x1b" not in said.err


def test_an_empty_store(canary, tmp_path):
    said = canary("show", "abc", "--storage", stored(tmp_path, []))
    assert said.code == 3
    assert "the store holds none yet" in said.err


def test_one_hop_stream_by_stream(canary, daemon_store):
    said = canary("show", "ccc111", "--hop", "gateway", "--storage", daemon_store)
    assert said.code == 0
    assert "run ccc111  gateway control" in said.out
    assert "run ccc111  gateway thinking_token_budget=32" in said.out
    assert "reasoning share" in said.out
    assert "engine control" not in said.out
    hops = canary("show", "ccc111", "--hop", "gateway", "--storage", daemon_store, "--json").json["hops"]
    assert [(hop["hop"], hop["variant"]) for hop in hops] == [
        ("gateway", "control"),
        ("gateway", "thinking_token_budget=32"),
    ]


def test_a_hop_that_was_not_asked(canary, daemon_store):
    said = canary("show", "aaa111", "--hop", "vllm", "--storage", daemon_store)
    assert said.code == 3
    assert f"run aaa111 did not ask 'vllm'; it asked {', '.join(HOPS)}" in said.err


def test_without_streams_the_numbers_and_verdicts_remain(canary, bare_store):
    said = canary("show", "bbb111", "--storage", bare_store)
    assert said.code == 0, said.err
    assert "streams not kept, numbers only: ui, edge, agent, gateway, engine" in " ".join(said.out.split())
    assert "█ visible" not in said.out
    assert "CRITICAL reachable server_error, between gateway and engine" in said.out
    assert "curl" not in said.out
    table = said.out.split("first token", 1)[1].split("CRITICAL")[0].splitlines()[1:]
    assert [line.split()[0] for line in table if line.strip()] == list(HOPS)
    assert [line.split()[2] for line in table if line.strip()] == ["never"] * 4 + [table[4].split()[2]]
    record = canary("show", "bbb111", "--storage", bare_store, "--json").json
    assert [hop["stream_kept"] for hop in record["hops"]] == [False] * 5
    assert [finding["curl"] for finding in record["findings"]] == [None]


def test_one_hop_without_its_stream(canary, bare_store):
    said = canary("show", "aaa111", "--hop", "engine", "--storage", bare_store)
    assert "its stream was not kept" in said.out
    assert "first visible" in said.out
    assert "PASS" in said.out


def test_a_stream_that_was_kept_in_part_says_so(canary, made_runs, tmp_path):
    url = stored(tmp_path, [made_runs[1]], transcript_bytes=4000)
    said = canary("show", "aaa222", "--storage", url)
    assert said.code == 0, said.err
    assert "engine: kept" in said.out
    assert "the exchange went on and ended after" in " ".join(said.out.split())
    assert "the picture is not all: kept" in canary("show", "aaa222", "--hop", "engine", "--storage", url).out
    measured = canary("show", "aaa222", "--storage", url, "--json").json["hops"][0]["measurement"]
    assert measured["end"]["kind"] == "completed"  # the numbers are those of the whole stream
    assert measured["total_s"] == round(made_runs[1].results[0].measurement.total_s, 6)


def test_a_run_that_was_cut_short(canary, daemon_store):
    said = canary("show", "eee111", "--storage", daemon_store)
    assert said.code == 0
    assert "cut short (shutdown): nothing follows from it" in said.out
    assert "nothing was judged" in said.out
    assert "pass" not in said.out


def test_verbose_shows_what_passes(canary, daemon_store):
    assert "all" in canary("show", "aaa111", "--storage", daemon_store).out
    assert "PASS    engine" in canary("show", "aaa111", "-v", "--storage", daemon_store).out


def test_stored_text_is_shown_and_not_obeyed(canary, made_runs, tmp_path):
    verdict = Verdict(check="reachable", status=Status.FAIL, reason="rejected", message=HOSTILE)
    first = made_runs[1].results[0]
    exchange = replace(first.observation.exchange, request={"messages": HOSTILE}, url=f"http://h/{HOSTILE}")
    results = [
        replace(
            result,
            verdicts=(verdict,),
            observation=replace(result.observation, exchange=exchange),
            measurement=replace(result.measurement, finish_reason=HOSTILE),
        )
        for result in made_runs[1].results
    ]
    finding = replace(made_runs[1].findings[0], message=HOSTILE, origin=first.hop, variant=first.variant)
    run = replace(made_runs[1], pipeline=HOSTILE, results=tuple(results), findings=(finding,))
    url = stored(tmp_path, [run])
    for options in ((), ("--hop", "engine"), ("--json",)):
        said = canary("show", "aaa222", "--storage", url, *options)
        assert said.code == 0, said.err
        assert "gnp" in said.out
        assert not set(said.out) & {"\x1b", "\x9b", "\u202e"}

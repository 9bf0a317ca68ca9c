"""`canary history`: one line a run."""

import asyncio
import json
from dataclasses import replace
from datetime import timedelta

import pytest

from canary.cli.when import now
from canary.core.conclusion import Conclusion
from canary.core.finding import Finding, Severity
from tests.fakes.stored_runs import filled, storage_at

DAY = ("--since", "2026-01-31T00:00Z")
HOSTILE = "\x1b[2J\x9b31m\u202egnp\n"


def ids(said):
    return [json.loads(line)["run"] for line in said.out.splitlines()]


def test_one_line_a_run_newest_last(canary, daemon_store):
    said = canary("history", *DAY, "--storage", daemon_store)
    assert said.code == 0, said.err
    lines = said.out.splitlines()
    assert [line.split()[2] for line in lines] == ["aaa111", "aaa222", "bbb111", "ccc111", "ddd111", "eee111"]
    assert [line.split()[3] for line in lines] == ["PASS", "FAIL", "FAIL", "FAIL", "PASS", "UNKNOWN"]
    assert "streaming reasoning_stripped (reasoning), between agent and gateway" in lines[1]
    assert "never" in lines[2]
    assert "reachable server_error, between gateway and engine" in lines[2]
    assert lines[5].endswith("cut short: shutdown")
    assert len({line.index("demo") for line in lines}) == 1  # columns


@pytest.mark.parametrize(
    "options",
    [
        pytest.param(["\udcff"], id="a name in no encoding"),
        pytest.param(["--most", "1000000"], id="as many as may be asked for"),
    ],
)
def test_what_no_database_takes_is_asked_of_none(canary, daemon_store, options):
    said = canary("history", *DAY, *options, "--storage", daemon_store)
    assert (said.code, said.err) == (0, "")


def test_more_runs_than_there_can_be(canary, daemon_store):
    said = canary("history", "--most", "9" * 20, "--storage", daemon_store)
    assert (said.code, said.out) == (3, "")
    assert "--most" in said.err


@pytest.mark.parametrize(
    ("options", "found"),
    [
        pytest.param(["demo"], ["aaa111", "aaa222", "bbb111", "ccc111", "ddd111", "eee111"], id="a pipeline"),
        pytest.param(["demo", "tiny-budget"], ["ccc111"], id="a probe"),
        pytest.param(["other"], [], id="a pipeline without runs"),
        pytest.param(["--status", "fail"], ["aaa222", "bbb111", "ccc111"], id="a status, in any case"),
        pytest.param(["--most", "2"], ["ddd111", "eee111"], id="the newest"),
        pytest.param(["--since", "2026-01-31T13:30+01:00"], ["ccc111", "ddd111", "eee111"], id="since"),
        pytest.param(["--until", "2026-01-31T12:20Z"], ["aaa111", "aaa222"], id="until"),
        pytest.param(["--since", "60s"], [], id="the last minute"),
    ],
)
def test_which_runs(canary, daemon_store, options, found):
    said = canary("history", *DAY, *options, "--storage", daemon_store, "--json")
    assert (said.code, ids(said)) == (0, found)


def test_json_has_all_that_the_line_has(canary, daemon_store):
    said = canary("history", *DAY, "--status", "FAIL", "--most", "1", "--storage", daemon_store, "--json")
    row = said.json
    assert (row["run"], row["pipeline"], row["probe"], row["status"]) == ("ccc111", "demo", "tiny-budget", "FAIL")
    assert row["started_at"] == "2026-01-31T12:30:00+00:00"
    assert [finding["check"] for finding in row["findings"]] == ["budget"]


def test_it_says_that_there_is_more(canary, daemon_store):
    assert "the newest 5 since" in canary("history", *DAY, "-n", "5", "--storage", daemon_store).out
    assert "the newest" not in canary("history", *DAY, "-n", "6", "--storage", daemon_store).out


def test_no_run_is_said_and_is_no_fault(canary, daemon_store):
    said = canary("history", "--storage", daemon_store)
    assert (said.code, said.out[:17]) == (0, "no such run since")


def test_columns_that_the_command_names_are_left_out(canary, daemon_store):
    said = canary("history", "demo", "tiny-budget", *DAY, "--storage", daemon_store)
    assert "tiny-budget" not in said.out
    assert "demo" not in said.out


def test_stored_text_is_shown_and_not_obeyed(canary, made_runs, tmp_path):
    finding = Finding(
        check="reachable",
        reason=f"bad{HOSTILE}",
        origin="engine",
        severity=Severity.CRITICAL,
        message="m",
        variant="plain",
    )
    run = replace(made_runs[0], id="hostile1", pipeline=f"p{HOSTILE}", findings=(finding,))
    storage = storage_at(tmp_path / "canary.db")

    async def fill():
        async with filled(storage, [run]):
            pass

    asyncio.run(fill())
    for form in ((), ("--json",)):
        said = canary("history", *DAY, "--storage", storage.url.reveal(), *form)
        assert "hostile1" in said.out
        assert not set(said.out) & set(HOSTILE[:-1]) & {"\x1b", "\x9b", "\u202e"}
        assert len(said.out.splitlines()) == 1


def test_it_reads_while_the_daemon_writes(canary, made_runs, tmp_path):
    storage = storage_at(tmp_path / "canary.db")
    moment = now()

    async def live():
        async with filled(storage, [replace(made_runs[0], started_at=moment)]) as store:
            first = await asyncio.to_thread(canary, "history", "--storage", storage.url.reveal(), "--json")
            await store.save_run(
                replace(made_runs[1], started_at=moment + timedelta(seconds=1)), Conclusion(), quiet=True
            )
            return first, await asyncio.to_thread(
                canary, "history", "--since", "1h", "--storage", storage.url.reveal(), "--json"
            )

    first, second = asyncio.run(live())
    assert (ids(first), ids(second)) == (["aaa111"], ["aaa111", "aaa222"])

"""Runs as they come back: whole, as lines, by a prefix of their id."""

import asyncio
from dataclasses import replace

import pytest

from canary.core.observation import Interrupted
from canary.core.run import CutShort
from canary.core.verdict import Status
from canary.store import AmbiguousIdError
from canary.wire.transcript import loads
from tests.fakes.stored import BAD, GOOD, NOON, NOTHING, after, conclusion_of, result_of, run_of


async def save(store, *runs):
    for run in runs:
        await store.save_run(run, NOTHING, quiet=True)


def ids(rows):
    return [row.id for row in rows]


async def test_a_run_comes_back_as_it_was(store):
    results = (result_of(GOOD, hop="vllm"), result_of(BAD, hop="litellm", variant="thinking_budget=64"))
    run = run_of("r1", status=Status.FAIL, results=results)
    await store.save_run(run, conclusion_of(), quiet=True)

    found = await store.run("r1")

    assert [replace(each, transcript=None) for each in found.results] == [
        replace(
            found.results[0],
            hop=each.hop,
            variant=each.variant,
            measurement=each.measurement,
            verdicts=each.verdicts,
            timeouts=each.timeouts,
            transcript=None,
        )
        for each in results
    ]
    exchanges = [each.observation.exchange for each in results]
    assert [loads(each.transcript, source="store") for each in found.results] == exchanges
    assert (found.row.findings, found.row.started_at, found.row.finished_at) == (run.findings, NOON, NOON)


@pytest.mark.parametrize(
    ("run", "expected"),
    [
        pytest.param(run_of("r1"), Status.PASS, id="passed"),
        pytest.param(run_of("r1", status=Status.WARN), Status.WARN, id="warned"),
        pytest.param(run_of("r1", status=Status.FAIL), Status.FAIL, id="failed"),
        pytest.param(run_of("r1", status=Status.FAIL, cut_short=CutShort.BUG), Status.UNKNOWN, id="cut short"),
        pytest.param(run_of("r1", results=(replace(result_of(), verdicts=()),)), Status.UNKNOWN, id="no verdicts"),
    ],
)
async def test_a_line_says_how_the_run_was(store, run, expected):
    await save(store, run)
    (row,) = await store.runs()
    assert (row.status, row.cut_short) == (expected, run.cut_short)


def test_a_line_counts_what_never_came_and_keeps_the_longest_wait():
    seen = result_of("vllm-chat-budget16", hop="vllm")
    assert seen.measurement.time_to_first_visible_content_s is not None
    assert result_of(GOOD).measurement.time_to_first_visible_content_s is None


async def test_waits_and_tokens_of_a_line(store):
    seen, never = result_of("vllm-chat-budget16", hop="vllm"), result_of(GOOD, hop="litellm")
    await save(store, run_of("r1", results=(seen, never)))
    (row,) = await store.runs()
    assert row.first_visible_s == seen.measurement.time_to_first_visible_content_s
    assert row.never_visible == 1
    reported = [each.measurement.usage for each in (seen, never)]
    assert row.tokens == sum(usage.prompt_tokens + usage.completion_tokens for usage in reported)


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        pytest.param({}, ["d", "c", "b", "a"], id="all, newest first"),
        pytest.param({"most": 2}, ["d", "c"], id="the newest"),
        pytest.param({"pipeline": "chat"}, ["c", "b", "a"], id="of a pipeline"),
        pytest.param({"pipeline": "chat", "probe": "tiny"}, ["c"], id="of a probe"),
        pytest.param({"status": Status.FAIL}, ["b"], id="failed"),
        pytest.param({"since": after(minutes=1)}, ["d", "c", "b"], id="since, inclusive"),
        pytest.param({"until": after(minutes=1)}, ["a"], id="until, exclusive"),
        pytest.param({"since": after(minutes=1), "until": after(minutes=3), "pipeline": "chat"}, ["c", "b"], id="both"),
    ],
)
async def test_lines_are_found_by(store, asked, expected):
    await save(
        store,
        run_of("a"),
        run_of("b", after(minutes=1), status=Status.FAIL),
        run_of("c", after(minutes=2), probe="tiny"),
        run_of("d", after(minutes=3), pipeline="search"),
    )
    assert ids(await store.runs(**asked)) == expected


@pytest.mark.parametrize(
    ("prefix", "expected"),
    [
        pytest.param("abc-1", "abc-1", id="whole, though another begins so"),
        pytest.param("abc-12", "abc-12", id="whole"),
        pytest.param("abd", "abd-1", id="its beginning"),
        pytest.param("ABD", None, id="case matters"),
        pytest.param("", None, id="nothing asked"),
        pytest.param("zzz", None, id="none"),
        pytest.param("a%", None, id="no wildcard"),
        pytest.param("abd\0", None, id="NUL"),
        pytest.param("\udcff", None, id="half a surrogate pair"),
    ],
)
async def test_a_run_is_found_by(store, prefix, expected):
    await save(store, run_of("abc-1"), run_of("abc-12"), run_of("abd-1"))
    found = await store.run(prefix)
    assert (found and found.row.id) == expected


async def test_an_ambiguous_beginning_names_those_that_fit(store):
    await save(store, run_of("abc-1"), run_of("abc-2"), run_of("b"))
    with pytest.raises(AmbiguousIdError, match="'ab' is not unique: abc-1, abc-2"):
        await store.run("ab")


async def test_saving_again_changes_nothing(store):
    run = run_of("r1", status=Status.FAIL)
    await store.save_run(run, conclusion_of(), quiet=True)
    await store.save_run(run, conclusion_of(), quiet=False)
    await store.save_run(replace(run, pipeline="another"), conclusion_of("r2"), quiet=False)

    assert [(row.id, row.pipeline) for row in await store.runs()] == [("r1", "chat")]
    assert [len(pasts) for pasts in (await store.history("chat", "heavy")).values()] == [1, 1]
    assert len(await store.transitions()) == 1
    assert await store.queue_depth() == 1


async def test_what_we_broke_off_is_shown_and_is_no_history(store):
    broken = result_of()
    end = Interrupted(at=1.0)
    broken = replace(broken, hop="litellm", measurement=replace(broken.measurement, end=end))
    await save(store, run_of("r1", results=(result_of(), broken), cut_short=CutShort.SHUTDOWN))

    assert [each.hop for each in (await store.run("r1")).results] == ["vllm", "litellm"]
    assert list(await store.history("chat", "heavy")) == [("vllm", "plain")]


async def test_runs_at_the_same_time_are_all_stored(store):
    runs = [run_of(f"r{n:02}", after(seconds=n), probe=f"p{n % 3}") for n in range(20)]
    await asyncio.gather(*(store.save_run(run, NOTHING, quiet=True) for run in runs))
    assert ids(await store.runs()) == [run.id for run in reversed(runs)]


@pytest.mark.parametrize(
    ("pipeline", "since", "expected"),
    [
        pytest.param("chat", NOON, 2, id="all"),
        pytest.param("chat", after(minutes=1), 1, id="later ones"),
        pytest.param("chat", after(days=1), 0, id="none"),
        pytest.param("other", NOON, 0, id="another pipeline"),
    ],
)
async def test_tokens_spent(store, pipeline, since, expected):
    await save(store, run_of("a", hops=("vllm",)), run_of("b", after(minutes=1), hops=("vllm",), probe="tiny"))
    usage = result_of().measurement.usage
    each = usage.prompt_tokens + usage.completion_tokens
    assert await store.tokens_spent(pipeline, since) == expected * each

"""Which transcripts are kept; and that one which was cut still loads and tells no silence that never was."""

from dataclasses import replace

import pytest

from canary.analysis.measure import measure
from canary.core.observation import Completed, Exchange, Head, Read, StoppedByUs
from canary.core.run import CutShort
from canary.core.verdict import Status
from canary.store import StoreError
from canary.store.transcripts import Keep, compressed, decompressed, wanted
from canary.wire.decode import decode
from canary.wire.transcript import loads
from tests.fakes.exchanges import RECORDED, recorded, sse
from tests.fakes.stored import GOOD, NOON, NOTHING, finding_of, run_of


def stored(exchange, most_bytes):
    text = decompressed(compressed(exchange, most_bytes))
    return text, loads(text, source="stored")


@pytest.mark.parametrize("name", sorted(path.stem for path in RECORDED.glob("*.jsonl")))
def test_a_whole_transcript_comes_back_equal(name):
    exchange = recorded(name)
    assert stored(exchange, 2**20)[1] == exchange


@pytest.mark.parametrize("name", sorted(path.stem for path in RECORDED.glob("*.jsonl")))
@pytest.mark.parametrize("most_bytes", [1, 700, 3000, 10_000])
def test_a_cut_one_loads_and_ends_where_it_was_cut(name, most_bytes):
    exchange = recorded(name)
    text, found = stored(exchange, most_bytes)
    whole, _ = stored(exchange, 2**30)
    frame, _ = stored(replace(exchange, reads=()), most_bytes)
    assert len(text) <= max(most_bytes, len(frame)) + 200  # the frame is always there, and the note in it
    assert found.reads == exchange.reads[: len(found.reads)]
    if len(text) < len(whole) and len(found.reads) < len(exchange.reads):
        assert isinstance(found.end, StoppedByUs)
        assert f"ended after {exchange.end.at:.3f} s: {type(exchange.end).__name__}" in found.end.reason
        assert decode(found)


def test_a_cut_one_shows_no_silence_after_its_cut():
    reads = tuple(
        Read(at=float(n), data=sse({"choices": [{"index": 0, "delta": {"content": "x"}}]})) for n in range(1, 60)
    )
    head = Head(at=0.5, status=200, headers={"content-type": "text/event-stream"})
    exchange = Exchange(
        protocol="openai-chat",
        url="/",
        started_at=NOON,
        request={"stream": True},
        head=head,
        reads=reads,
        end=Completed(at=600.0),
    )
    _, found = stored(exchange, 2000)
    assert 1 < len(found.reads) < 59
    assert measure(decode(found)).silence.visible.longest_s == 1.0
    assert measure(decode(exchange)).silence.visible.longest_s == 541.0


def test_a_long_request_is_named_and_what_the_decoder_needs_stays():
    exchange = replace(recorded(GOOD), request={"stream": True, "messages": ["x" * 50_000]})
    _, found = stored(exchange, 40_000)
    assert found.request == {"not_kept": "a request of 50034 bytes", "stream": True}
    assert found.reads == exchange.reads


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(b"\xff" * 5000, id="bytes that are no text"),
        pytest.param("한국어".encode() * 500, id="text of three bytes a sign"),
        pytest.param(b'"\\\n' * 1500, id="text that JSON escapes"),
        pytest.param(bytes(range(32)) * 150, id="controls"),
    ],
)
def test_the_cap_holds_for(data):
    exchange = replace(
        recorded(GOOD), reads=tuple(Read(at=1.0 + n, data=data) for n in range(20)), end=Completed(at=99.0)
    )
    text, found = stored(exchange, 30_000)
    assert len(text.encode()) <= 30_200
    assert found.reads


@pytest.mark.parametrize("body", [b"", b"noise", compressed(recorded(GOOD), 2**20)[:-9]], ids=["none", "noise", "cut"])
def test_a_damaged_one_says_so(body):
    with pytest.raises(StoreError, match="a row of the database cannot be read: a transcript"):
        decompressed(body)


@pytest.mark.parametrize(
    ("run", "passed_every", "expected"),
    [
        pytest.param(run_of("r", status=Status.FAIL), 10**9, True, id="failed"),
        pytest.param(run_of("r", findings=(finding_of(),)), 10**9, True, id="a finding"),
        pytest.param(run_of("r", status=Status.FAIL, cut_short=CutShort.BUG), 10**9, True, id="failed before the cut"),
        pytest.param(run_of("r"), 10**9, False, id="passed"),
        pytest.param(run_of("r", status=Status.UNKNOWN), 10**9, False, id="not told"),
        pytest.param(run_of("r"), 1, True, id="all"),
    ],
)
def test_kept_are_those_of(run, passed_every, expected):
    assert wanted(run, Keep(most_bytes=1, passed_every=passed_every)) is expected


def test_of_passed_runs_about_one_in_so_many():
    keep = Keep(most_bytes=1, passed_every=50)
    assert 10 <= sum(wanted(run_of(f"run-{n}"), keep) for n in range(1000)) <= 30


async def test_the_store_keeps_those_of_failed_runs_of_all_hops(opened):
    store = await opened(passed_transcript_every=10**9, transcript_bytes=3000)
    await store.save_run(run_of("failed", status=Status.FAIL), NOTHING, quiet=True)
    await store.save_run(run_of("passed"), NOTHING, quiet=True)
    assert [each.transcript for each in (await store.run("passed")).results] == [None, None]
    for each in (await store.run("failed")).results:
        assert 0 < len(loads(each.transcript, source="stored").reads) < len(recorded(GOOD).reads)

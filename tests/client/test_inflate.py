from __future__ import annotations

import gzip
import subprocess
import sys
import zlib
from contextlib import suppress

import brotli
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from canary.client.inflate import CODINGS, CannotInflateError, CorruptBodyError, RoomExceededError, coding
from canary.client.target import Limits
from canary.core.observation import Completed, Disconnected, StoppedByUs, Truncated
from tests.fakes.llm_server import LAST_CHUNK, Cut, LlmServer, chunk, head, whole

TEXT = b"".join(b'data: {"n": %d}\n\n' % n for n in range(50))


def raw_deflate(data: bytes) -> bytes:
    state = zlib.compressobj(wbits=-15)
    return state.compress(data) + state.flush()


PACKERS = {
    "identity": bytes,
    "gzip": gzip.compress,
    "x-gzip": gzip.compress,
    "deflate": zlib.compress,
    "br": brotli.compress,
    "zstd": zstandard.compress,
}
QUICK_PACKERS = PACKERS | {"br": lambda data: brotli.compress(data, quality=1)}
PACKED = [pytest.param(name, pack(TEXT), id=name) for name, pack in PACKERS.items()] + [
    pytest.param("deflate", raw_deflate(TEXT), id="raw deflate"),
    pytest.param("gzip", gzip.compress(TEXT[:100]) + gzip.compress(TEXT[100:]), id="two gzip members"),
    pytest.param("zstd", zstandard.compress(TEXT[:100]) + zstandard.compress(TEXT[100:]), id="two zstd frames"),
    pytest.param("gzip", gzip.compress(TEXT) + bytes(10), id="gzip and padding"),
    pytest.param("deflate, gzip", gzip.compress(zlib.compress(TEXT)), id="one inside the other"),
    pytest.param("", TEXT, id="no header"),
]


def test_every_coding_has_a_test():
    assert CODINGS.keys() == PACKERS.keys()


@pytest.mark.parametrize(("name", "packed"), PACKED)
@pytest.mark.parametrize("size", [1, 7, 100_000])
def test_any_chunking_gives_the_same(name, packed, size):
    state = coding(name)
    parts = [packed[start : start + size] for start in range(0, len(packed), size)]
    assert b"".join(state.feed(part, 100_000) for part in parts) == TEXT
    assert not state.unfinished


@pytest.mark.parametrize("name", ["gzip", "deflate", "br", "zstd"])
def test_unfinished_until_the_last_byte(name):
    packed, state = PACKERS[name](TEXT), coding(name)
    assert not state.unfinished  # nothing came, nothing is owed: a 204
    state.feed(packed[:1], 100_000)
    assert state.unfinished
    state.feed(packed[1:-1], 100_000)
    assert state.unfinished


@pytest.mark.parametrize("name", ["gzip", "deflate", "br", "zstd"])
def test_a_bomb_costs_no_memory(name):
    bomb = QUICK_PACKERS[name](bytes(100_000_000))
    script = (
        "import resource, sys\n"
        "from canary.client.inflate import coding, RoomExceededError\n"
        "state = coding(sys.argv[1]); data = sys.stdin.buffer.read()\n"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "try: state.feed(data, 1_000_000)\n"
        "except RoomExceededError: print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)\n"
    )
    grown_kib = subprocess.run([sys.executable, "-c", script, name], input=bomb, capture_output=True, check=True).stdout
    assert int(grown_kib) < 64_000  # zstd and br hold a window of up to 8 and 16 MiB


@pytest.mark.parametrize("name", ["gzip", "deflate", "br", "zstd"])
def test_as_much_as_there_is_room_for(name):
    packed = PACKERS[name](TEXT)
    assert coding(name).feed(packed, len(TEXT)) == TEXT
    with pytest.raises(RoomExceededError):
        coding(name).feed(packed, len(TEXT) - 1)


@pytest.mark.parametrize("name", ["gzip", "deflate", "br", "zstd"])
def test_bytes_of_another_coding_are_corrupt(name):
    with pytest.raises(CorruptBodyError):
        coding(name).feed(b'data: {"plain": "text under a wrong header"}\n\n' * 10, 100_000)


@given(name=st.sampled_from(["gzip", "deflate", "br", "zstd"]), data=st.binary(max_size=200))
def test_no_bytes_raise_anything_else(name, data):
    with suppress(CorruptBodyError, RoomExceededError):
        coding(name).feed(data, 10_000)


def test_an_unknown_coding():
    with pytest.raises(CannotInflateError, match="'compress': unknown"):
        coding("gzip, compress")


@pytest.mark.parametrize(("name", "library"), [("br", "brotli"), ("zstd", "zstandard")])
def test_a_missing_library_is_named(name, library):
    script = (
        f"import sys; sys.modules[{library!r}] = None\n"
        "from canary.client.inflate import coding, CannotInflateError\n"
        f"try: coding({name!r})\n"
        "except CannotInflateError as error: print(error)\n"
    )
    said = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True, text=True).stdout
    assert said == f"cannot read content coding {name!r}: {library} is not installed (extra: compression)\n"


class TestOnTheWire:
    def sse_head(self, encoding: str) -> bytes:
        return head(content_type="text/event-stream", transfer_encoding="chunked", content_encoding=encoding)

    async def test_each_read_is_inflated_by_itself(self, ask):
        state = zlib.compressobj(wbits=31)
        first = state.compress(b"a") + state.flush(zlib.Z_SYNC_FLUSH)
        parts = [first[:10], first[10:], state.compress(b"b" * 9) + state.flush()]  # gzip's own header is 10 bytes
        steps = [(0.03, chunk(part)) for part in parts]
        async with LlmServer([(0, self.sse_head("gzip")), *steps, (0.03, LAST_CHUNK)]) as server:
            asked = await ask(server.url, accept_encoding="gzip, br")
            assert server.requests[0].headers["accept-encoding"] == "gzip, br"
        assert [read.data for read in asked.exchange.reads] == [
            b"",
            b"a",
            b"b" * 9,
        ]  # no output yet is still a sign of life
        assert isinstance(asked.exchange.end, Completed)

    @pytest.mark.parametrize(("name", "packed"), PACKED[:6])
    async def test_a_whole_body(self, ask, name, packed):
        async with LlmServer([(0, whole(packed, content_encoding=name))]) as server:
            asked = await ask(server.url)
        assert (asked.body, type(asked.exchange.end)) == (TEXT, Completed)

    @pytest.mark.parametrize("last", [LAST_CHUNK, Cut.FIN], ids=["http is complete", "http is not"])
    async def test_a_truncated_gzip(self, ask, last):
        async with LlmServer(
            [(0, self.sse_head("gzip")), (0, chunk(gzip.compress(TEXT)[:-6])), (0.02, last)]
        ) as server:
            asked = await ask(server.url)
        assert (asked.body, type(asked.exchange.end)) == (TEXT, Truncated)

    async def test_a_bomb_meets_the_cap(self, ask):
        limits = Limits(deadline_s=20, max_bytes=10_000, connect_timeout_s=10)
        async with LlmServer([(0, whole(gzip.compress(bytes(1_000_000)), content_encoding="gzip"))]) as server:
            end = (await ask(server.url, limits=limits)).exchange.end
        assert (type(end), end.reason) == (StoppedByUs, "byte cap of 10000 bytes")

    async def test_a_corrupt_body(self, ask):
        async with LlmServer([(0, whole(b"not gzip at all", content_encoding="gzip"))]) as server:
            end = (await ask(server.url)).exchange.end
        assert isinstance(end, Disconnected)
        assert end.detail.startswith("corrupt body: ")

    async def test_a_coding_that_we_cannot_read_is_our_limit(self, ask):
        async with LlmServer([(0, whole(b"x", content_encoding="compress"))]) as server:
            exchange = (await ask(server.url)).exchange
        assert (type(exchange.end), exchange.end.reason) == (
            StoppedByUs,
            "cannot read content coding 'compress': unknown",
        )
        assert exchange.head.status == 200

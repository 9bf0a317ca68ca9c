import asyncio
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from canary.demo.stream import Cut, EndKind, blocks, pieces, read_all, timed

WIRE = b'data: {"a":1}\n\n: ping\n\ndata: [DONE]\n\nrest'


@given(st.lists(st.integers(0, len(WIRE)), max_size=6))
def test_blocks_do_not_depend_on_the_reads(cuts):
    edges = [0, *sorted(cuts), len(WIRE)]
    reads = [WIRE[a:b] for a, b in pairwise(edges)]

    async def split():
        return [block async for block in blocks(pieces(*reads))]

    expected = [b'data: {"a":1}\n\n', b": ping\n\n", b"data: [DONE]\n\n", b"rest"]
    assert expected == asyncio.run(split())


async def test_a_passed_deadline_loses_no_piece():
    go = asyncio.Event()

    async def slow():
        await go.wait()
        yield b"late"

    seen = []
    async for piece in timed(slow(), lambda: 0.0):
        seen.append(piece)
        go.set()
    assert (seen[0], seen[-1]) == (None, b"late")
    assert seen.count(b"late") == 1


async def test_leaving_a_timed_stream_closes_what_it_reads():
    closed = asyncio.Event()

    async def endless():
        try:
            yield b"one"
            await asyncio.Event().wait()
        finally:
            closed.set()

    stream = timed(endless(), lambda: 0.0)
    async for piece in stream:
        if piece is None:
            break
    await stream.aclose()
    assert closed.is_set()


async def test_a_cut_passes_through_the_stages():
    async def broken():
        yield b"one\n\n"
        raise Cut(EndKind.RST)

    with pytest.raises(Cut, match="rst"):
        await read_all(blocks(broken()))

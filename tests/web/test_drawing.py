"""When the past of a pipeline is read and drawn, and when it is taken as it was drawn last."""

import asyncio
from dataclasses import replace
from datetime import timedelta

import pytest

from canary.core.conclusion import Conclusion
from canary.core.deploy import Deploy
from canary.core.secret import Secret
from canary.core.service import Storage
from canary.core.span import Counts, Span, floor
from canary.engine.records import records_of
from canary.store import open_store
from canary.web.drawing import drawing_of, sight_of
from canary.web.recent import Recent
from canary.web.records import Records
from canary.web.words import Words
from tests.fakes.snapshots import NOW, incident, page, pipeline
from tests.fakes.stored import run_of

EN = Words(language="en")
FIRST = pipeline()


class Scripted:
    """A store whose answers can be replaced, and which counts what takes long."""

    def __init__(self):
        self.runs, self.pages, self.deploys, self.read = (), (), (), 0
        self.while_read = None

    def records(self):
        async def days(*_):
            self.read += 1
            return ()

        async def spans(_pipeline, _probe, span, _since):
            if self.while_read:
                self.while_read()
            return (Span(hop="vllm", at=span.starts(NOW)[-1], counts=Counts(passed=1), never=len(self.runs)),)

        async def of(name):
            return getattr(self, name)

        return Records(
            days=days,
            spans=spans,
            pages=lambda *_: of("pages"),
            runs=lambda *_: of("runs"),
            deploys=lambda *_: of("deploys"),
            run=lambda *_: of("nothing"),
            case=lambda *_: of("nothing"),
        )


@pytest.fixture
def stored():
    return Scripted()


@pytest.fixture
def draw(stored):
    kept, rendering, records = Recent(4), asyncio.Lock(), stored.records()

    async def drawn(pipeline=FIRST, *, probe=None, span="24h", now=NOW, words=EN):
        return await drawing_of(sight_of(pipeline, probe, span, now, words), records, kept, rendering)

    return drawn


def never(drawing):
    """How many answers without visible text the chart of the engine shows."""
    return drawing.view.hops[-1].charts[0].never


async def test_nothing_new_is_not_read_again(draw, stored):
    assert await draw() is await draw(now=floor(NOW, timedelta(minutes=1)) + timedelta(seconds=59))
    assert stored.read == 1


@pytest.mark.parametrize(
    ("name", "found"),
    [
        pytest.param("runs", ("r1",), id="a run"),
        pytest.param("pages", (page(incident("chat")),), id="a page"),
        pytest.param("deploys", (Deploy(at=NOW, text="x"),), id="a deploy"),
    ],
)
async def test_what_is_new_is_drawn(draw, stored, name, found):
    before = await draw()
    setattr(stored, name, found)
    after = await draw()
    assert after is not before
    assert getattr(after.known, name) == found
    assert await draw() is after


@pytest.mark.parametrize(
    "more",
    [
        pytest.param({"now": NOW + timedelta(minutes=1)}, id="the next minute"),
        pytest.param({"now": NOW - timedelta(minutes=1)}, id="a clock that was set back"),
        pytest.param({"pipeline": pipeline(hops=("edge", "vllm"))}, id="another config"),
        pytest.param({"span": "7d"}, id="another range"),
        pytest.param({"words": Words(language="ko")}, id="another language"),
    ],
)
async def test_what_is_asked_for_is_drawn(draw, stored, more):
    before = await draw(pipeline(hops=("edge", "litellm", "vllm")))
    assert await draw(**{"pipeline": pipeline(hops=("edge", "litellm", "vllm")), **more}) is not before
    assert stored.read == 2


async def test_a_run_that_comes_while_the_past_is_read_is_seen_by_the_next_who_asks(draw, stored):
    def come():
        stored.while_read, stored.runs = None, ("r1",)

    stored.while_read = come
    assert (await draw()).known.runs == ()
    assert (await draw()).known.runs == ("r1",)
    assert never(await draw()) == 1


async def test_each_run_that_the_store_takes_is_drawn(tmp_path):
    kept, rendering = Recent(4), asyncio.Lock()
    async with open_store(Storage(url=Secret(f"sqlite:///{tmp_path}/c.db"))) as store:
        sight, seen = sight_of(FIRST, None, "24h", NOW, EN), []
        for number in range(4):
            at = NOW - timedelta(seconds=number)  # not in the order of their beginnings
            await store.save_run(run_of(f"r{number}", at), Conclusion(), quiet=True)
            drawing = await drawing_of(sight, records_of(store), kept, rendering)
            assert await drawing_of(sight, records_of(store), kept, rendering) is drawing
            seen.append(
                sum(
                    int(each)
                    for each in drawing.view.bars.svg.split('data-bars="')[1].split('"')[0].split(",")[-1].split("/")
                )
            )
        assert seen == [1, 2, 3, 4]


@pytest.mark.parametrize(
    ("probe", "span", "found"),
    [
        pytest.param("heavy", "7d", ("heavy", "7d"), id="as asked"),
        pytest.param("none", "2y", ("heavy", "24h"), id="the first ones"),
    ],
)
def test_what_is_looked_at(probe, span, found):
    sight = sight_of(FIRST, probe, span, NOW, EN)
    assert (sight.assignment.probe.name, sight.span.name) == found
    nobody = replace(FIRST, assignments=())
    assert sight_of(nobody, probe, span, NOW, EN).assignment is None

"""`canary incident note|override|overrides|end`."""

import asyncio
import json
from datetime import datetime, timedelta

import pytest

from canary.store import open_store
from tests.fakes.stored import conclusion_of, run_of
from tests.fakes.stored_runs import storage_at


@pytest.fixture
def storage(tmp_path):
    """Of a store with one run of `chat` and one open page."""
    storage = storage_at(tmp_path / "canary.db")

    async def fill():
        async with open_store(storage) as store:
            await store.save_run(run_of("r1"), conclusion_of(), quiet=True)
            return [page.id for page in await store.pages()]

    (page,) = asyncio.run(fill())
    return storage, page


@pytest.fixture
def incident(canary, storage):
    def run(*arguments):
        return canary("incident", *arguments, "--storage", storage[0].url.reveal())

    return run


def stored(storage, ask):
    async def asked():
        async with open_store(storage, read_only=True) as store:
            return await ask(store)

    return asyncio.run(asked())


def listed(incident):
    return [json.loads(line) for line in incident("overrides", "--json").out.splitlines()]


def test_a_note(incident, storage):
    said = incident("note", storage[1], "  We have found the cause. ", "--author", "kim")
    assert (said.code, said.out) == (0, "")
    (note,) = stored(storage[0], lambda store: store.notes([storage[1]]))
    assert (note.text, note.author) == ("We have found the cause.", "kim")


def test_override_list_end(incident, storage):
    page = incident("override", storage[1], "operational", "--for", "2h").out.strip()
    pipeline = incident("override", "chat", "partial_outage", "--for", "1d", "--author", "kim").out.strip()
    found = {each["id"]: each for each in listed(incident)}
    assert (found[page]["page_id"], found[page]["pipeline"], found[page]["level"]) == (storage[1], None, "operational")
    assert (found[pipeline]["page_id"], found[pipeline]["pipeline"]) == (None, "chat")
    begun, over = (datetime.fromisoformat(found[pipeline][name]) for name in ("at", "ends_at"))
    assert abs(over - begun - timedelta(days=1)) < timedelta(seconds=5)
    said = incident("overrides").out
    assert f"{pipeline}  pipeline chat partial_outage until" in said
    assert incident("end", pipeline[:6]).out.startswith(f"ended {pipeline}: pipeline chat")
    assert [each["id"] for each in listed(incident)] == [page]


def test_none_holds(incident):
    assert incident("overrides").out == "no override holds now\n"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        pytest.param(["note", "nothing", "text"], "there is no page 'nothing'; open or just closed are ", id="no page"),
        pytest.param(["note", "PAGE", "a\x1b[2Jb"], "a text must be one line", id="a control character"),
        pytest.param(["note", "PAGE", "a\nb"], "a text must be one line", id="two lines"),
        pytest.param(["note", "PAGE", "\u202ea"], "a text must be one line", id="a direction"),
        pytest.param(["note", "PAGE", " "], "a text must be one line", id="nothing"),
        pytest.param(["note", "PAGE", "x" * 1001], "a text must be one line", id="too long"),
        pytest.param(["override", "caht", "operational", "--for", "1h"], "neither the id of a page", id="misspelt"),
        pytest.param(["override", "chat", "broken", "--for", "1h"], "'broken' is not one of", id="no status"),
        pytest.param(["override", "chat", "operational"], "--for", id="for how long?"),
        pytest.param(["override", "chat", "operational", "--for", "0s"], "--for", id="for no time"),
        pytest.param(["end", "nothing"], "no single override 'nothing' holds now; there are none", id="no override"),
        pytest.param(["end", ""], "no single override '' holds now", id="an unset variable"),
    ],
)
def test_what_is_refused(incident, storage, arguments, said):
    found = incident(*[storage[1] if each == "PAGE" else each for each in arguments])
    assert found.code == 3
    assert said in " ".join(found.err.split())
    assert "\x1b" not in found.err


def test_there_must_be_a_store(canary, tmp_path):
    said = canary("incident", "note", "p", "text", "--storage", f"sqlite:///{tmp_path}/none.db")
    assert (said.code, (tmp_path / "none.db").exists()) == (3, False)

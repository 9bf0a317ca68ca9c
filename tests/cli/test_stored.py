"""The store, as the commands that look back find it."""

import asyncio
import sqlite3
from contextlib import closing

import pytest
import yaml

from canary.cli.errors import UsageError
from canary.cli.stored import change, storage_of
from canary.core.conclusion import Conclusion
from canary.store import open_store
from tests.fakes.stored import conclusion_of, incident_of
from tests.fakes.stored_runs import storage_at

LOOKING = [
    ["history"],
    ["show", "aaa111"],
    ["report"],
    ["incidents"],
    ["silence", "list"],
    ["silence", "add", "--check", "answer", "--for", "1h"],
    ["silence", "end", "ab"],
    ["explain", "ab", "-c", "canary.yaml"],
]
PIPELINE = {
    "name": "chat",
    "hops": [{"name": "vllm", "url": "http://127.0.0.1:9/v1/chat/completions", "model": "m"}],
    "probes": [{"use": "reasoning-heavy"}],
}
named = pytest.mark.parametrize("command", LOOKING, ids=lambda command: " ".join(command[:2]))


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    """The working folder, with a config in it."""
    monkeypatch.chdir(tmp_path)
    config = {"pipelines": [PIPELINE], "storage": {"url": f"sqlite:///{tmp_path}/c.db"}}
    (tmp_path / "canary.yaml").write_text(yaml.safe_dump(config), encoding="utf-8")


@named
def test_looking_makes_no_database(canary, tmp_path, command):
    path = tmp_path / "folder" / "canary.db"
    said = canary(*command, "--storage", f"sqlite:///{path}")
    assert (said.code, said.out) == (3, "")
    assert str(path) in said.err
    assert not path.parent.exists()


@named
def test_looking_migrates_nothing(canary, tmp_path, command):
    path = tmp_path / "canary.db"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE alembic_version (version_num TEXT)")
    before = path.read_bytes()
    said = canary(*command, "--storage", f"sqlite:///{path}")
    assert (said.code, said.out) == (3, "")
    assert path.read_bytes() == before


def test_what_is_no_database(canary, tmp_path):
    (tmp_path / "notes.txt").write_text("milk, eggs, bread\n" * 100)
    said = canary("history", "--storage", f"sqlite:///{tmp_path}/notes.txt")
    assert said.code == 3
    assert "notes.txt" in said.err


@pytest.mark.parametrize("url", ["", "canary.db", "mysql://root:pa55@host/db", "sqlite://", "sqlite:///:memory:"])
def test_what_is_no_storage_url(canary, url):
    said = canary("history", "--storage", url)
    assert (said.code, said.out) == (3, "")
    assert "pa55" not in said.err


def test_config_or_storage(canary, tmp_path):
    said = canary("history", "--storage", "sqlite:///x.db", "-c", tmp_path / "canary.yaml")
    assert said.code == 3
    assert "--config and --storage exclude each other" in said.err


@pytest.fixture
def secretive(tmp_path):
    """A config whose secrets only the daemon has."""
    hop = PIPELINE["hops"][0] | {"auth": {"bearer": "${env:CANARY_TEST_UNSET}"}, "tls": {"ca_file": "not-there.pem"}}
    receiver = {"name": "on-call", "webhook": {"url": "${file:/run/secrets/not-there}"}}
    config = {
        "pipelines": [PIPELINE | {"hops": [hop]}],
        "receivers": [receiver],
        "storage": {"url": f"sqlite:///{tmp_path}/c.db"},
    }
    (tmp_path / "canary.yaml").write_text(yaml.safe_dump(config), encoding="utf-8")


@pytest.mark.usefixtures("secretive")
@pytest.mark.parametrize(
    ("command", "code"),
    [
        (["history"], 0),
        (["report"], 0),
        (["incidents"], 0),
        (["silence", "list"], 0),
        (["silence", "add", "--check", "answer", "--for", "1h"], 0),
        (["incident", "overrides"], 0),
        (["explain", "chat/reasoning-heavy/answer@vllm"], 0),
        (["check"], 3),
        (["notify-test"], 3),
        (["probe", "chat"], 3),
    ],
    ids=lambda value: " ".join(value[:2]) if isinstance(value, list) else "",
)
def test_looking_back_needs_no_secrets(canary, tmp_path, command, code):
    async def made():
        async with open_store(storage_at(tmp_path / "c.db")):
            pass

    asyncio.run(made())
    said = canary(*command, "--config", "canary.yaml")
    assert said.code == code, said.err


def test_a_store_that_needs_a_secret_can_be_named(canary, tmp_path):
    config = {"pipelines": [PIPELINE], "storage": {"url": "postgresql://me:${env:CANARY_TEST_UNSET}@db/canary"}}
    (tmp_path / "canary.yaml").write_text(yaml.safe_dump(config), encoding="utf-8")
    said = canary("history")
    assert said.code == 3
    assert "storage.url" in said.err
    assert "--storage" in said.err


def test_the_configs_storage(tmp_path):
    assert storage_of([tmp_path / "canary.yaml"], None).url.reveal() == f"sqlite:///{tmp_path}/c.db"


def test_our_own_bugs_are_not_called_a_users_fault(daemon_store):
    async def broken(_store):
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        change(storage_of(None, daemon_store), broken)


def test_a_store_error_is_a_sentence(tmp_path):
    with pytest.raises(UsageError, match=r"canary\.db"):
        change(storage_of(None, f"sqlite:///{tmp_path}/canary.db"), lambda _: None)


def test_a_row_that_cannot_be_read_is_named_beside_what_can(canary, tmp_path):
    path = tmp_path / "c.db"

    async def made():
        async with open_store(storage_at(path)) as store:
            await store.save_conclusion(conclusion_of())
            await store.save_conclusion(Conclusion(incidents=(incident_of("i2"),)))

    asyncio.run(made())
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("UPDATE incidents SET body = '{}' WHERE id = 'i2'")
    said = canary("incidents", "--open")
    assert (said.code, "incident i1" in said.out) == (0, True)
    why = "a row of the database cannot be read: Incident without id"
    assert said.err == f"canary: i2 of incidents is left out: {why}\n"

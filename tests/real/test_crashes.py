"""kill -9 at random moments, again and again on one database: nothing that was said to be stored is lost or torn.

The engine behind it is well for some requests and answers 500 for some, so that incidents open and close all the time,
and a real receiver takes the pages. CANARY_KILLS says how often (60).
"""

import json
import os
import random  # noqa: TID251  # the moments of the kills
import signal
import sqlite3
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Self

import pytest

from tests.fakes.llm_server import DONE, LAST_CHUNK, SSE_HEAD, Cut, LlmServer, Request, Step, chunk, delta, in_thread

pytestmark = pytest.mark.real

KILLS = int(os.environ.get("CANARY_KILLS", "60"))
SEED = 20261129
PATIENCE_S = 240.0  # on a machine that has much else to do
MOOD = 7  # so many requests well, then as many not
WELL: Sequence[Step] = [
    (0.0, SSE_HEAD),
    (0.05, chunk(delta(reasoning="hm"))),
    (0.05, chunk(delta(content="ANSWER: 1"))),
    (0.0, chunk(delta(finish="stop")) + chunk(DONE) + LAST_CHUNK),
    (0.0, Cut.FIN),
]
ILL: Sequence[Step] = [
    (0.02, b"HTTP/1.1 500 Oops\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"),
    (0.0, Cut.FIN),
]


class Mood:
    def __init__(self) -> None:
        self.requests = 0

    def __call__(self, _: Request) -> Sequence[Step]:
        self.requests += 1
        return ILL if self.requests // MOOD % 2 else WELL


class Receiver(ThreadingHTTPServer):
    """Takes every page, and remembers which notifications it saw."""

    daemon_threads = True

    def __init__(self) -> None:
        self.seen: Counter[str] = Counter()
        super().__init__(("127.0.0.1", 0), Hook)


class Hook(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        assert isinstance(self.server, Receiver)
        self.server.seen[self.headers["webhook-id"]] += 1
        self.send_response(204)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with Receiver() as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def config_of(folder: Path, engine_url: str, receiver: Receiver) -> Path:
    checks = ["reachable", "complete", "visible_content"]
    plan = {
        "listen": {"address": "127.0.0.1:0"},
        "storage": {"url": f"sqlite:///{folder}/canary.db"},
        "shutdown_grace": "5s",
        "pipelines": [
            {
                "name": name,
                "hops": [{"name": "engine", "url": f"{engine_url}?{name}", "model": "m"}],
                "probes": [{"use": "quick", "every": "1s", "deadline": "5s", "checks": checks}],
            }
            for name in ("left", "right")
        ],
        "receivers": [{"name": "hook", "webhook": {"url": "${file:hook.url}"}}],
        "routes": [{"receiver": "hook", "fail": "2 of 3", "recover": 2}],
    }
    (folder / "hook.url").write_text(f"http://127.0.0.1:{receiver.server_port}/")
    path = folder / "canary.yaml"
    path.write_text(json.dumps(plan))
    return path


class Daemon:
    """`canary run` as a child; `stored` are the runs that it said it had stored."""

    def __init__(self, config: Path) -> None:
        self.stored: set[str] = set()
        self.lines: list[str] = []
        self.first = threading.Event()
        self.process = subprocess.Popen(
            [sys.executable, "-m", "canary", "run", "--config", config],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            cwd=config.parent,
        )
        self.reader = threading.Thread(target=self._read)
        self.reader.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Where the test failed, nobody else would ever end it."""
        if self.process.poll() is None:
            self.end(signal.SIGKILL)

    def _read(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self.lines.append(line)
            if not (line.startswith("{") and line.endswith("}\n")):
                continue  # torn by the kill, or the reason why it did not start
            event = json.loads(line)
            if event.get("event") == "run" and event["saved"]:
                self.stored.add(event["run"])
            if event.get("event") == "started":
                self.first.set()
        self.first.set()

    def end(self, how: signal.Signals) -> int:
        self.process.send_signal(how)
        code = self.process.wait(30)
        self.reader.join(30)
        assert self.process.stderr is not None
        self.process.stderr.close()
        return code


def faults_of(database: Path) -> list[str]:
    """What is torn, lost or told twice in a database; nothing if it is whole."""
    with closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True)) as db:
        rows = lambda sql: db.execute(sql).fetchall()  # noqa: E731
        found = [f"integrity: {text}" for (text,) in rows("PRAGMA integrity_check") if text != "ok"]
        found += [f"foreign key: {row}" for row in rows("PRAGMA foreign_key_check")]
        whole = "SELECT id FROM runs WHERE cut_short IS NULL AND id NOT IN (SELECT run_id FROM results)"
        found += [f"run without answers: {row}" for row in rows(whole)]
        paths: dict[str, list[dict[str, str]]] = {}
        for incident, body in rows("SELECT incident_id, body FROM transitions ORDER BY id"):
            paths.setdefault(incident, []).append(json.loads(body))
        states = dict(rows("SELECT id, state FROM incidents"))
        for incident, steps in paths.items():
            found += broken_path(incident, steps, states.get(incident))
        found += [f"incident without history: {each}" for each in states.keys() - paths.keys()]
        keys = Counter(
            json.dumps(json.loads(body)["key"], sort_keys=True)
            for (body,) in rows("SELECT body FROM incidents WHERE state <> 'ok'")
        )
        found += [f"open twice: {key}" for key, times in keys.items() if times > 1]
        orphans = "SELECT notification_id FROM outbox WHERE page_id NOT IN (SELECT id FROM pages)"
        found += [f"told of a page that is not stored: {row}" for row in rows(orphans)]
        return found


def broken_path(incident: str, steps: Sequence[dict[str, str]], state: str | None) -> Iterator[str]:
    before = ["ok", *(step["after"] for step in steps)]
    for expected, step in zip(before, steps, strict=False):
        if step["before"] != expected:
            yield f"{incident}: from {expected} to {step['after']}, but the step says from {step['before']}"
    if before[-1] != state:
        yield f"{incident}: its history ends in {before[-1]}, and it is {state}"
    if "ok" in before[1:-1]:
        yield f"{incident}: goes on after its end"


def test_nothing_stored_is_lost_or_told_wrong(tmp_path: Path, receiver: Receiver):
    moments = random.Random(SEED)
    stored: set[str] = set()
    with in_thread(LlmServer(Mood())) as engine:
        config = config_of(tmp_path, engine.url, receiver)
        for kill in range(KILLS):
            with Daemon(config) as daemon:
                assert daemon.first.wait(PATIENCE_S), daemon.lines
                threading.Event().wait(moments.uniform(0.0, 2.5))  # the moment is the point: no event stands for it
                assert daemon.end(signal.SIGKILL) == -signal.SIGKILL, daemon.lines
            stored |= daemon.stored
            assert faults_of(tmp_path / "canary.db") == [], f"after kill {kill}"
        with Daemon(config) as last:
            assert last.first.wait(PATIENCE_S), last.lines
            threading.Event().wait(10.0)  # time to deliver what was left
            assert last.end(signal.SIGTERM) == 0, last.lines
        stored |= last.stored
    with closing(sqlite3.connect(tmp_path / "canary.db")) as db:
        kept = {run for (run,) in db.execute("SELECT id FROM runs")}
        outbox = dict(db.execute("SELECT notification_id, state FROM outbox"))
        (transitions,) = db.execute("SELECT count(*) FROM transitions").fetchone()
    assert faults_of(tmp_path / "canary.db") == []
    assert stored <= kept
    assert set(receiver.seen) <= set(outbox), "told of what was never stored"
    assert {told for told, state in outbox.items() if state == "sent"} <= set(receiver.seen)
    assert {told for told, state in outbox.items() if state != "sent"} == set()
    print(
        f"{KILLS} kills: {len(stored)} runs said to be stored, {len(kept)} kept, {transitions} transitions, "
        f"{len(outbox)} notifications, {sum(receiver.seen.values()) - len(receiver.seen)} delivered again"
    )
    assert transitions > KILLS / 20, "too little happened to prove anything"


def test_the_search_for_faults_finds_some():
    step = {"before": "ok", "after": "pending"}
    assert list(broken_path("i", [step], "pending")) == []
    assert list(broken_path("i", [step, step], "pending")) != []
    assert list(broken_path("i", [step], "ok")) != []
    ended = [step, {"before": "pending", "after": "ok"}, step]
    assert list(broken_path("i", ended, "pending")) != []

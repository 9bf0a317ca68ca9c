"""kill -9 at every step between decision and delivery.

A daemon's parts run failing and passing probes over a real database, a real engine and a real receiver, and kill
themselves at a chosen line of the code between a run's end and the mark that somebody was told. A second life, which
runs nothing, then delivers what the first one left. The receiver looks into the database while it takes a message:
whatever it is told of must be stored there already.

CANARY_CRASH_POINTS says at how many lines, spread over the whole way (60), or `all`.
"""

import json
import os
import shutil
import sqlite3
import subprocess
import sys
import threading
from collections import defaultdict
from contextlib import closing, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.fakes.doomed import PIPELINES
from tests.fakes.llm_server import DONE, LAST_CHUNK, SSE_HEAD, Cut, LlmServer, chunk, delta, in_thread

pytestmark = pytest.mark.real

POINTS = os.environ.get("CANARY_CRASH_POINTS", "60")
ROOT = Path(__file__).parents[2]
WELL = [
    (0.0, SSE_HEAD),
    (0.0, chunk(delta(reasoning="hm"))),
    (0.0, chunk(delta(content="42"))),
    (0.0, chunk(delta(finish="stop") + DONE) + LAST_CHUNK),
    (0.0, Cut.FIN),
]
ILL = [(0.0, b"HTTP/1.1 500 Oops\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"), (0.0, Cut.FIN)]


def engine(request):
    return ILL if request.headers.get("x-canary-run", "").startswith("ill") else WELL


class Receiver(ThreadingHTTPServer):
    """Takes every message. `arrived`: by the name in the path; `untimely`: those that no stored page stood behind."""

    daemon_threads = True

    def __init__(self, folder):
        self.folder = folder
        self.arrived = defaultdict(list)
        self.untimely = defaultdict(list)
        super().__init__(("127.0.0.1", 0), Hook)

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_port}"

    def take(self, name, identity, message):
        told = (identity, message["data"]["page_id"], message["data"]["reason"])
        if flaw := flaw_of(self.folder / f"{name}.db", *told):
            self.untimely[name].append(f"{told}: {flaw}")
        self.arrived[name].append(told)


class Hook(BaseHTTPRequestHandler):
    def do_POST(self):
        message = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.server.take(self.path.strip("/"), self.headers["webhook-id"], message)
        self.send_response(204)
        self.end_headers()

    def log_message(self, *_):
        pass


def flaw_of(database, identity, page_id, reason):
    """Why nobody should hear of this yet, by what is committed; None where all is there."""
    with closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True)) as db:
        page = db.execute("SELECT body FROM pages WHERE id = ?", (page_id,)).fetchone()
        if page is None:
            return "the page is not stored"
        if db.execute("SELECT 1 FROM outbox WHERE notification_id = ?", (identity,)).fetchone() is None:
            return "the notification is not stored"
        incidents = {incident for (incident,) in db.execute("SELECT id FROM incidents")}
        if not set(json.loads(page[0])["members"]) <= incidents or (reason == "opened" and not incidents):
            return "its incidents are not stored"
    return None


def faults_of(database, arrived):
    """What is wrong once all is delivered."""
    with closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True)) as db:
        outbox = dict(db.execute("SELECT notification_id, state FROM outbox"))
        keys = [f"page {page} {reason}" for page, reason in _reasons(db)]
        open_pages = db.execute("SELECT cause, count(*) FROM pages WHERE resolved_at IS NULL GROUP BY cause").fetchall()
        (integrity,) = db.execute("PRAGMA integrity_check").fetchone()
    identities = {identity for identity, _, _ in arrived}
    said = defaultdict(set)
    for identity, page, reason in arrived:
        said[page, reason].add(identity)
    found = [f"integrity: {integrity}"] if integrity != "ok" else []
    found += [f"{told} is {state}" for told, state in outbox.items() if state != "sent"]
    found += [f"{told} never arrived" for told in outbox.keys() - identities]
    found += [f"{told} arrived and is not stored" for told in identities - outbox.keys()]
    found += [f"{what} came under {len(ids)} ids" for what, ids in said.items() if len(ids) > 1]
    found += [f"decided twice: {key}" for key in set(keys) if keys.count(key) > 1]
    found += [f"{count} open pages of {cause}" for cause, count in open_pages if count > 1]
    return found


def _reasons(db):
    for page, body in db.execute("SELECT page_id, body FROM outbox"):
        yield page, json.loads(body)["reason"]


class Lives:
    """The process that forks one life after another."""

    def __init__(self, process, folder):
        self.process, self.folder = process, folder

    def live(self, name, *, line=None, runs=True):
        job = {"database": str(self.folder / f"{name}.db"), "name": name, "line": line, "runs": runs}
        self.process.stdin.write(json.dumps(job) + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        assert answer, self.process.wait(30)
        return json.loads(answer)


@contextmanager
def lives(folder, engine_url, hook_url):
    command = [sys.executable, "-m", "tests.fakes.doomed", engine_url, hook_url]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT) as process:
        yield Lives(process, folder)
        process.stdin.close()


@pytest.fixture
def receiver(tmp_path):
    with Receiver(tmp_path) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def points_of(lines):
    """From the first line to the last, evenly."""
    count = lines if POINTS == "all" else min(int(POINTS), lines)
    return sorted({1 + round(index * (lines - 1) / max(1, count - 1)) for index in range(count)})


def test_wherever_it_is_killed_each_page_arrives_and_none_that_is_not_stored(tmp_path, receiver):
    with in_thread(LlmServer(engine)) as served, lives(tmp_path, served.url, receiver.url) as doomed:
        assert doomed.live("empty", runs=False)["status"] == 0
        shutil.copy(tmp_path / "empty.db", tmp_path / "whole.db")
        whole = doomed.live("whole")
        assert (whole["killed"], len(receiver.arrived["whole"])) == (False, 2 * len(PIPELINES)), whole
        assert (faults_of(tmp_path / "whole.db", receiver.arrived["whole"]), receiver.untimely) == ([], {})
        found, killed, stored, again = {}, 0, 0, 0
        points = points_of(whole["lines"])
        for line in points:
            name = f"line{line}"
            database = tmp_path / f"{name}.db"
            shutil.copy(tmp_path / "empty.db", database)
            killed += doomed.live(name, line=line)["killed"]
            before = len(receiver.arrived[name])
            last = doomed.live(name, runs=False)
            arrived = receiver.arrived[name]
            faults = [*receiver.untimely[name], *faults_of(database, arrived)]
            if last["status"]:
                faults.append(f"the second life ended with {last['status']}")
            if faults:
                found[line] = faults
            stored += len(arrived) > 0
            again += len(arrived) - len({identity for identity, _, _ in arrived})
            left = len(arrived) - before
            print(f"line {line}: {before} told before the kill, {left} after it {faults or ''}")
    print(
        f"{whole['lines']} lines, killed at {killed} of {len(points)}: {stored} had stored something, "
        f"{again} messages came again"
    )
    assert found == {}
    assert killed > 0.8 * len(points), "the way is shorter than was thought"
    assert stored > 0.3 * len(points), "too little happened to prove anything"


def test_the_search_for_faults_finds_some(tmp_path, receiver):
    with in_thread(LlmServer(engine)) as served, lives(tmp_path, served.url, receiver.url) as doomed:
        assert doomed.live("whole")["status"] == 0
    database, arrived = tmp_path / "whole.db", receiver.arrived["whole"]
    identity, page, reason = arrived[0]
    assert faults_of(database, arrived) == []
    assert faults_of(database, arrived[1:]) == [f"{identity} never arrived"]
    assert faults_of(database, [*arrived, ("n0", page, reason)]) == [
        "n0 arrived and is not stored",
        f"{(page, reason)} came under 2 ids",
    ]
    assert flaw_of(database, identity, page, reason) is None
    assert flaw_of(database, identity, "p0", reason) == "the page is not stored"
    assert flaw_of(database, "n0", page, reason) == "the notification is not stored"
    with closing(sqlite3.connect(database)) as db, db:
        db.execute("UPDATE outbox SET state = 'queued' WHERE notification_id = ?", (identity,))
        db.execute("DELETE FROM incidents")
    assert faults_of(database, arrived) == [f"{identity} is queued"]
    assert flaw_of(database, identity, page, "opened") == "its incidents are not stored"

"""`canary run` as a child process, an engine whose mood a test sets, and a receiver that takes its pages.

All of it waits on what happens, never on the clock: `until` looks again at each line of the log.
"""

import json
import os
import re
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from tests.fakes.llm_server import DONE, LAST_CHUNK, SSE_HEAD, Cut, LlmServer, chunk, delta, in_thread

WELL = [
    (0.0, SSE_HEAD),
    (0.02, chunk(delta(reasoning="hm"))),
    (0.02, chunk(delta(content="ANSWER: 1"))),
    (0.0, chunk(delta(finish="stop")) + chunk(DONE) + LAST_CHUNK),
    (0.0, Cut.FIN),
]
ILL = [(0.0, b"HTTP/1.1 500 Oops\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"), (0.0, Cut.FIN)]
NOT_THERE = [(0.0, b"HTTP/1.1 404 No\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"), (0.0, Cut.FIN)]
CHECKS = ["reachable", "complete", "visible_content"]
AWAY, BACK = "history cannot be written", "history is written again"
LIMIT_S = 60.0  # for what takes a moment, on a machine that does much else


class Mood:
    """What the engine does with the next request."""

    def __init__(self):
        self.steps = WELL

    def __call__(self, request):
        return self.steps if request.method == "POST" else NOT_THERE


@contextmanager
def engine():
    """A server on a loop of its own; `mood.steps` may be changed at any time."""
    mood = Mood()
    with in_thread(LlmServer(mood)) as server:
        server.mood = mood
        yield server


class Receiver(ThreadingHTTPServer):
    """Takes pages, or answers 503 where `open` is not set. `told`: their bodies, in order."""

    daemon_threads = True

    def __init__(self):
        self.told, self.paths, self.open, self.changed = [], [], True, threading.Condition()
        super().__init__(("127.0.0.1", 0), _Hook)

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_port}"

    @property
    def reasons(self):
        return [message["data"]["reason"] for message in self.told]

    def until(self, condition, *, within_s=LIMIT_S):
        with self.changed:
            assert self.changed.wait_for(condition, within_s), self.reasons


class _Hook(BaseHTTPRequestHandler):
    def do_POST(self):
        message = json.loads(self.rfile.read(int(self.headers["content-length"])))
        server = self.server
        with server.changed:
            server.paths.append(self.path)
            if server.open:
                server.told.append(message)
            server.changed.notify_all()
        self.send_response(204 if server.open else 503)
        self.end_headers()

    def log_message(self, *_):
        pass


@contextmanager
def receiver():
    with Receiver() as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


def plan_of(folder, url, *, hook=None):
    """A config as a dict: one pipeline of one hop, probed every second. `hook`: who is told."""
    probe = {"use": "quick", "every": "1s", "deadline": "20s", "checks": CHECKS}
    plan = {
        "listen": {"address": "127.0.0.1:0"},
        "storage": {"url": f"sqlite:///{folder}/data/canary.db"},
        "shutdown_grace": "1s",
        "log": {"format": "json"},
        "pipelines": [{"name": "chat", "hops": [{"name": "engine", "url": url, "model": "m"}], "probes": [probe]}],
    }
    if hook is not None:
        (folder / "hook.url").write_text(f"{hook.url}/first")
        plan["receivers"] = [{"name": "hook", "webhook": {"url": "${file:hook.url}"}}]
        plan["routes"] = [{"receiver": "hook", "fail": "2 of 3", "recover": 2}]
    return plan


def write(folder, plan):
    path = folder / "canary.yaml"
    path.write_text(json.dumps(plan))
    return path


class Process:
    """`events`: what it logged, as dicts; `said`: lines that are no JSON, like why it did not start."""

    def __init__(self, config, *, before=(), env=None):
        self.events, self.said, self.ended = [], [], False
        self._changed = threading.Condition()
        self.process = subprocess.Popen(
            [*before, sys.executable, "-m", "canary", "run", "--config", config],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            cwd=config.parent,
            env={**os.environ, **(env or {})},
        )
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def _read(self):
        for line in self.process.stderr:
            with self._changed:
                (self.events.append(json.loads(line)) if line.startswith("{") else self.said.append(line))
                self._changed.notify_all()
        with self._changed:
            self.ended = True
            self._changed.notify_all()

    def until(self, condition, *, within_s=LIMIT_S):
        """Looks again at each line of the log; fails where it never holds, or the process ends before."""
        with self._changed:
            self._changed.wait_for(lambda: condition() or self.ended, within_s)
            assert condition(), [*self.said, *self.events[-6:]]

    def named(self, event):
        return [each for each in self.events if each["event"].startswith(event)]

    @property
    def runs(self):
        return [each for each in self.events if each["event"] == "run"]

    @property
    def stored(self):
        """Ids of the runs that it said it had stored."""
        return {run["run"] for run in self.runs if run.get("saved")}

    def more_runs(self, count, *, within_s=LIMIT_S):
        """Waits for so many runs from now on, and returns them."""
        before = len(self.runs)
        self.until(lambda: len(self.runs) >= before + count, within_s=within_s)
        return self.runs[before:]

    @property
    def url(self):
        self.until(lambda: self.named("started"))
        return self.named("started")[0]["url"]

    def get(self, path):
        """The status and the text."""
        try:
            with urllib.request.urlopen(self.url + path, timeout=LIMIT_S) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.read().decode()

    def post(self, path, body=None):
        data = json.dumps(body or {}).encode()
        request = urllib.request.Request(self.url + path, data=data, method="POST")
        with urllib.request.urlopen(request, timeout=LIMIT_S) as answer:
            return answer.status, json.loads(answer.read())

    def metric(self, line):
        """The value of the series that is written so; None: there is none."""
        found = re.search(rf"^{re.escape(line)} (\S+)$", self.get("/metrics")[1], re.MULTILINE)
        return float(found[1]) if found else None

    def send(self, number):
        self.process.send_signal(number)

    def wait(self, *, within_s=LIMIT_S):
        """Its exit code."""
        code = self.process.wait(within_s)
        self._reader.join(within_s)
        self.process.stderr.close()
        return code


@contextmanager
def canary(config, **how):
    """It runs, and is gone when the block ends, whatever happens there."""
    process = Process(config, **how)
    try:
        yield process
    finally:
        if process.process.poll() is None:
            process.process.kill()
            process.process.wait()
        process._reader.join()
        process.process.stderr.close()


@contextmanager
def world(tmp_path, **more):
    """An engine, a receiver, and a config that names them."""
    with engine() as served, receiver() as hook:
        yield served, hook, write(tmp_path, plan_of(tmp_path, served.url, hook=hook) | more)


def goes_on_without(daemon, served, hook):
    """While the store is away: runs go on, an incident opens, and people hear of it, with a word about the store."""
    daemon.until(lambda: daemon.named(AWAY))
    served.mood.steps = ILL
    hook.until(lambda: "opened" in hook.reasons)
    daemon.more_runs(4)
    assert len(daemon.named(AWAY)) == 1, "it is said once"
    assert daemon.metric("canary_store_up") == 0
    status, text = daemon.get("/-/ready")
    assert (status, "history cannot be written" in text) == (503, True)
    assert daemon.get("/-/healthy")[0] == 200
    assert any("History could not be written" in note for note in hook.told[-1]["data"]["message"]["notes"])


def comes_back(daemon, served, hook):
    """The store is there again: all is written, and the end of the incident is told."""
    daemon.until(lambda: daemon.named(BACK))
    served.mood.steps = WELL
    hook.until(lambda: "resolved" in hook.reasons)
    daemon.more_runs(2)
    assert (len(daemon.named(AWAY)), len(daemon.named(BACK))) == (1, 1)
    assert daemon.metric("canary_store_up") == 1
    assert daemon.get("/-/ready")[0] == 200

"""The daemon as a process of its own: signals, exit codes, what a restart finds."""

import asyncio
import json
import signal
import sys

import pytest

from canary.core.run import CutShort
from canary.core.secret import Secret
from canary.core.service import Storage
from canary.store import open_store
from tests.daemon.conftest import ANSWER, THINKING, answering
from tests.fakes.llm_server import LlmServer

CONFIG = """
pipelines:
  - name: chat
    hops:
      - {{name: engine, url: {url}, model: fake}}
    probes:
      - {{use: reasoning-heavy, every: {every}}}
storage: {{url: "sqlite:///{folder}/canary.db"}}
shutdown_grace: {grace}
log: {{format: json}}
"""


class Process:
    """`canary run` with a config file; `lines`: what it logged so far."""

    def __init__(self, folder, url, *, every="1h", grace="10ms"):
        self.file = folder / "canary.yaml"
        self.file.write_text(CONFIG.format(url=url, folder=folder, every=every, grace=grace))
        self.storage = Storage(url=Secret(f"sqlite:///{folder}/canary.db"))
        self.lines = []

    async def __aenter__(self):
        self.process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "canary", "run", "-c", str(self.file), "--listen", "127.0.0.1:0"),
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        return self

    async def __aexit__(self, *_):
        if self.process.returncode is None:
            self.process.kill()
        await self.process.communicate()

    async def says(self, event):
        """The next line that begins like that."""
        async with asyncio.timeout(30):
            while line := await self.process.stderr.readline():
                self.lines.append(json.loads(line))
                if self.lines[-1]["event"].startswith(event):
                    return self.lines[-1]
        pytest.fail(f"it never said {event!r}, but {self.lines}")

    async def ended(self):
        async with asyncio.timeout(30):
            return await self.process.wait()


@pytest.mark.parametrize("sent", [signal.SIGTERM, signal.SIGINT])
async def test_a_signal_in_mid_stream_leaves_in_order(tmp_path, sent):
    async with LlmServer(answering(THINKING)) as stuck, Process(tmp_path, stuck.url) as canary:
        await canary.says("started")
        await stuck.arrived.wait()
        canary.process.send_signal(sent)
        await canary.says("stopped")
        assert await canary.ended() == 0
        assert stuck.requests[0].gone.is_set() or await stuck.requests[0].gone.wait()
        async with open_store(canary.storage) as store:
            (row,) = await store.runs()
    assert row.cut_short is CutShort.SHUTDOWN


async def test_a_second_signal_leaves_at_once(tmp_path):
    async with LlmServer(answering(THINKING)) as stuck, Process(tmp_path, stuck.url, grace="10m") as canary:
        await stuck.arrived.wait()
        canary.process.send_signal(signal.SIGTERM)
        await canary.says("stopping")
        canary.process.send_signal(signal.SIGTERM)
        assert await canary.ended() == 128 + signal.SIGTERM


async def test_sighup_with_a_broken_config_keeps_everything_going(tmp_path):
    async with LlmServer(answering(ANSWER)) as server, Process(tmp_path, server.url, every="1s") as canary:
        await canary.says("run")
        good = canary.file.read_text()
        canary.file.write_text(good.replace("every", "evry"))
        canary.process.send_signal(signal.SIGHUP)
        refused = await canary.says("config refused")
        assert any("evry" in problem for problem in refused["problems"])
        await canary.says("run")
        canary.file.write_text(good)
        canary.process.send_signal(signal.SIGHUP)
        await canary.says("config reloaded")
        await canary.says("run")
        canary.process.send_signal(signal.SIGTERM)
        assert await canary.ended() == 0


async def test_killed_in_mid_run_and_started_again(tmp_path):
    async with LlmServer(answering(ANSWER)) as server:
        async with Process(tmp_path, server.url, every="1s") as canary:
            first = await canary.says("run")
            canary.process.kill()
            assert await canary.ended() == -signal.SIGKILL
        async with Process(tmp_path, server.url, every="1s") as canary:
            second = await canary.says("run")
            canary.process.send_signal(signal.SIGTERM)
            assert await canary.ended() == 0
            async with open_store(canary.storage) as store:
                runs = {row.id for row in await store.runs()}
    assert {first["run"], second["run"]} <= runs


async def test_a_config_that_does_not_hold_is_exit_3(tmp_path):
    async with Process(tmp_path, "no-url") as canary:
        _, err = await canary.process.communicate()
        assert canary.process.returncode == 3
    assert b"canary.yaml:" in err


@pytest.mark.parametrize(
    ("sent", "codes"),
    [
        pytest.param([signal.SIGTERM], {0}, id="stop"),
        pytest.param([signal.SIGHUP, signal.SIGTERM], {0}, id="reload, then stop"),
        pytest.param([signal.SIGINT, signal.SIGTERM], {128 + signal.SIGINT, 128 + signal.SIGTERM}, id="stop at once"),
    ],
)
async def test_signals_are_heard_while_the_store_is_being_opened(tmp_path, sent, codes):
    """The first process of a container has no handlers but its own, and elsewhere a SIGHUP would be the end of it."""
    asked, answer = asyncio.Event(), asyncio.Event()

    async def silent(_reader, writer):
        asked.set()
        await answer.wait()
        writer.close()

    async with await asyncio.start_server(silent, "127.0.0.1", 0) as database:
        port = database.sockets[0].getsockname()[1]
        canary = Process(tmp_path, "http://127.0.0.1:9/")
        (tmp_path / "url").write_text(f"postgresql://u:p@127.0.0.1:{port}/c")
        text = canary.file.read_text().replace(f"sqlite:///{tmp_path}/canary.db", f"${{file:{tmp_path}/url}}")
        canary.file.write_text(text)
        async with canary:
            async with asyncio.timeout(30):
                await asked.wait()
            for number in sent:
                canary.process.send_signal(number)
            if codes == {0}:
                answer.set()
                await canary.says("stopped")
            assert await canary.ended() in codes
            answer.set()

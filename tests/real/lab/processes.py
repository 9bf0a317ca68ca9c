"""Servers as child processes: started, waited for, and stopped by their own process group and no other.

Each gets a session of its own, so that its workers (vLLM's engine core) go with it. The leader is reaped only after its
group was killed: until then its id cannot be given to anybody else. Should the tests be killed themselves, the kernel
sends the leader SIGTERM (`setpriv --pdeathsig`).
"""

import os
import select
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

POLL_S = 0.1
STOP_LIMIT_S = 15.0


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """What to start. It is ready when `ready_url` answers with any status below 500."""

    name: str
    argv: Sequence[str]
    ready_url: str
    ready_limit_s: float
    env: Mapping[str, str]
    folder: Path


@contextmanager
def running(command: Command) -> Iterator[subprocess.Popen[bytes]]:
    """The process, ready; stopped on leaving. Its output is kept in the command's folder."""
    command.folder.mkdir(parents=True, exist_ok=True)
    log = command.folder / f"{command.name}.log"
    env = {**os.environ, "NO_PROXY": "127.0.0.1,localhost", "no_proxy": "127.0.0.1,localhost", **command.env}
    with log.open("ab") as output:
        process = subprocess.Popen(
            ("setpriv", "--pdeathsig", "TERM", "--", *command.argv),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            env=env,
            cwd=command.folder,
            start_new_session=True,
        )
    try:
        _wait_ready(command, process, log)
        yield process
    finally:
        stop(process)


def stop(process: subprocess.Popen[bytes]) -> None:
    """SIGTERM to the leader, SIGKILL to whatever of its group is left. A second call does nothing."""
    if process.returncode is None:
        os.kill(process.pid, signal.SIGTERM)
        _exits(process, STOP_LIMIT_S)
        kill(process)


def kill(process: subprocess.Popen[bytes]) -> None:
    """SIGKILL to the whole group, as a crash or the out-of-memory killer would."""
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _exits(process: subprocess.Popen[bytes], within_s: float) -> bool:
    """Whether the process ends within that time. It is not reaped."""
    handle = os.pidfd_open(process.pid)
    try:
        ended, _, _ = select.select([handle], [], [], within_s)
    finally:
        os.close(handle)
    return bool(ended)


def _wait_ready(command: Command, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + command.ready_limit_s
    while not _answers(command.ready_url):
        exited = _exits(process, POLL_S)
        if exited or time.monotonic() > deadline:
            why = "ended before it was ready" if exited else f"was not ready after {command.ready_limit_s:.0f} s"
            problem = f"{command.name} {why}:\n{log.read_text('utf-8', 'replace')[-3000:]}"
            raise RuntimeError(problem)


def _answers(url: str) -> bool:
    direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with direct.open(url, timeout=5):
            return True
    except urllib.error.HTTPError as error:
        with error:
            return error.code < 500
    except OSError:
        return False

"""Starts lab/agent.py in front of the gateway."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.real.lab.hop import Hop
from tests.real.lab.processes import Command, free_port, running

AGENT = Path(__file__).with_name("agent.py")


@contextmanager
def agent(folder: Path, upstream: Hop, *, forward_all: bool = False) -> Iterator[Hop]:
    port = free_port()
    name = "agent-forwarding" if forward_all else "agent"
    argv = [sys.executable, str(AGENT), "--port", str(port), "--upstream", upstream.url]
    command = Command(
        name=name,
        argv=[*argv, "--forward-all"] if forward_all else argv,
        ready_url=f"http://127.0.0.1:{port}/health",
        ready_limit_s=30.0,
        env={"AGENT_UPSTREAM_KEY": upstream.api_key or ""},
        folder=folder,
    )
    with running(command) as process:
        yield Hop(name=name, port=port, process=process)

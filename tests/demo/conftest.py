import socket
from contextlib import asynccontextmanager

import pytest

from canary.demo.generation import Model
from canary.demo.pipeline import demo_pipeline

SCALE = 0.03
LONG = Model(reasoning_tokens=1500, thinking_tokens_per_s=400.0)  # longer than any budget that a fault sets


@pytest.fixture
def demo():
    """Starts a demo: `async with demo(faults) as (running, hops by name)`."""

    @asynccontextmanager
    async def start(faults=None, **options):
        options = {"scale": SCALE, "model": LONG, "answer_for": lambda _prompt: "25", **options}
        async with demo_pipeline(faults or {}, **options) as running:
            yield running, {hop.name: hop for hop in running.pipeline().hops}

    return start


@pytest.fixture
def unused_base():
    """A base URL where nobody listens for as long as the test runs: the port is bound, and not listened on."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{taken.getsockname()[1]}"

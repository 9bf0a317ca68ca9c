"""The lab, started once a session: vLLM on CPU, LiteLLM, an agent, nginx, HAProxy and Caddy. See README.md here."""

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.real.lab import agents, command, proxies
from tests.real.lab import gateway as gateways
from tests.real.lab.engine import engine as serve
from tests.real.lab.hop import Hop
from tests.real.lab.processes import free_port

Edge = Callable[[str, int], Hop]


@pytest.fixture(scope="session")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where every server keeps its log and config; pytest keeps the folders of the last three sessions."""
    return tmp_path_factory.mktemp("lab")


@pytest.fixture(scope="session")
def engine(lab: Path) -> Iterator[Hop]:
    with serve(free_port(), lab / "vllm", reasoning_parser="qwen3") as hop:
        yield hop


@pytest.fixture(scope="session")
def noparser_port() -> int:
    return free_port()


@pytest.fixture
def noparser(lab: Path, noparser_port: int) -> Iterator[Hop]:
    """A second engine, as people start it who forget `--reasoning-parser`; only for the test that asks for it."""
    with serve(noparser_port, lab / "vllm-noparser", reasoning_parser=None) as hop:
        yield hop


@pytest.fixture(scope="session")
def gateway(lab: Path, engine: Hop, noparser_port: int) -> Iterator[Hop]:
    with gateways.gateway(lab / "litellm", engine_port=engine.port, noparser_port=noparser_port) as hop:
        command.probe(hop, "tiny", "--max-tokens", "8")  # its first request takes over a second longer than the others
        yield hop


@pytest.fixture(scope="session")
def agent(lab: Path, gateway: Hop) -> Iterator[Hop]:
    with agents.agent(lab / "agent", gateway) as hop:
        yield hop


@pytest.fixture(scope="session")
def forwarding_agent(lab: Path, gateway: Hop) -> Iterator[Hop]:
    with agents.agent(lab / "agent-forwarding", gateway, forward_all=True) as hop:
        yield hop


@pytest.fixture(scope="session")
def edge(lab: Path, agent: Hop) -> Iterator[Edge]:
    """The proxy of that kind with that read timeout in seconds, in front of the agent; started when first asked for."""
    with ExitStack() as stack:
        started: dict[str, dict[int, Hop]] = {}

        def hop_of(kind: str, read_timeout_s: int) -> Hop:
            if kind not in started:
                _require(kind)
                limits = proxies.READ_TIMEOUTS_S
                running = proxies.proxy(kind, lab / kind, upstream=agent, read_timeouts_s=limits)
                started[kind] = dict(stack.enter_context(running))
            return started[kind][read_timeout_s]

        yield hop_of


def _require(kind: str) -> None:
    if proxies.binary_of(kind) is None:
        package = kind.partition("-")[0]
        missing = f"{package} is not installed; on Debian: apt-get install {package}"
        if os.environ.get("CI"):
            pytest.fail(missing)
        pytest.skip(missing)

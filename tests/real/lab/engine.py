"""vLLM on the CPU, serving the tiny model as `tiny`. Up in 25 to 65 s, about 2.5 GiB, about 300 tokens/s."""

import re
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.real.lab.built import built, lab_home
from tests.real.lab.hop import Hop
from tests.real.lab.install import VLLM, key, python_of
from tests.real.lab.processes import Command, running

MODEL_MAKER = Path(__file__).with_name("tiny_model.py")
READY_LIMIT_S = 300.0
ENVIRONMENT = {
    "HF_HUB_OFFLINE": "1",
    "VLLM_CPU_KVCACHE_SPACE": "1",  # GiB
    "VLLM_NO_USAGE_STATS": "1",
    "DO_NOT_TRACK": "1",
    "PYTHONPATH": str(Path(__file__).with_name("patient")),  # see there: without it nothing else on the machine can run
}


@contextmanager
def engine(port: int, folder: Path, *, reasoning_parser: str | None) -> Iterator[Hop]:
    """A vLLM on `port`. Without a reasoning parser it refuses budgets, and reasoning comes as ordinary content."""
    python = str(python_of(VLLM))
    # `-m`, because the `vllm` command looks for the metadata of a package of that name and finds vllm-cpu.
    argv = [python, "-m", "vllm.entrypoints.openai.api_server", "--model", str(_model()), "--served-model-name", "tiny"]
    argv += ["--load-format", "dummy", "--dtype", "bfloat16", "--max-model-len", "8192", "--enforce-eager"]
    argv += ["--host", "127.0.0.1", "--port", str(port)]
    if reasoning_parser:
        argv += ["--reasoning-parser", reasoning_parser]
    name = "vllm" if reasoning_parser else "vllm-noparser"
    command = Command(
        name=name,
        argv=argv,
        ready_url=f"http://127.0.0.1:{port}/health",
        ready_limit_s=READY_LIMIT_S,
        env=ENVIRONMENT,
        folder=folder,
    )
    with running(command) as process:
        yield Hop(name=name, port=port, process=process)


def wait_generated(hop: Hop, tokens: int, limit_s: float) -> None:
    """Returns once the engine has generated so many tokens in all, by its own count."""
    deadline = time.monotonic() + limit_s
    while generated(hop) < tokens:
        if time.monotonic() > deadline:
            problem = f"{hop.name} did not generate {tokens} tokens in {limit_s:.0f} s"
            raise RuntimeError(problem)
        time.sleep(0.05)


def generated(hop: Hop) -> float:
    with urllib.request.urlopen(f"{hop.base}/metrics", timeout=5) as answer:
        text = answer.read().decode()
    found = re.search(r"^vllm:generation_tokens_total(?:\{[^}]*\})? (\S+)$", text, re.MULTILINE)
    return float(found[1]) if found else 0.0


def _model() -> Path:
    recipe = f"{MODEL_MAKER.read_text('utf-8')}\n{key(VLLM)}"
    return built(lab_home() / "tiny-model", recipe, _make_model)


def _make_model(folder: Path) -> None:
    argv = (str(python_of(VLLM)), str(MODEL_MAKER), str(folder))
    done = subprocess.run(argv, capture_output=True, text=True, check=False, timeout=300)
    if done.returncode:
        problem = f"making the tiny model failed:\n{done.stderr[-3000:]}"
        raise RuntimeError(problem)

"""A LiteLLM proxy in front of the engines, with the settings that lose or move reasoning as models of their own."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.real.lab.hop import Hop
from tests.real.lab.install import LITELLM, python_of
from tests.real.lab.processes import Command, free_port, running

READY_LIMIT_S = 180.0
# LiteLLM refuses master keys that are easy to guess. This one opens a proxy on loopback, for as long as the tests run.
MASTER_KEY = "sk-lab-5f0c2d9be7a1436c8e64"


@contextmanager
def gateway(folder: Path, *, engine_port: int, noparser_port: int) -> Iterator[Hop]:
    """The proxy. Nobody needs to listen on `noparser_port` unless the model `tiny-noparser` is asked for."""
    port = free_port()
    folder.mkdir(parents=True, exist_ok=True)
    config = folder / "litellm.json"  # JSON is YAML
    config.write_text(json.dumps(_config(engine_port, noparser_port)), encoding="utf-8")
    python = python_of(LITELLM)
    command = Command(
        name="litellm",
        argv=(str(python.with_name("litellm")), "--config", str(config), "--host", "127.0.0.1", "--port", str(port)),
        ready_url=f"http://127.0.0.1:{port}/health/liveliness",
        ready_limit_s=READY_LIMIT_S,
        env={"LITELLM_LOCAL_MODEL_COST_MAP": "True", "DO_NOT_TRACK": "1"},
        folder=folder,
    )
    with running(command) as process:
        yield Hop(name="litellm", port=port, process=process, api_key=MASTER_KEY)


def _config(engine_port: int, noparser_port: int) -> dict[str, object]:
    models = {
        "tiny": _served(engine_port),
        "tiny-dropped": {**_served(engine_port), "additional_drop_params": ["thinking_token_budget"]},
        "tiny-merged": {**_served(engine_port), "merge_reasoning_content_in_choices": True},
        "tiny-noparser": _served(noparser_port),
    }
    return {
        "model_list": [{"model_name": name, "litellm_params": params} for name, params in models.items()],
        "router_settings": {"num_retries": 0, "disable_cooldowns": True},
        "general_settings": {"master_key": MASTER_KEY},
    }


def _served(port: int) -> dict[str, object]:
    return {"model": "hosted_vllm/tiny", "api_base": f"http://127.0.0.1:{port}/v1", "api_key": "unused"}

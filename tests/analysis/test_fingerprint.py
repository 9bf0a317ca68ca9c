import pytest

from canary.analysis.fingerprint import changes, same_software
from canary.core.measurement import Fingerprint


def vllm(text):
    return Fingerprint(system_fingerprint=text)


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        pytest.param(Fingerprint(), Fingerprint(), (), id="nothing said"),
        pytest.param(vllm("vllm-0.22.1-aa"), vllm("vllm-0.22.1-aa"), (), id="the same"),
        pytest.param(
            Fingerprint(reasoning_field="reasoning", model="m"), Fingerprint(model="m"), (), id="one says less"
        ),
        pytest.param(vllm("vllm-0.22.1-aa"), vllm("vllm-0.23.0-bb"), ("vLLM 0.22.1 -> 0.23.0",), id="vLLM's version"),
        pytest.param(
            vllm("vllm-0.22.1-tp1-aa"),
            vllm("vllm-0.22.1-tp2-bb"),
            ("vLLM's configuration tp1-aa -> tp2-bb",),
            id="vLLM's configuration",
        ),
        pytest.param(
            vllm("vllm-0.22.1"), vllm("vllm-0.22.1-bb"), ("vLLM's configuration unnamed -> bb",), id="one unnamed"
        ),
        pytest.param(
            vllm("vllm-0.22.1.dev3+g1234-aa"),
            vllm("vllm-0.22.1-aa"),
            ("vLLM 0.22.1.dev3+g1234 -> 0.22.1",),
            id="a build",
        ),
        pytest.param(vllm("fp_a"), vllm("fp_b"), ("fingerprint fp_a -> fp_b",), id="opaque"),
        pytest.param(vllm("vllm-0.22.1-a"), vllm("fp_b"), ("fingerprint vllm-0.22.1-a -> fp_b",), id="another engine"),
        pytest.param(
            Fingerprint(model="a", server="uvicorn", litellm_version="1.1", reasoning_field="reasoning_content"),
            Fingerprint(model="b", server="nginx", litellm_version="1.2", reasoning_field="reasoning"),
            (
                "model a -> b",
                "server uvicorn -> nginx",
                "LiteLLM 1.1 -> 1.2",
                "reasoning field reasoning_content -> reasoning",
            ),
            id="all of it",
        ),
        pytest.param(vllm("a\x1b[2J\n"), vllm("b" * 500), (f"fingerprint a [2J  -> {'b' * 79}…",), id="hostile text"),
    ],
)
def test_what_changed(before, after, told):
    assert changes(before, after) == told
    assert same_software(before, after) == (told == ())

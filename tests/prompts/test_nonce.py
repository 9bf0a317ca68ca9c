import re

from canary.prompts.nonce import nonce, opening


def test_each_request_of_each_run_has_its_own():
    marks = {
        nonce(seed=seed, arm=arm) for seed in range(200) for arm in ("vllm/plain", "vllm/control/1", "agent/plain")
    }
    assert len(marks) == 600
    assert all(re.fullmatch(r"[0-9a-f]{12}", mark) for mark in marks)


def test_it_can_be_computed_again():
    assert nonce(seed=1, arm="a") == nonce(seed=1, arm="a")


def test_it_differs_in_its_first_characters():
    first = {opening(nonce(seed=1, arm=str(arm)))[:12] for arm in range(100)}
    assert len(first) > 90


def test_it_is_one_line():
    assert opening("7f3a") == "[probe 7f3a]\n"

import json
from datetime import UTC, datetime

import pytest

from canary.checks.echo import without_prompt
from canary.core.observation import Completed, Exchange

QUESTION = "[probe 12ab]\nHow many lattice paths lead from (0, 0) to (6, 8) without (3, 3)?"
KOREAN = "[probe 34cd]\n격자에서 (0, 0)에서 (6, 8)까지 가는 최단 경로의 수를 구하시오."


def exchange(request: object) -> Exchange:
    return Exchange(
        protocol="openai-chat",
        url="http://h/",
        started_at=datetime(2026, 1, 1, tzinfo=UTC),
        request=request,
        end=Completed(at=1.0),
    )


def asked(*texts: object) -> Exchange:
    return exchange({"messages": [{"role": "user", "content": text} for text in texts]})


@pytest.mark.parametrize("prompt", [QUESTION, KOREAN, "가나다라" * 30_000 + QUESTION], ids=["en", "ko", "long"])
@pytest.mark.parametrize(
    "echo",
    [
        pytest.param(lambda prompt: prompt, id="as it is"),
        pytest.param(lambda prompt: json.dumps(prompt)[1:-1], id="escaped"),
        pytest.param(lambda prompt: json.dumps(prompt, ensure_ascii=False)[1:-1], id="JSON"),
        pytest.param(lambda prompt: repr(prompt)[1:-1], id="Python"),
        pytest.param(lambda prompt: prompt[:60], id="cut off"),
    ],
)
def test_nothing_of_the_prompt_is_left(prompt: str, echo):
    left = without_prompt(f"invalid input: '{echo(prompt)[:3000]}' in field messages", asked(prompt))
    assert left.startswith("invalid input: '")
    assert "(6, 8)" not in left
    assert "가나" not in left
    assert len(left) < 120


def test_parts_of_a_list_are_prompts_too():
    parts = [{"type": "text", "text": QUESTION}, {"type": "image_url", "image_url": {"url": "x"}}]
    assert without_prompt(f"got {QUESTION}", asked(parts)) == "got […]"


@pytest.mark.parametrize(
    "request_",
    [None, [], {"messages": None}, {"messages": [None, {"content": None}, {"content": [None]}]}],
    ids=["none", "list", "no messages", "odd messages"],
)
def test_without_a_prompt_nothing_is_left_out(request_: object):
    assert without_prompt(f"got {QUESTION}", exchange(request_)) == f"got {QUESTION}"


def test_what_only_sounds_alike_stays():
    message = "the number of paths is not a known parameter"
    assert without_prompt(message, asked(QUESTION)) == message

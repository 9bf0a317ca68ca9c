import json
import shlex

import pytest

from canary.wire.curl import curl
from tests.fakes.exchanges import exchange_of

HOSTILE = 'it\'s $(rm -rf /) `id` "x" \\ \n 한국어 ; &'


def arguments(request):
    return shlex.split(curl(exchange_of(b"", request=request)))


@pytest.mark.parametrize("text", ["Why?", HOSTILE, ""])
def test_the_shell_gives_the_body_back_as_it_was(text):
    request = {"model": "m", "messages": [{"role": "user", "content": text}], "stream": True}
    words = arguments(request)
    assert words[:3] == ["curl", "-N", "/v1/chat/completions"]
    assert json.loads(words[words.index("-d") + 1]) == request


def test_the_key_is_left_to_the_reader():
    assert "Authorization: Bearer $CANARY_KEY" in arguments({"model": "m"})


def test_a_whole_document_is_cut_and_says_so():
    body = arguments({"messages": [{"content": "x" * 100_000}]})[-1]
    assert len(body) < 5000
    assert "[cut: 100000 characters in all]" in body

from dataclasses import fields, replace

import pytest

from canary.core.notification import Message
from canary.notify.tidy import block, cut, line, tidy
from tests.fakes.messages import MESSAGE, hostile

HARMFUL = "\x00\x07\x1b\x7f\x85\u2028\u202e\u2066\u200f\u061c\ufeff\ud800"


@pytest.mark.parametrize("sign", HARMFUL)
def test_no_harmful_sign_is_left_anywhere(sign):
    text = repr(tidy(hostile(items=2).message))
    assert sign not in text
    assert line(f"a{sign}b") == "a b"
    assert block(f"a{sign}b", most=10) == "a b"


def test_ordinary_text_is_left_alone():
    assert tidy(MESSAGE) == MESSAGE
    assert line("مرحبا 한국어 \U0001f480 <b>") == "مرحبا 한국어 \U0001f480 <b>"


def test_a_line_is_one_line_and_a_block_keeps_its_lines():
    assert line("a\r\n\tb\n\nc") == "a b c"
    assert block("a\r\n\tb", most=10) == "a\n b"


@pytest.mark.parametrize(("text", "expected"), [("abc", "abc"), ("abcd", "ab…"), ("a  d", "a…"), ("", "")])
def test_cut(text, expected):
    assert cut(text, 3) == expected


def test_everything_has_an_end():
    """Every field of a message, present and to come: one that `tidy` forgets fails here."""
    tidied = tidy(hostile(times=20_000, items=500).message)
    for field in fields(Message):
        value = getattr(tidied, field.name)
        assert len(repr(value)) < 250_000, field.name
        if isinstance(value, tuple):
            assert len(value) <= 51, field.name
    assert tidied.pipelines[-1] == "and 450 more"
    assert tidied.changed[-1] == "and 480 more"


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("https://a.example/x", "https://a.example/x"),
        ("http://a.example/x", "http://a.example/x"),
        ("javascript:alert(1)", None),
        ("https://a.example/" + "x" * 2000, None),
        ("", None),
        (None, None),
    ],
)
def test_only_what_a_browser_opens_is_a_link(url, expected):
    assert tidy(replace(MESSAGE, run_url=url)).run_url == expected

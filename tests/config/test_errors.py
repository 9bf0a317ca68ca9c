"""How much of a found value an error repeats."""

import pytest

from canary.config.errors import shown


@pytest.mark.parametrize(
    ("path", "value", "words"),
    [
        pytest.param(("name",), None, "nothing", id="nothing"),
        pytest.param(("name",), True, "true", id="a word of YAML"),
        pytest.param(("name",), [], "an empty list", id="an empty list"),
        pytest.param(("name",), {"a": 1}, "a mapping", id="a mapping"),
        pytest.param(("name",), " ", "empty text", id="empty text"),
        pytest.param(("name",), "plain", '"plain"', id="text"),
        pytest.param(("hops", 0, "headers", "X-A"), "plain", "plain text", id="a header"),
        pytest.param(("hops", 0, "headers", "X-A"), 5, "a number", id="a header's number"),
        pytest.param(("hops", 0, "auth", "bearer"), "${env:KEY}", '"${env:KEY}"', id="a reference alone"),
        pytest.param(("hops", 0, "auth", "bearer"), "a${env:KEY}", "plain text", id="a reference beside text"),
        pytest.param(("receivers", 0, "slack"), "plain", "plain text", id="a receiver"),
        pytest.param(("receivers", 0), "plain", "plain text", id="a whole receiver"),
        pytest.param(("heartbeat",), "https://a/key", "plain text", id="a heartbeat that is text"),
        pytest.param(("heartbeat", "url"), "https://a/key", "plain text", id="a heartbeat's URL"),
        pytest.param(("heartbeat", "every"), "5x", '"5x"', id="a heartbeat's interval"),
        pytest.param(("listen",), "plain", "plain text", id="a listen that is text"),
        pytest.param(("listen", "token"), "plain", "plain text", id="a token"),
        pytest.param(("listen", "address"), "1.2.3.4", '"1.2.3.4"', id="an address"),
        pytest.param(("any",), "http://u:p@h/x?key=1", '"http://…@h/x?…"', id="a URL anywhere"),
        pytest.param(("any",), "postgresql://u:p/w@h/x", '"postgresql://…@h/x"', id="a slash in a password"),
        pytest.param(("any",), "postgresql://u:p@w@h/x", '"postgresql://…@h/x"', id="an at in a password"),
    ],
)
def test_what_was_found(path: tuple[str | int, ...], value: object, words: str):
    assert shown(path, value) == words

import pytest

from canary.wire.code_spans import CodeSpans


@pytest.mark.parametrize(
    ("text", "inside"),
    [
        pytest.param("plain ", False, id="plain"),
        pytest.param("a `", True, id="open span"),
        pytest.param("a `b` ", False, id="closed span"),
        pytest.param("a ``b` ", True, id="a span closes with as many"),
        pytest.param("a ``b`` ", False, id="double span"),
        pytest.param("a `b\n", False, id="a span ends with its line"),
        pytest.param("```py\n", True, id="fence"),
        pytest.param("   ```\n", True, id="indented fence"),
        pytest.param("    ```\nx", False, id="four spaces are no fence"),
        pytest.param("x ```\ny", False, id="a fence begins its line"),
        pytest.param("~~~\n", True, id="tilde fence"),
        pytest.param("~~~\n```\n", True, id="another fence does not close"),
        pytest.param("~~~\na\n~~~\n", False, id="tilde fence closed"),
        pytest.param("````\n```\n", True, id="a shorter fence does not close"),
        pytest.param("```\na\n```\n", False, id="fence closed"),
        pytest.param("```\na `\n", True, id="back ticks in a fence are text"),
        pytest.param("```x``` ", False, id="a fence's own line with a second run is a span"),
        pytest.param("```x`` ", True, id="that span closes with as many"),
        pytest.param("a ~~b~~ ", False, id="strikethrough"),
        pytest.param("`~", True, id="a tilde ends a run"),
        pytest.param("~`", True, id="a back tick ends a run"),
        pytest.param("", False, id="nothing"),
    ],
)
def test_inside(text, inside):
    whole, pieces = CodeSpans(), CodeSpans()
    whole.feed(text)
    for character in text:
        pieces.feed(character)
    assert (inside, inside) == (whole.inside, pieces.inside)


@pytest.mark.parametrize(("text", "expected"), [("", True), ("a", False), ("a\n", True), ("a\n ", False)])
def test_line_start(text, expected):
    code = CodeSpans()
    code.feed(text)
    assert code.line_start is expected

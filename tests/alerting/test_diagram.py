import re

import pytest

from canary.alerting.diagram import as_mermaid, as_text
from canary.alerting.incidents import NEXT
from canary.core.incident import State


def test_text_has_every_cell():
    header, *rows = (line.split() for line in as_text().splitlines())
    cells = {(row[0], event): after for row in rows for event, after in zip(header, row[1:], strict=True)}
    assert {key: after for key, after in cells.items() if after != "."} == {
        (str(state), str(event)): str(after) for (state, event), after in NEXT.items()
    }
    assert [row[0] for row in rows] == list(State)


@pytest.mark.parametrize(
    ("drawn", "arrow"),
    [
        pytest.param(as_mermaid(), r"(\w+) --> (\w+): (.+)", id="mermaid"),
    ],
)
def test_pictures_have_every_arrow(drawn, arrow):
    found = {(a, event): b for a, b, label in re.findall(arrow, drawn) for event in label.split(", ")}
    assert found == {(str(state), str(event)): str(after) for (state, event), after in NEXT.items()}

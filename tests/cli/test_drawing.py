from dataclasses import replace

import pytest

from canary.cli.drawing import draw
from canary.cli.errors import UsageError
from tests.fakes.stored import run_of


def test_an_svg_that_stands_alone(tmp_path):
    draw(run_of("r1"), tmp_path / "run.svg")
    text = (tmp_path / "run.svg").read_text("utf-8")
    assert text.startswith("<svg xmlns=")
    assert "run r1" in text


def test_a_png(tmp_path):
    draw(run_of("r1"), tmp_path / "run.png")
    assert (tmp_path / "run.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("run", "name", "said"),
    [
        pytest.param(replace(run_of("r1"), results=()), "run.svg", "no stream of run r1 was kept", id="no stream"),
        pytest.param(run_of("r1"), "run.gif", "must end in .svg or .png", id="another form"),
        pytest.param(run_of("r1"), "nowhere/run.svg", "cannot write", id="no folder"),
    ],
)
def test_what_cannot_be_drawn(tmp_path, run, name, said):
    with pytest.raises(UsageError, match=said):
        draw(run, tmp_path / name)

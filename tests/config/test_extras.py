from pathlib import Path

import pytest

from canary.config.extras import extra_problems
from canary.config.source import Document
from canary.config.view import View


@pytest.mark.parametrize(
    ("module", "problems"),
    [
        pytest.param("json", [], id="installed"),
        pytest.param(
            "no_such_module",
            [
                (
                    "canary.yaml: storage: found what is not installed, expected the extra postgres "
                    "(pip install 'reasoning-canary[postgres]')"
                )
            ],
            id="not installed",
        ),
    ],
)
def test_a_missing_extra_is_found_before_it_is_needed(module: str, problems: list[str]):
    place = View(Document(file="canary.yaml", folder=Path()), {}).at("storage")
    assert problems == [str(problem) for problem in extra_problems(place, "postgres", module)]

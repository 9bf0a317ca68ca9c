"""Every file in `bad/` opens with the exact messages that it must give, one `# error: ` line for each.

`{checks}` and the like stand for the names of a table, so that a new row breaks nothing here.
"""

from pathlib import Path

import pytest

from canary.checks import CHECKS
from canary.config.errors import ConfigError, one_of
from canary.config.load import load_plan
from canary.config.probes import canned_probes
from canary.notify import NOTIFIERS
from canary.wire import WIRES
from canary.wire.budgets import BUDGETS
from tests.config.conftest import SECRET

BAD = Path(__file__).parent / "bad"
FILES = sorted([*BAD.glob("*.yaml"), *BAD.glob("*/main.yaml")])
TABLES = {
    "checks": CHECKS,
    "budgets": BUDGETS,
    "probes": canned_probes(),
    "protocols": WIRES,
    "notifiers": NOTIFIERS,
}
MARK = "# error: "


def expected_of(path: Path) -> list[str]:
    lines = path.read_bytes().decode("utf-8", errors="replace").splitlines()
    expected = [line.removeprefix(MARK) for line in lines if line.startswith(MARK)]
    for name, table in TABLES.items():
        expected = [line.replace(f"{{{name}}}", one_of(sorted(table))) for line in expected]
    return expected


def errors_of(path: Path, env: dict[str, str]) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        load_plan([path], env=env)
    return str(caught.value).replace(f"{path.parent}/", "").splitlines()


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(BAD)))
def test_a_bad_file_gives_exactly_its_messages(path: Path, env: dict[str, str]):
    errors = errors_of(path, env)
    assert expected_of(path) == errors
    for word in (SECRET, "sk-plain-secret", "pydantic", "input_value", "another value"):
        assert word not in "\n".join(errors)


def test_there_are_enough_bad_files():
    assert len(FILES) >= 120
    assert all(expected_of(path) for path in FILES)

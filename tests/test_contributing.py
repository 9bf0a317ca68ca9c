"""What CONTRIBUTING.md points at is there, so that the map cannot rot."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
TEXT = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
NAMED = re.findall(r"`([^`\n]+)`", TEXT)
PATHS = sorted({name for name in NAMED if "/" in name and " " not in name})
REGISTRIES = sorted({name for name in NAMED if re.fullmatch(r"[A-Z]{4,}", name)})
TARGETS = re.findall(r"^    make (\w+)", TEXT, re.MULTILINE)


@pytest.mark.parametrize("path", PATHS)
def test_named_paths_exist(path: str):
    assert (ROOT / path).exists()


@pytest.mark.parametrize("name", REGISTRIES)
def test_named_registries_are_literal_dicts_in_the_package(name: str):
    sources = [path.read_text(encoding="utf-8") for path in (ROOT / "canary").rglob("*.py")]
    assert any(re.search(rf"^{name}: Mapping\[.+\] = \{{", source, re.MULTILINE) for source in sources)


@pytest.mark.parametrize("target", TARGETS)
def test_named_make_targets_exist(target: str):
    assert f"\n{target}:" in (ROOT / "Makefile").read_text(encoding="utf-8")


def test_the_table_has_not_lost_its_rows():
    assert len(PATHS) >= 12
    assert {"BUDGETS", "CHECKS", "WIRES"} <= set(REGISTRIES)
    assert {"check", "real"} <= set(TARGETS)

"""docs/findings.md has a row for whatever a check can say, so that nobody is left alone with a reason at night."""

import re
from pathlib import Path

import pytest

from canary.core.verdict import Status
from tests.fakes.reasons import reasons

TEXT = (Path(__file__).parent.parent / "docs" / "findings.md").read_text(encoding="utf-8")
REASONS = reasons()
GOOD = {"in_time", "room"}  # of a PASS, decided in one expression with its opposite


def rows(title: str) -> list[list[str]]:
    """The cells of the section's table."""
    (section,) = re.findall(rf"^## {title}.*?\n(.*?)(?=^## |\Z)", TEXT, re.DOTALL | re.MULTILINE)
    lines = [line for line in section.splitlines() if line.startswith("| ") and not line.startswith("| reason |")]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]


def code(cell: str) -> set[str]:
    return set(re.findall(r"`([a-z0-9_]+)`", cell))


def documented(check: str) -> set[str]:
    if check == Status.UNKNOWN:
        return {reason for row in rows("UNKNOWN") for reason in code(row[0])}
    if f"\n## `{check}`" in TEXT:
        return {reason for row in rows(f"`{check}`") for reason in code(row[0])}
    return {reason for row in rows("Never worse than WARN") if code(row[0]) == {check} for reason in code(row[1])}


@pytest.mark.parametrize("check", REASONS)
def test_every_reason_has_a_row_and_none_more(check):
    assert documented(check) == REASONS[check] - GOOD


@pytest.mark.parametrize(
    ("check", "reason"),
    [
        ("reachable", "server_error"),
        ("reachable", "dns"),
        ("complete", "hung"),
        ("streaming", "field_renamed"),
        ("baseline", "slower"),
        ("budget", "ignored"),
        (Status.UNKNOWN, "probe_misconfigured"),
        (Status.UNKNOWN, "redirected"),
    ],
)
def test_reasons_are_found_in_all_the_forms_in_which_they_are_written(check, reason):
    assert reason in REASONS[check]


def test_each_row_says_why_and_what_to_do():
    lines = [line for line in TEXT.splitlines() if line.startswith("| ")]
    assert all(cell.strip() for line in lines for cell in line.strip("|").split(" | "))

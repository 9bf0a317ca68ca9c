"""docs/findings.md has a row for whatever a check can say, so that nobody is left alone with a reason at night."""

import re
from pathlib import Path

import pytest

from canary.checks import CHECKS
from canary.checks.budget_arms import NAME as BUDGET
from canary.core.run import CutShort
from canary.core.verdict import Status
from canary.web.checks_ko import REASONS  # held complete over the checks by tests/web/test_sayings.py

TEXT = (Path(__file__).parent.parent / "docs" / "findings.md").read_text(encoding="utf-8")
# A PASS needs nothing done.
GOOD = {
    *("answered", "as_asked", "as_below", "clean", "ended", "forwarded", "in_time", "kept", "not_asked", "plausible"),
    *("right", "room", "streams", "survives", "unsettled", "usual", "visible"),
}
SAID = sorted((check, reason) for check, reason in REASONS if check is not None and reason not in GOOD)


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


@pytest.mark.parametrize(("check", "reason"), SAID, ids=": ".join)
def test_every_reason_has_a_row(check, reason):
    assert reason in documented(check) | documented(Status.UNKNOWN)


@pytest.mark.parametrize("check", [*CHECKS, BUDGET])
def test_every_row_is_a_reason(check):
    assert documented(check)
    assert documented(check) <= {reason for where, reason in REASONS if where in (check, None)}


def test_every_row_of_what_could_not_be_told_is_a_reason():
    assert documented(Status.UNKNOWN) <= {reason for _, reason in REASONS} | set(CutShort) | {"no_verdict"}
    assert {*CutShort, *(reason for check, reason in REASONS if check is None)} <= documented(Status.UNKNOWN)


def test_each_row_says_why_and_what_to_do():
    lines = [line for line in TEXT.splitlines() if line.startswith("| ")]
    assert all(cell.strip() for line in lines for cell in line.strip("|").split(" | "))

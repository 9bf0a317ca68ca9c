"""Which earlier runs count. Rows are written as letters: what is clean, and of which software."""

from dataclasses import replace
from datetime import timedelta

import pytest

from canary.analysis.examples import examples_of
from canary.core.measurement import Fingerprint
from tests.fakes.pasts import NEW, NOW, OLD, pasts

KINDS = {
    "c": {"clean": True},
    "x": {"clean": False},
    "C": {"clean": True, "fingerprint": NEW},
    "X": {"clean": False, "fingerprint": NEW},
    "-": {"clean": False, "values": {"total_s": 0.1}},  # no token came
}


def rows(letters, *, every_s=300.0):
    """`c10 x2`: ten clean rows, then two that are not."""
    kinds = "".join(part[0] * int(part[1:] or 1) for part in letters.split())
    return tuple(
        replace(row, run_id=str(index), **KINDS[kind])
        for index, (row, kind) in enumerate(zip(pasts(*[1.0] * len(kinds), every_s=every_s), kinds, strict=True))
    )


def ids(found):
    return [int(row.run_id) for row in found]


@pytest.mark.parametrize(
    ("letters", "expected"),
    [
        pytest.param("", [], id="nothing"),
        pytest.param("c4", [], id="only the recent"),
        pytest.param("c10", [0, 1, 2, 3, 4, 5], id="all but the recent"),
        pytest.param("c4 x1 c9", [0, 1, 5, 6, 7, 8, 9], id="what led up to a failure is no example"),
        pytest.param("c6 x4", [0, 1, 2, 3], id="nor where the failure is recent"),
        pytest.param("c4 -3 c6", [0, 1, 2, 3, 7, 8], id="what brought no answer is not there"),
        pytest.param("x30", [], id="nothing was ever clean"),
    ],
)
def test_clean_runs_count(letters, expected):
    assert ids(examples_of(rows(letters), OLD, NOW).own) == expected


HOUR = 3600.0


@pytest.mark.parametrize(
    ("letters", "every_s", "own", "earlier"),
    [
        pytest.param("c10 x80", HOUR, range(8, 86), range(8), id="three days and twenty runs"),
        pytest.param("c10 x60", HOUR, range(8), [], id="not three days"),
        pytest.param("c10 x21", 6 * HOUR, range(8), [], id="not twenty runs that are no longer recent"),
        pytest.param("c10 x22", 6 * HOUR, range(8, 28), range(8), id="twenty of them"),
        pytest.param("x80", HOUR, range(76), [], id="from the start"),
        pytest.param("x80 c10", HOUR, range(86), [], id="a new normal that is clean by now"),
        pytest.param("c10 -80 c10", HOUR, [*range(10), *range(90, 96)], [], id="an outage is no normal"),
        pytest.param("x80 c10 x80", HOUR, range(88, 166), range(80, 88), id="the latest of two"),
    ],
)
def test_a_new_normal(letters, every_s, own, earlier):
    found = examples_of(rows(letters, every_s=every_s), OLD, NOW)
    assert ids(found.own) == list(own)
    assert ids(found.earlier) == list(earlier)


def test_a_pause_is_no_new_normal():
    """The daemon did not run for a month."""
    before = tuple(replace(row, at=row.at - timedelta(days=30)) for row in rows("c30 x2"))
    found = examples_of((*before, *rows("c10")), OLD, NOW)
    assert len(found.own) == 28 + 6 + 2 - 2


@pytest.mark.parametrize(
    ("letters", "own", "before", "since"),
    [
        pytest.param("c30", 0, 26, ("vLLM 0.22.1 -> 0.23.0",), id="the first answer of the new one"),
        pytest.param("c30 C10", 6, 30, ("vLLM 0.22.1 -> 0.23.0",), id="its first ones"),
        pytest.param("c10 C10", 6, 10, (), id="too few of the old one to tell what changed"),
        pytest.param("C30", 26, 0, (), id="nothing changed"),
        pytest.param("c30 C30", 26, 30, ("vLLM 0.22.1 -> 0.23.0",), id="enough of both"),
        pytest.param("c30 X5", 0, 28, ("vLLM 0.22.1 -> 0.23.0",), id="the new one is worse from the start"),
    ],
)
def test_a_new_software_is_apart_from_the_old_one(letters, own, before, since):
    found = examples_of(rows(letters), NEW, NOW)
    assert (len(found.own), len(found.before), found.since) == (own, before, since)


def test_an_old_software_that_does_not_always_say_all_is_one():
    """A run without reasoning names no reasoning field."""
    silent, speaking = replace(OLD, reasoning_field=None), replace(OLD, reasoning_field="reasoning")
    history = tuple(replace(row, fingerprint=(silent, speaking)[index % 2]) for index, row in enumerate(rows("c30")))
    found = examples_of(history, NEW, NOW)
    assert (len(found.before), found.since) == (26, ("vLLM 0.22.1 -> 0.23.0",))


def test_what_says_nothing_of_itself_is_the_same():
    found = examples_of(rows("c15 C15"), Fingerprint(), NOW)
    assert (len(found.own), found.since) == (26, ())


def test_ever_changing_fingerprints_are_one_past():
    """Hosted services answer from many: none has twenty, and none is a change."""
    history = tuple(
        replace(row, fingerprint=Fingerprint(system_fingerprint=f"fp_{index % 10}"))
        for index, row in enumerate(rows("c60"))
    )
    found = examples_of(history, Fingerprint(system_fingerprint="fp_new"), NOW)
    assert (len(found.own), len(found.before), found.since) == (0, 56, ())

import pytest

from canary.checks.first_visible import check
from canary.core.observation import Completed, DeadlineExceeded, Phase, StampSource, Truncated
from tests.fakes.evidence import evidence, late, outcome, rejected
from tests.fakes.scripted_answer import done, finish, headers, say, think

LIMIT = {"first_visible_limit_s": 20.0}


def first_at(at, **more):
    return evidence(headers(0), think(1), say(at), finish(at), done(at), **LIMIT, **more)


def never(*parts, **more):
    return evidence(headers(0), think(1), *parts, **LIMIT, **more)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        pytest.param(evidence(), None, id="no limit, no verdict"),
        pytest.param(rejected(500, **LIMIT), "UNKNOWN rejected", id="rejected"),
        pytest.param(first_at(19.999), "PASS in_time", id="just in time"),
        pytest.param(first_at(20.0), "PASS in_time", id="at the limit"),
        pytest.param(first_at(20.001), "FAIL late", id="late"),
        pytest.param(first_at(20.4, **late(0.5)), "UNKNOWN prober_fault", id="our lateness explains it"),
        pytest.param(first_at(20.5, **late(0.5)), "UNKNOWN prober_fault", id="our lateness may just explain it"),
        pytest.param(first_at(20.6, **late(0.5)), "FAIL late", id="our lateness does not explain it"),
        pytest.param(first_at(20.4, stamps=StampSource.KERNEL, loop_lag_s=0.5), "FAIL late", id="the kernel's stamp"),
        pytest.param(never(finish(5), done(5)), "FAIL never", id="over without a word"),
        pytest.param(never(finish(5), done(5), end=Truncated(at=9)), "FAIL never", id="over, then broken"),
        pytest.param(never(end=Truncated(at=20.0)), "UNKNOWN cut", id="broke off at the limit"),
        pytest.param(never(end=Truncated(at=20.1)), "FAIL never", id="broke off past the limit"),
        pytest.param(never(end=Completed(at=5.0)), "UNKNOWN cut", id="a clean cut"),
        pytest.param(never(end=DeadlineExceeded(at=300, phase=Phase.BODY)), "FAIL never", id="deadline"),
    ],
)
def test_table(given, expected):
    assert outcome(check, given) == expected


def test_the_numbers_of_a_late_word():
    (verdict,) = check(first_at(31.0))
    assert (verdict.observed, verdict.limit, verdict.unit) == (31.0, 20.0, "s")
    assert verdict.message == "first visible text after 31.0 s, limit 20.0 s"

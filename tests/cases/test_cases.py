"""What was reported from the field, rebuilt as streams: each must get the verdicts that its report deserves.

As much as what is found, what is *not* claimed counts: every verdict other than PASS must stand in the case.
"""

from collections import Counter

import pytest

from tests.fakes.cases import all_cases, judged, told

CASES = all_cases()
LEAST_CASES = 119


@pytest.mark.parametrize("case", [pytest.param(case, id=case.name) for case in CASES])
def test_a_field_failure_gets_its_verdicts(case):
    result = judged(case)
    assert told(result.verdicts, case.verdicts) == case.verdicts
    assert {name: result.number(name) for name in case.numbers} == {
        name: pytest.approx(value, abs=0.001) if isinstance(value, float) else value
        for name, value in case.numbers.items()
    }
    messages = "\n".join(verdict.message for verdict in result.verdicts)
    assert [words for words in case.says if words not in messages] == []


def test_each_case_is_told_apart_and_says_where_it_comes_from():
    assert [name for name, count in Counter(case.name for case in CASES).items() if count > 1] == []
    assert [case.name for case in CASES if not case.url.startswith(("https://", "measured:"))] == []
    assert [case.name for case in CASES if not case.fact.endswith(".") or not case.verdicts] == []


def test_there_are_as_many_cases_as_were_collected():
    assert len({case.id for case in CASES}) >= LEAST_CASES

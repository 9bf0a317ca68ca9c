import pytest

from canary.cli.exit_codes import ExitCode, exit_code
from canary.core.verdict import Status, Verdict, worst


def verdicts(text: str) -> list[Verdict]:
    statuses = {"P": Status.PASS, "W": Status.WARN, "F": Status.FAIL, "U": Status.UNKNOWN}
    return [Verdict(check="c", status=statuses[letter], reason="r", message="m") for letter in text]


@pytest.mark.parametrize(
    ("seen", "status", "code"),
    [
        ("PP", Status.PASS, ExitCode.PASS),
        ("PW", Status.WARN, ExitCode.PASS),
        ("PWU", Status.UNKNOWN, ExitCode.UNKNOWN),
        ("UF", Status.FAIL, ExitCode.FAIL),
        ("F", Status.FAIL, ExitCode.FAIL),
        ("", Status.UNKNOWN, ExitCode.UNKNOWN),
    ],
)
def test_the_worst_status_decides_the_exit_code(seen: str, status: Status, code: ExitCode):
    assert status == worst(verdicts(seen))
    assert code == exit_code(verdicts(seen))

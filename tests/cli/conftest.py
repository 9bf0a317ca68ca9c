import json
from dataclasses import dataclass

import pytest

from canary.cli import main


@dataclass(frozen=True)
class Said:
    """What one command printed, and its exit code."""

    code: int
    out: str
    err: str

    @property
    def json(self):
        return json.loads(self.out)


@pytest.fixture
def canary(capsys):
    """The command line, in this process, as the console script calls it."""

    def run(*arguments: object) -> Said:
        code = main([str(argument) for argument in arguments])
        printed = capsys.readouterr()
        return Said(code=code, out=printed.out, err=printed.err)

    return run

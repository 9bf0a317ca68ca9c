"""Runs the installed `canary` command as a person would, and reads what it printed."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.real.lab.hop import Hop

KEY_VARIABLE = "LAB_API_KEY"
# Greedy and always the same words: the same weights then say the same nonsense, and never happen to stop thinking.
QUESTION = ("--prompt", "Prove that there are infinitely many primes.", "--temperature", "0")
RUN_LIMIT_S = 150.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Printed:
    code: int
    out: Any
    err: str

    @property
    def measurement(self) -> dict[str, Any]:
        measured: dict[str, Any] = self.out["hops"][0]["measurement"]
        return measured

    def verdict(self, check: str, subject: str | None = None) -> dict[str, Any]:
        """The only verdict of that check (on that subject); anything else fails with all that was printed."""
        verdicts = self.out["hops"][0]["verdicts"]
        found = [v for v in verdicts if v["check"] == check and (subject is None or v["subject"] == subject)]
        assert len(found) == 1, f"{check} {subject}: {json.dumps(verdicts, indent=1)}"
        only: dict[str, Any] = found[0]
        return only


def arguments(hop: Hop, model: str, *more: str, question: tuple[str, ...] = QUESTION) -> list[str]:
    argv = [str(Path(sys.executable).with_name("canary")), "probe", "--url", hop.url, "--model", model, "--json"]
    return [*argv, *(("--api-key-env", KEY_VARIABLE) if hop.api_key else ()), *question, *more]


def environment(hop: Hop) -> Mapping[str, str]:
    return {**os.environ, **({KEY_VARIABLE: hop.api_key} if hop.api_key else {})}


def printed(code: int, out: str, err: str) -> Printed:
    assert out.strip(), f"canary printed nothing and ended with {code}: {err}"
    return Printed(code=code, out=json.loads(out), err=err)


def probe(hop: Hop, model: str, *more: str, question: tuple[str, ...] = QUESTION) -> Printed:
    done = subprocess.run(
        arguments(hop, model, *more, question=question),
        env=environment(hop),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=RUN_LIMIT_S,
    )
    return printed(done.returncode, done.stdout, done.stderr)

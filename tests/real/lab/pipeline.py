"""The lab as a pipeline config, and `canary probe PIPELINE` run on it as a person would."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from tests.real.lab.command import KEY_VARIABLE, RUN_LIMIT_S
from tests.real.lab.hop import Hop

PIPELINE = "lab"
ABOVE = ["litellm", "agent", "edge"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    """One run's JSON, and the exit code."""

    code: int
    out: Mapping[str, Any]

    @property
    def findings(self) -> list[tuple[Any, ...]]:
        """(check, reason, origin, edge, affected) of each."""
        return [
            (f["check"], f["reason"], f["origin"], f["edge"] and tuple(f["edge"]), f["affected"])
            for f in self.out["findings"]
        ]

    def verdict(self, hop: str, check: str, subject: str | None = None) -> Mapping[str, Any]:
        """The only verdict of that check at that hop, in whatever variant."""
        found = [
            verdict
            for asked in self.out["hops"]
            for verdict in asked["verdicts"]
            if asked["hop"] == hop and verdict["check"] == check and subject in (None, verdict["subject"])
        ]
        assert len(found) == 1, json.dumps(self.out["hops"], indent=1)
        return found[0]

    def seen(self, check: str, subject: str | None = None) -> dict[str, str]:
        """The reason of that check at each hop, from the engine up."""
        hops = dict.fromkeys(asked["hop"] for asked in self.out["hops"])
        return {hop: self.verdict(hop, check, subject)["reason"] for hop in hops}


def run(folder: Path, hops: Mapping[str, Hop], probe: Mapping[str, Any], *, models: Mapping[str, str]) -> Ran:
    """`hops` by name from the user down. `models`: the name that a hop is asked for, where it is not `tiny`."""
    config = folder / "canary.yaml"
    config.write_text(yaml.safe_dump({"pipelines": [_pipeline(hops, probe, models)]}))
    done = subprocess.run(
        [str(Path(sys.executable).with_name("canary")), "probe", PIPELINE, "-c", str(config), "--json"],
        env={**os.environ, KEY_VARIABLE: next(hop.api_key for hop in hops.values() if hop.api_key)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=RUN_LIMIT_S,
    )
    assert done.stdout.strip(), f"canary printed nothing and ended with {done.returncode}: {done.stderr}"
    return Ran(code=done.returncode, out=json.loads(done.stdout))


def _pipeline(hops: Mapping[str, Hop], probe: Mapping[str, Any], models: Mapping[str, str]) -> dict[str, Any]:
    return {
        "name": PIPELINE,
        "hops": [_hop(name, hop, models.get(name, "tiny")) for name, hop in hops.items()],
        # Greedy: the same weights then say the same nonsense, and never happen to stop thinking.
        "defaults": {"deadline": "60s", "body": {"temperature": 0}},
        "probes": [dict(probe)],
    }


def _hop(name: str, hop: Hop, model: str) -> dict[str, Any]:
    auth = {"auth": {"bearer": f"${{env:{KEY_VARIABLE}}}"}} if hop.api_key else {}
    forwards = {"forwards_reasoning": False} if name in ("agent", "edge") else {}
    return {"name": name, "url": hop.url, "model": model, **auth, **forwards}


def budgets(parameters: Sequence[str], tokens: int) -> dict[str, Any]:
    """The budget probe with these parameters at this cap."""
    tests = [{"parameter": parameter, "tokens": tokens} for parameter in parameters]
    return {"use": "tiny-budget", "max_tokens": 600, "budgets": tests}

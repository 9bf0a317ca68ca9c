"""What is remembered of one earlier answer: the numbers that later ones are compared with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from canary.core.measurement import Fingerprint
from canary.core.verdict import Status


@dataclass(frozen=True, slots=True, kw_only=True)
class Past:
    """One answer of one (pipeline, probe, hop, variant). `values` by metric name; what was not measured is left out.

    `clean`: nothing failed in it and no incident was open.
    """

    run_id: str
    at: datetime
    values: Mapping[str, float]
    fingerprint: Fingerprint
    clean: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """One row of history: an answer with its place, for reports. `status` is its worst verdict."""

    pipeline: str
    probe: str
    hop: str
    variant: str
    status: Status
    past: Past

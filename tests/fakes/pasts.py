"""Earlier answers, written as numbers."""

from datetime import UTC, datetime, timedelta

from canary.core.history import Past
from canary.core.measurement import Fingerprint

NOW = datetime(2026, 1, 1, tzinfo=UTC)  # when the scripted answers start
OLD = Fingerprint(model="m", system_fingerprint="vllm-0.22.1-aaaa")
NEW = Fingerprint(model="m", system_fingerprint="vllm-0.23.0-bbbb")


def pasts(*values, metric="total_s", every_s=300.0, until=NOW, fingerprint=OLD, clean=True):
    """One row a value, newest last; the newest one `every_s` before `until`. Each has a first token."""
    return tuple(
        Past(
            run_id=f"{index}",
            at=until - timedelta(seconds=every_s * (len(values) - index)),
            values={"time_to_first_token_s": 1.0} | ({} if value is None else {metric: float(value)}),
            fingerprint=fingerprint,
            clean=clean,
        )
        for index, value in enumerate(values)
    )

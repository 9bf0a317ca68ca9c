"""History in spans of time, made of the runs that are there. Which versions answered then is not brought over.

All work is the database's own: a table of a million runs is read once for each grain and never comes to us.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"

_GRAINS_S = {900: 86_400, 7_200: 7 * 86_400, 28_800: 30 * 86_400, 86_400: 90 * 86_400}  # and how far each goes back
_COUNTS = ("passed", "warned", "failed", "unknown", "never")
_NUMBERS = {
    "first_reasoning": "time_to_first_reasoning_token_s",
    "first_visible": "time_to_first_visible_content_s",
    "reasoning_share": "reasoning_to_output_ratio",
}
_CLOCKS = ("byte", "event", "token", "visible")


def _name() -> sa.types.TypeEngine[str]:
    return sa.String()


def upgrade() -> None:
    op.create_table(
        "spans",
        sa.Column("pipeline", _name(), primary_key=True),
        sa.Column("grain_s", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("at", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("probe", _name(), primary_key=True),
        sa.Column("hop", _name(), primary_key=True),
        *(sa.Column(name, sa.Integer, nullable=False) for name in _COUNTS),
        *(column for name in _NUMBERS for column in _spread(name)),
        *(sa.Column(f"silence_{clock}", sa.Float) for clock in _CLOCKS),
        sa.Column("fingerprint", sa.Text),
    )
    op.create_index("spans_age", "spans", ["grain_s", "at"])
    for grain_s, back_s in _GRAINS_S.items():
        op.execute(sa.text(_of_runs(grain_s * 1_000_000, back_s * 1_000_000)))
        op.execute(sa.text(_of_hops(grain_s * 1_000_000, back_s * 1_000_000)))


def _spread(name: str) -> tuple[sa.Column[int], sa.Column[float], sa.Column[float], sa.Column[float]]:
    return (
        sa.Column(f"{name}_count", sa.Integer, nullable=False),
        sa.Column(f"{name}_sum", sa.Float, nullable=False),
        sa.Column(f"{name}_least", sa.Float),
        sa.Column(f"{name}_most", sa.Float),
    )


def _counts(status: str) -> str:
    names = {"passed": "PASS", "warned": "WARN", "failed": "FAIL", "unknown": "UNKNOWN"}
    return ", ".join(f"SUM(CASE WHEN {status} = '{word}' THEN 1 ELSE 0 END)" for word in names.values())


def _of_runs(grain: int, back: int) -> str:
    zeros = ", ".join("0, 0" for _ in _NUMBERS)
    spreads = ", ".join(f"{name}_count, {name}_sum" for name in _NUMBERS)
    return f"""
    INSERT INTO spans (pipeline, grain_s, at, probe, hop, {", ".join(_COUNTS)}, {spreads})
    SELECT pipeline, {grain // 1_000_000}, started_at / {grain} * {grain}, probe, '', {_counts("status")}, 0, {zeros}
    FROM runs WHERE started_at > (SELECT MAX(started_at) FROM runs) - {back}
    GROUP BY pipeline, probe, started_at / {grain} * {grain}
    """  # noqa: S608  # all of it is ours


def _of_hops(grain: int, back: int) -> str:
    """A hop's status in a run is the worst of all forms of the request; numbers are of whole answers only."""
    spreads = [f"{name}_{part}" for name in _NUMBERS for part in ("count", "sum", "least", "most")]
    silences = [f"silence_{clock}" for clock in _CLOCKS]
    merged = [f"SUM({name}_count), SUM({name}_sum), MIN({name}_least), MAX({name}_most)" for name in _NUMBERS]
    return f"""
    INSERT INTO spans (pipeline, grain_s, at, probe, hop, {", ".join((*_COUNTS, *spreads, *silences))})
    SELECT pipeline, {grain // 1_000_000}, span, probe, hop, {_counts("status")}, SUM(never),
      {", ".join((*merged, *(f"MAX({name})" for name in silences)))}
    FROM ({_answers(grain, back)}) AS answers
    GROUP BY pipeline, probe, hop, span
    """  # noqa: S608


def _answers(grain: int, back: int) -> str:
    """One row a run and hop."""
    ranks = {"FAIL": 3, "UNKNOWN": 2, "WARN": 1, "PASS": 0}
    rank = "CASE results.status " + " ".join(f"WHEN '{word}' THEN {rank}" for word, rank in ranks.items()) + " END"
    words = " ".join(f"WHEN {rank} THEN '{word}'" for word, rank in ranks.items())
    spreads = ", ".join(
        f"COUNT({_number(key)}) AS {name}_count, COALESCE(SUM({_number(key)}), 0) AS {name}_sum, "
        f"MIN({_number(key)}) AS {name}_least, MAX({_number(key)}) AS {name}_most"
        for name, key in _NUMBERS.items()
    )
    silences = ", ".join(f"MAX({_number(f'silence_{clock}_s')}) AS silence_{clock}" for clock in _CLOCKS)
    return f"""
    SELECT series.pipeline, series.probe, series.hop, runs.started_at / {grain} * {grain} AS span,
      CASE WHEN runs.cut_short IS NOT NULL THEN 'UNKNOWN' ELSE CASE MAX({rank}) {words} END END AS status,
      CAST(COALESCE(SUM({_number("zero_visible")}), 0) AS INTEGER) AS never, {spreads}, {silences}
    FROM results JOIN series ON series.id = results.series_id JOIN runs ON runs.id = results.run_id
    WHERE runs.started_at > (SELECT MAX(started_at) FROM runs) - {back}
    GROUP BY runs.id, runs.started_at, runs.cut_short, series.pipeline, series.probe, series.hop
    """  # noqa: S608


def _number(key: str) -> str:
    """One of a result's numbers, NULL where it has none or must not count."""
    sqlite = op.get_bind().dialect.name == "sqlite"
    value = f"json_extract(numbers, '$.{key}')" if sqlite else f"CAST(CAST(numbers AS json) ->> '{key}' AS float)"
    return f"CASE WHEN series.variant IN ('plain', 'control') AND runs.cut_short IS NULL THEN {value} END"

"""The first tables."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def _id() -> sa.types.TypeEngine[str]:
    return sa.String().with_variant(sa.String(collation="C"), "postgresql")


def _number() -> sa.types.TypeEngine[int]:
    return sa.BigInteger().with_variant(sa.Integer, "sqlite")


def upgrade() -> None:
    _runs()
    _incidents()
    _outbox()
    _marks()


def _runs() -> None:
    op.create_table(
        "runs",
        sa.Column("id", _id(), primary_key=True),
        sa.Column("pipeline", sa.String, nullable=False),
        sa.Column("probe", sa.String, nullable=False),
        sa.Column("started_at", sa.BigInteger, nullable=False),
        sa.Column("finished_at", sa.BigInteger),
        sa.Column("status", sa.String, nullable=False),
        sa.Column("cut_short", sa.String),
        sa.Column("first_visible_s", sa.Float),
        sa.Column("never_visible", sa.Integer, nullable=False),
        sa.Column("tokens", sa.BigInteger, nullable=False),
        sa.Column("findings", sa.Text, nullable=False),
        sa.Column("body", sa.LargeBinary, nullable=False),
    )
    op.create_index("runs_started", "runs", ["started_at"])
    op.create_index("runs_status", "runs", ["status", "started_at"])
    op.create_index("runs_probe", "runs", ["pipeline", "probe", "started_at"])
    op.create_index("runs_tokens", "runs", ["pipeline", "started_at", "tokens"])
    op.create_table(
        "series",
        sa.Column("id", _number(), primary_key=True, autoincrement=True),
        sa.Column("pipeline", sa.String, nullable=False),
        sa.Column("probe", sa.String, nullable=False),
        sa.Column("hop", sa.String, nullable=False),
        sa.Column("variant", sa.String, nullable=False),
        sa.UniqueConstraint("pipeline", "probe", "hop", "variant", name="series_place"),
        sqlite_autoincrement=True,
    )
    _results()


def _results() -> None:
    op.create_table(
        "results",
        sa.Column("id", _number(), primary_key=True, autoincrement=True),
        sa.Column("series_id", sa.BigInteger, sa.ForeignKey("series.id"), nullable=False),
        sa.Column("run_id", _id(), sa.ForeignKey("runs.id", ondelete="CASCADE"), nullable=False),
        sa.Column("place", sa.Integer, nullable=False),
        sa.Column("at", sa.BigInteger, nullable=False),
        sa.Column("status", sa.String, nullable=False),
        sa.Column("clean", sa.Boolean, nullable=False),
        sa.Column("numbers", sa.Text, nullable=False),
        sa.Column("fingerprint", sa.Text, nullable=False),
        sqlite_autoincrement=True,
    )
    clean = sa.text("clean")
    op.create_index("results_series", "results", ["series_id", "at"])
    op.create_index("results_clean", "results", ["series_id", "at"], sqlite_where=clean, postgresql_where=clean)
    op.create_index("results_run", "results", ["run_id"])
    op.create_table(
        "transcripts",
        sa.Column("run_id", _id(), sa.ForeignKey("runs.id", ondelete="CASCADE"), primary_key=True),
        sa.Column("place", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("at", sa.BigInteger, nullable=False),
        sa.Column("bytes", sa.Integer, nullable=False),
        sa.Column("body", sa.LargeBinary, nullable=False),
    )
    op.create_index("transcripts_age", "transcripts", ["at", "bytes"])


def _incidents() -> None:
    op.create_table(
        "incidents",
        sa.Column("id", _id(), primary_key=True),
        sa.Column("pipeline", sa.String, nullable=False),
        sa.Column("state", sa.String, nullable=False),
        sa.Column("since", sa.BigInteger, nullable=False),
        sa.Column("run_id", _id(), nullable=False),
        sa.Column("body", sa.Text, nullable=False),
    )
    still_open = sa.text("state <> 'ok'")
    op.create_index("incidents_open", "incidents", ["since"], sqlite_where=still_open, postgresql_where=still_open)
    op.create_index("incidents_since", "incidents", ["since"])
    op.create_table(
        "pages",
        sa.Column("id", _id(), primary_key=True),
        sa.Column("cause", sa.String, nullable=False),
        sa.Column("opened_at", sa.BigInteger, nullable=False),
        sa.Column("resolved_at", sa.BigInteger),
        sa.Column("body", sa.Text, nullable=False),
    )
    op.create_index("pages_resolved", "pages", ["resolved_at"])
    op.create_index("pages_opened", "pages", ["opened_at"])
    op.create_table(
        "transitions",
        sa.Column("id", _number(), primary_key=True, autoincrement=True),
        sa.Column("incident_id", _id(), nullable=False),
        sa.Column("pipeline", sa.String, nullable=False),
        sa.Column("at", sa.BigInteger, nullable=False),
        sa.Column("event", sa.String, nullable=False),
        sa.Column("body", sa.Text, nullable=False),
        sa.UniqueConstraint("incident_id", "at", "event", name="transitions_once"),
        sqlite_autoincrement=True,
    )
    op.create_index("transitions_at", "transitions", ["at"])


def _outbox() -> None:
    op.create_table(
        "outbox",
        sa.Column("id", _number(), primary_key=True, autoincrement=True),
        sa.Column("notification_id", _id(), nullable=False, unique=True),
        sa.Column("page_id", _id(), nullable=False),
        sa.Column("receiver", sa.String, nullable=False),
        sa.Column("run_id", _id()),
        sa.Column("at", sa.BigInteger, nullable=False),
        sa.Column("state", sa.String, nullable=False),
        sa.Column("due_at", sa.BigInteger, nullable=False),
        sa.Column("done_at", sa.BigInteger),
        sa.Column("attempts", sa.Integer, nullable=False),
        sa.Column("why", sa.Text, nullable=False),
        sa.Column("handle", sa.Text),
        sa.Column("body", sa.Text, nullable=False),
        sqlite_autoincrement=True,
    )
    queued = sa.text("state = 'queued'")
    op.create_index("outbox_page", "outbox", ["page_id", "receiver", "id"])
    op.create_index("outbox_queued", "outbox", ["id"], sqlite_where=queued, postgresql_where=queued)
    op.create_index("outbox_done", "outbox", ["done_at"])
    op.create_table(
        "withheld",
        sa.Column("page_id", _id(), primary_key=True),
        sa.Column("receiver", sa.String, primary_key=True),
        sa.Column("reason", sa.String, primary_key=True),
        sa.Column("at", sa.BigInteger, nullable=False),
        sa.Column("first_at", sa.BigInteger, nullable=False),
        sa.Column("until", sa.BigInteger),
        sa.Column("times", sa.Integer, nullable=False),
    )
    op.create_index("withheld_at", "withheld", ["at"])


def _marks() -> None:
    op.create_table(
        "silences",
        sa.Column("id", _id(), primary_key=True),
        sa.Column("ends_at", sa.BigInteger, nullable=False),
        sa.Column("body", sa.Text, nullable=False),
    )
    op.create_index("silences_end", "silences", ["ends_at"])
    op.create_table(
        "deploys",
        sa.Column("id", _number(), primary_key=True, autoincrement=True),
        sa.Column("at", sa.BigInteger, nullable=False),
        sa.Column("body", sa.Text, nullable=False),
        sqlite_autoincrement=True,
    )
    op.create_index("deploys_at", "deploys", ["at"])

"""The tables. They hold what is asked for by itself in columns, and the rest as JSON of the core's own types.

- Times are microseconds since 1970 in UTC: exact, short in an index, and the same in both databases.
- A `series` is one (pipeline, probe, hop, variant); a `result` is one answer in it, lean, because history and reports
  read thousands. All else that is known of a run is its `body`, compressed, read one run at a time.
- Only what belongs to one run has foreign keys. Incidents, pages and the outbox refer to each other by id alone: the
  order in which they come must never be a reason to refuse a page.
- Ids are compared byte by byte, so that the beginning of one is a range: the migrations give those columns collation C
  in PostgreSQL (said here too, SQLAlchemy would write it behind every value).
- What is looked up while a probe waits has an index that serves it alone; see tests/store/test_plans.py.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Dialect,
    Float,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    TypeDecorator,
    UniqueConstraint,
    text,
)

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


class Instant(TypeDecorator[datetime]):
    """An aware datetime as whole microseconds since 1970."""

    impl = BigInteger
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> int | None:
        del dialect
        return None if value is None else (value - _EPOCH) // _MICROSECOND

    def process_result_value(self, value: int | None, dialect: Dialect) -> datetime | None:
        del dialect
        return None if value is None else _EPOCH + value * _MICROSECOND


def _fitting(text: str | None) -> str | None:
    """What a database refuses in a text (NUL, half a surrogate pair) is replaced."""
    return None if text is None else text.encode("utf-8", "replace").decode().replace("\0", "\ufffd")


class Words(TypeDecorator[str]):
    """Text of strangers."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:
        del dialect
        return _fitting(value)


class Name(TypeDecorator[str]):
    """An id or a name. One that somebody asks for may be anything that a command line or a URL can say."""

    impl = String
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:
        del dialect
        return _fitting(value)


def _number() -> BigInteger:
    """SQLite counts up by itself only in a column that says INTEGER."""
    return BigInteger().with_variant(Integer, "sqlite")


METADATA = MetaData()

RUNS = Table(
    "runs",
    METADATA,
    Column("id", Name, primary_key=True),
    Column("pipeline", Name, nullable=False),
    Column("probe", Name, nullable=False),
    Column("started_at", Instant, nullable=False),
    Column("finished_at", Instant),
    Column("status", String, nullable=False),
    Column("cut_short", String),
    Column("first_visible_s", Float),
    Column("never_visible", Integer, nullable=False),
    Column("tokens", BigInteger, nullable=False),
    Column("findings", Text, nullable=False),  # JSON
    Column("body", LargeBinary, nullable=False),  # see codec.py; last, so that lists need not read over it
    Index("runs_started", "started_at"),
    Index("runs_status", "status", "started_at"),
    Index("runs_probe", "pipeline", "probe", "started_at"),
    Index("runs_tokens", "pipeline", "started_at", "tokens"),
)

SPANS = Table(
    "spans",
    METADATA,
    Column("pipeline", Name, primary_key=True),
    Column("grain_s", Integer, primary_key=True, autoincrement=False),
    Column("at", Instant, primary_key=True, autoincrement=False),
    Column("probe", Name, primary_key=True),
    Column("hop", Name, primary_key=True),  # '': the run as a whole
    *(Column(name, Integer, nullable=False) for name in ("passed", "warned", "failed", "unknown", "never")),
    *(
        Column(f"{number}_{part}", Integer if part == "count" else Float, nullable=part not in ("count", "sum"))
        for number in ("first_reasoning", "first_visible", "reasoning_share")
        for part in ("count", "sum", "least", "most")
    ),
    *(Column(f"silence_{clock}", Float) for clock in ("byte", "event", "token", "visible")),
    Column("fingerprint", Text),  # JSON
    Index("spans_age", "grain_s", "at"),
)

SERIES = Table(
    "series",
    METADATA,
    Column("id", _number(), primary_key=True, autoincrement=True),
    Column("pipeline", Name, nullable=False),
    Column("probe", Name, nullable=False),
    Column("hop", Name, nullable=False),
    Column("variant", Name, nullable=False),
    UniqueConstraint("pipeline", "probe", "hop", "variant", name="series_place"),
    sqlite_autoincrement=True,
)

RESULTS = Table(
    "results",
    METADATA,
    Column("id", _number(), primary_key=True, autoincrement=True),
    Column("series_id", BigInteger, ForeignKey("series.id"), nullable=False),
    Column("run_id", Name, ForeignKey("runs.id", ondelete="CASCADE"), nullable=False),
    Column("place", Integer, nullable=False),  # among the results of its run
    Column("at", Instant, nullable=False),
    Column("status", String, nullable=False),
    Column("clean", Boolean, nullable=False),
    Column("numbers", Text, nullable=False),  # JSON, by metric name
    Column("fingerprint", Text, nullable=False),  # JSON
    Index("results_series", "series_id", "at"),
    Index("results_clean", "series_id", "at", sqlite_where=text("clean"), postgresql_where=text("clean")),
    Index("results_run", "run_id"),
    sqlite_autoincrement=True,
)

TRANSCRIPTS = Table(
    "transcripts",
    METADATA,
    Column("run_id", Name, ForeignKey("runs.id", ondelete="CASCADE"), primary_key=True),
    Column("place", Integer, primary_key=True, autoincrement=False),
    Column("at", Instant, nullable=False),
    Column("bytes", Integer, nullable=False),
    Column("body", LargeBinary, nullable=False),
    Index("transcripts_age", "at", "bytes"),
)

INCIDENTS = Table(
    "incidents",
    METADATA,
    Column("id", Name, primary_key=True),
    Column("pipeline", Name, nullable=False),
    Column("state", String, nullable=False),
    Column("since", Instant, nullable=False),
    Column("run_id", Name, nullable=False),
    Column("body", Text, nullable=False),  # JSON
    Index("incidents_open", "since", sqlite_where=text("state <> 'ok'"), postgresql_where=text("state <> 'ok'")),
    Index("incidents_since", "since"),
)

PAGES = Table(
    "pages",
    METADATA,
    Column("id", Name, primary_key=True),
    Column("cause", Name, nullable=False),
    Column("opened_at", Instant, nullable=False),
    Column("resolved_at", Instant),
    Column("body", Text, nullable=False),  # JSON
    Index("pages_resolved", "resolved_at"),
    Index("pages_opened", "opened_at"),
)

TRANSITIONS = Table(
    "transitions",
    METADATA,
    Column("id", _number(), primary_key=True, autoincrement=True),
    Column("incident_id", Name, nullable=False),
    Column("pipeline", Name, nullable=False),
    Column("at", Instant, nullable=False),
    Column("event", String, nullable=False),
    Column("body", Text, nullable=False),  # JSON
    UniqueConstraint("incident_id", "at", "event", name="transitions_once"),
    Index("transitions_at", "at"),
    sqlite_autoincrement=True,
)

OUTBOX = Table(
    "outbox",
    METADATA,
    Column("id", _number(), primary_key=True, autoincrement=True),  # the order in which things were decided
    Column("notification_id", Name, nullable=False, unique=True),
    Column("page_id", Name, nullable=False),
    Column("receiver", Name, nullable=False),
    Column("run_id", Name),
    Column("at", Instant, nullable=False),
    Column("state", String, nullable=False),  # queued, sent, dead
    Column("due_at", Instant, nullable=False),
    Column("done_at", Instant),
    Column("attempts", Integer, nullable=False),
    Column("why", Words, nullable=False),
    Column("handle", Words),
    Column("body", Text, nullable=False),  # JSON
    Index("outbox_page", "page_id", "receiver", "id"),
    Index("outbox_queued", "id", sqlite_where=text("state = 'queued'"), postgresql_where=text("state = 'queued'")),
    Index("outbox_done", "done_at"),
    sqlite_autoincrement=True,
)

WITHHELD = Table(
    "withheld",
    METADATA,
    Column("page_id", Name, primary_key=True),
    Column("receiver", Name, primary_key=True),  # '' where no receiver was reached
    Column("reason", String, primary_key=True),
    Column("at", Instant, nullable=False),
    Column("first_at", Instant, nullable=False),
    Column("until", Instant),
    Column("times", Integer, nullable=False),
    Index("withheld_at", "at"),
)

SILENCES = Table(
    "silences",
    METADATA,
    Column("id", Name, primary_key=True),
    Column("ends_at", Instant, nullable=False),
    Column("body", Text, nullable=False),  # JSON
    Index("silences_end", "ends_at"),
)

DEPLOYS = Table(
    "deploys",
    METADATA,
    Column("id", _number(), primary_key=True, autoincrement=True),
    Column("at", Instant, nullable=False),
    Column("body", Text, nullable=False),  # JSON
    Index("deploys_at", "at"),
    sqlite_autoincrement=True,
)

NOTES = Table(
    "notes",
    METADATA,
    Column("id", _number(), primary_key=True, autoincrement=True),
    Column("page_id", Name, nullable=False),
    Column("at", Instant, nullable=False),
    Column("body", Text, nullable=False),  # JSON
    Index("notes_page", "page_id", "at"),
    sqlite_autoincrement=True,
)

OVERRIDES = Table(
    "overrides",
    METADATA,
    Column("id", Name, primary_key=True),
    Column("at", Instant, nullable=False),
    Column("ends_at", Instant, nullable=False),
    Column("body", Text, nullable=False),  # JSON
    Index("overrides_end", "ends_at"),
)

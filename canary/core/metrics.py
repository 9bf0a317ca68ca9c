"""What the daemon shows to Prometheus: every name, its labels, and what one value of it means. Nothing is listed twice.

Counters and histograms live in `Snapshot.counters` and `.distributions`, under `Series(metric=NAME, labels=VALUES)`
with the values in the order of `Metric.labels`. Gauges are read from the rest of the snapshot at the scrape.

A first visible text that never came is in no duration, and leaving it out would make the worst answers look best. It
falls into the bucket without an upper bound, adds the time that was waited to the sum (a lower bound), and is counted
in `FIRST_VISIBLE_MISSING`. Answers that we stopped or that our own fault spoiled say nothing and are in neither.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType

from canary.core.verdict import Status

# Upper bounds in seconds, fine around the idle limits that cut streams (60 s: nginx, ALB; 100 s: CDNs; 350 s: NLB ...).
BUCKETS_S = (
    *(0.05, 0.1, 0.25, 0.5, 1.0, 2.0, 3.0, 5.0, 7.5, 10.0, 15.0, 20.0, 25.0, 29.0, 30.0, 35.0, 40.0, 45.0, 50.0, 55.0),
    *(60.0, 75.0, 90.0, 100.0, 120.0, 150.0, 180.0, 240.0, 300.0, 350.0, 450.0, 600.0),
)


class Kind(StrEnum):
    COUNTER = "counter"
    GAUGE = "gauge"
    HISTOGRAM = "histogram"


class Skip(StrEnum):
    """Why a run that was due did not happen."""

    OVERLAP = "overlap"  # the run before it had not ended
    MISSED = "missed"  # its time went by unseen: a suspended machine, a jump of the wall clock, a stalled loop
    BUDGET = "budget"  # the pipeline's token limits
    SHUTDOWN = "shutdown"


class Sending(StrEnum):
    """What became of one attempt to tell somebody."""

    SENT = "sent"
    RETRY = "retry"
    DEAD = "dead"  # rejected, or not taken for too long: nobody will be told


class TokenKind(StrEnum):
    INPUT = "input"
    REASONING = "reasoning"
    VISIBLE = "visible"
    OUTPUT = "output"  # where the answer's tokens are reported but not told apart


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    name: str
    kind: Kind
    help: str
    labels: tuple[str, ...] = ()


ANSWER = ("pipeline", "hop", "probe", "variant")
RUN = ("pipeline", "probe")

FIRST_REASONING = "canary_time_to_first_reasoning_token_seconds"
FIRST_VISIBLE = "canary_time_to_first_visible_content_seconds"
FIRST_TOKEN = "canary_time_to_first_token_seconds"  # noqa: S105  # no password
DURATION = "canary_request_duration_seconds"
RATIO = "canary_reasoning_to_output_ratio"
LONGEST_SILENCE = "canary_longest_silence_seconds"
HEADROOM = "canary_idle_timeout_headroom_ratio"
CHECK_STATUS = "canary_check_status"
ZERO_VISIBLE = "canary_zero_visible_content_total"
FIRST_VISIBLE_MISSING = "canary_first_visible_content_missing_total"
VERDICTS = "canary_verdicts_total"
TOKENS = "canary_probe_tokens_total"
RUNS = "canary_runs_total"
RUNS_SKIPPED = "canary_runs_skipped_total"
NOTIFICATIONS = "canary_notifications_total"
OWN_ERRORS = "canary_internal_errors_total"
INCIDENTS_FIRING = "canary_incidents_firing"
LAST_RUN = "canary_last_run_timestamp_seconds"
SCHEDULE_LAG = "canary_schedule_lag_seconds"
LOOP_LAG = "canary_loop_lag_seconds"
RELOAD_OK = "canary_config_last_reload_successful"
RELOAD_AT = "canary_config_last_reload_timestamp_seconds"
DAY_SHARE = "canary_tokens_per_day_used_ratio"
OUTBOX = "canary_outbox_notifications"
DEAD_LETTERS = "canary_dead_letters"
STORE_UP = "canary_store_up"
READY = "canary_ready"
BUILD_INFO = "canary_build_info"

# The value of CHECK_STATUS. UNKNOWN is no degree of bad: it stands apart, below zero.
STATUS_VALUES: Mapping[Status, float] = MappingProxyType(
    {Status.PASS: 0.0, Status.WARN: 1.0, Status.FAIL: 2.0, Status.UNKNOWN: -1.0}
)

_ROWS = (
    Metric(
        name=FIRST_REASONING,
        kind=Kind.HISTOGRAM,
        labels=ANSWER,
        help="Seconds from the request to the first hidden reasoning text.",
    ),
    Metric(
        name=FIRST_VISIBLE,
        kind=Kind.HISTOGRAM,
        labels=ANSWER,
        help="Seconds from the request to the first text that a person can see; an answer without any is in +Inf.",
    ),
    Metric(
        name=FIRST_TOKEN,
        kind=Kind.HISTOGRAM,
        labels=ANSWER,
        help="Seconds from the request to the first token of any kind, hidden ones included.",
    ),
    Metric(
        name=DURATION,
        kind=Kind.HISTOGRAM,
        labels=ANSWER,
        help="Seconds from the request to the end of the answer.",
    ),
    Metric(
        name=RATIO,
        kind=Kind.GAUGE,
        labels=ANSWER,
        help="Share of reasoning in all generated tokens of the latest answer; 1 means that nothing was visible.",
    ),
    Metric(
        name=LONGEST_SILENCE,
        kind=Kind.GAUGE,
        labels=(*ANSWER, "clock"),
        help="Longest gap in the latest answer, by what counts as a sign of life.",
    ),
    Metric(
        name=HEADROOM,
        kind=Kind.GAUGE,
        labels=(*ANSWER, "timeout"),
        help="Share of a timeout's limit that the latest answer left unused; negative means that it would have fired.",
    ),
    Metric(
        name=CHECK_STATUS,
        kind=Kind.GAUGE,
        labels=(*ANSWER, "check"),
        help="Worst verdict of a check on the latest answer: 0 pass, 1 warn, 2 fail, -1 could not tell.",
    ),
    Metric(
        name=ZERO_VISIBLE,
        kind=Kind.COUNTER,
        labels=(*ANSWER, "cause"),
        help="Answers that ended without any visible text, by the cause that was found.",
    ),
    Metric(
        name=FIRST_VISIBLE_MISSING,
        kind=Kind.COUNTER,
        labels=ANSWER,
        help="Requests whose first visible text never came, whatever the reason.",
    ),
    Metric(
        name=VERDICTS,
        kind=Kind.COUNTER,
        labels=(*ANSWER, "check", "status", "reason"),
        help="Verdicts of all checks.",
    ),
    Metric(
        name=TOKENS,
        kind=Kind.COUNTER,
        labels=(*ANSWER, "kind"),
        help="Tokens that probing used, reported where the target reports them, else counted or estimated.",
    ),
    Metric(
        name=RUNS,
        kind=Kind.COUNTER,
        labels=(*RUN, "outcome"),
        help="Runs that ended, by their worst verdict or by what cut them short.",
    ),
    Metric(
        name=RUNS_SKIPPED,
        kind=Kind.COUNTER,
        labels=(*RUN, "reason"),
        help="Runs that were due and did not happen.",
    ),
    Metric(
        name=NOTIFICATIONS,
        kind=Kind.COUNTER,
        labels=("notifier", "outcome"),
        help="Attempts to tell somebody, by kind of receiver.",
    ),
    Metric(
        name=OWN_ERRORS,
        kind=Kind.COUNTER,
        labels=("where",),
        help="Faults of this program itself; each one is in the log with its traceback.",
    ),
    Metric(
        name=INCIDENTS_FIRING,
        kind=Kind.GAUGE,
        labels=("severity",),
        help="Incidents that fire now, recovering ones included.",
    ),
    Metric(
        name=LAST_RUN,
        kind=Kind.GAUGE,
        labels=RUN,
        help="Unix time at which the latest run ended.",
    ),
    Metric(
        name=SCHEDULE_LAG,
        kind=Kind.GAUGE,
        help="Seconds by which the most overdue run is late.",
    ),
    Metric(
        name=LOOP_LAG,
        kind=Kind.GAUGE,
        help="Worst lateness of this program's own event loop over the last minute.",
    ),
    Metric(
        name=RELOAD_OK,
        kind=Kind.GAUGE,
        help="1 if the config was good when it was last read, 0 if an older one is still in force.",
    ),
    Metric(
        name=RELOAD_AT,
        kind=Kind.GAUGE,
        help="Unix time at which the config was last read with success.",
    ),
    Metric(
        name=DAY_SHARE,
        kind=Kind.GAUGE,
        labels=("pipeline",),
        help="Share of tokens_per_day that was used since midnight UTC; only where a limit is set.",
    ),
    Metric(
        name=OUTBOX,
        kind=Kind.GAUGE,
        help="Notifications that wait to be delivered.",
    ),
    Metric(
        name=DEAD_LETTERS,
        kind=Kind.GAUGE,
        help="Notifications of the last day that were given up.",
    ),
    Metric(
        name=STORE_UP,
        kind=Kind.GAUGE,
        help="1 if history could be written at the last try.",
    ),
    Metric(
        name=READY,
        kind=Kind.GAUGE,
        help="1 if probing, history and notifications work; the reasons against are at /-/ready.",
    ),
    Metric(
        name=BUILD_INFO,
        kind=Kind.GAUGE,
        labels=("version",),
        help="Always 1; the version is a label.",
    ),
)
METRICS: Mapping[str, Metric] = MappingProxyType({metric.name: metric for metric in _ROWS})

"""The snapshot as JSON, for programs. Private: verdicts and findings quote what targets said."""

from __future__ import annotations

from canary.core.jsonable import as_json
from canary.core.observation import Json
from canary.core.snapshot import Snapshot
from canary.core.spec import Assignment, Pipeline

VERSION = 1  # of this document; it goes up when a member changes its meaning or goes


def state_of(snapshot: Snapshot) -> Json:
    """No URL, header or body of the plan is in it: they may hold credentials."""
    return as_json(
        {
            "version": VERSION,
            "at": snapshot.at,
            "started_at": snapshot.started_at,
            "ready": not snapshot.readiness.problems,
            "problems": snapshot.readiness.problems,
            "notes": snapshot.readiness.notes,
            "config": {"last_reload_ok": snapshot.last_reload_ok, "last_reload_at": snapshot.last_reload_at},
            "schedule_lag_s": snapshot.schedule_lag_s,
            "loop_lag_s": snapshot.loop_lag_s,
            "store_up": snapshot.store_up,
            "notifications": {"waiting": snapshot.waiting, "dead_letters": snapshot.dead_letters},
            "pipelines": [_pipeline(pipeline, snapshot) for pipeline in snapshot.plan.pipelines],
            "latest": snapshot.latest,
            "incidents": snapshot.incidents,
            "pages": snapshot.pages,
        }
    )


def _pipeline(pipeline: Pipeline, snapshot: Snapshot) -> Json:
    return {
        "name": pipeline.name,
        "labels": pipeline.labels,
        "hops": [{"name": hop.name, "probed": hop.url is not None} for hop in pipeline.hops],
        "probes": [_probe(pipeline.name, assignment, snapshot) for assignment in pipeline.assignments],
        "tokens_today": snapshot.tokens_today.get(pipeline.name),
        "tokens_per_day": pipeline.tokens_per_day,
    }


def _probe(pipeline: str, assignment: Assignment, snapshot: Snapshot) -> Json:
    place = (pipeline, assignment.probe.name)
    return {
        "name": assignment.probe.name,
        "schedule": assignment.schedule,
        "first_visible_limit_s": assignment.first_visible_s,
        "last_run": snapshot.last_runs.get(place),
        "next_run": snapshot.next_runs.get(place),
    }

"""A real Prometheus scrapes the site: the shipped rules evaluate, and every query of the dashboard finds data."""

import asyncio
import os
import shutil
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime

import pytest
import yaml
from aiohttp import ClientSession

from canary.cli.demo import BUDGETS
from canary.core import metrics
from canary.core.service import Listen
from canary.core.spec import Assignment
from canary.demo.answers import answers
from canary.demo.pipeline import INCIDENT_FAULTS, INCIDENT_LIMITS, demo_pipeline
from canary.engine.run import run_probe
from canary.web.app import app
from canary.web.serve import serve
from tests.fakes import snapshots
from tests.fakes.demo_runs import HEAVY, SEED, TINY, occasion
from tests.fakes.queries import RULES, dashboard_queries, filled_in, rules
from tests.real.lab.processes import Command, free_port, running

pytestmark = pytest.mark.real

SCALE = 0.3
SCRAPES = 6  # of one a second; a rate needs two
WITHIN_S = 60.0


class Daemon:
    """A daemon-like thing: real runs of the demo, counted anew with every scrape, as if they went on and on."""

    def __init__(self, pipeline, runs):
        self.pipeline, self.runs, self.gone = pipeline, runs, False
        self.tally = snapshots.tally_of(runs)
        self.incidents = tuple(
            snapshots.incident(run.pipeline, probe=run.probe, incident_id=f"{run.id}-{number}", found=found)
            for run in runs
            for number, found in enumerate(run.findings)
        )

    def snapshot(self):
        now = datetime.now(UTC)  # noqa: TID251  # Prometheus takes no exemplar from another time than its own
        if self.gone:
            return snapshots.snapshot(at=now)
        self._count(now)
        return snapshots.snapshot(
            replace(self.pipeline, tokens_per_day=100_000),
            runs=self.runs,
            at=now,
            tally=self.tally,
            incidents=self.incidents,
            tokens_today={self.pipeline.name: 1234},
        )

    def _count(self, now):
        for run in self.runs:
            self.tally.run(replace(run, started_at=now))
            for result in run.results:
                self.tally.tokens((run.pipeline, result.hop, run.probe, result.variant), result.measurement)
        self.tally.add(metrics.RUNS_SKIPPED, self.pipeline.name, HEAVY.name, metrics.Skip.OVERLAP)
        self.tally.add(metrics.NOTIFICATIONS, "slack", metrics.Sending.SENT)
        self.tally.add(metrics.OWN_ERRORS, "run")


async def demo_runs():
    """The founding incident, and an answer that is thought through and never said."""
    asked = (
        Assignment(probe=HEAVY, first_visible_s=0.9, deadline_s=30.0),
        Assignment(probe=TINY, deadline_s=30.0, budgets=BUDGETS),
    )
    by_probe = answers(HEAVY, SEED)
    async with demo_pipeline(INCIDENT_FAULTS, limits=INCIDENT_LIMITS, scale=SCALE, answer_for=by_probe) as demo:
        pipeline = demo.pipeline(assignments=asked)
        runs = [await run_probe(pipeline, each, occasion(f"run-{each.probe.name}")) for each in asked]
        demo.set_faults({"engine": ("all_in_reasoning",)})
        runs.append(await run_probe(pipeline, asked[0], occasion("run-silent")))
    return pipeline, runs


def prometheus(folder, port, target):
    binary = shutil.which("prometheus")
    if binary is None:
        missing = "prometheus is not installed; on Debian: apt-get install prometheus"
        pytest.fail(missing) if os.environ.get("CI") else pytest.skip(missing)
    folder.mkdir()
    config = {
        "global": {"scrape_interval": "1s", "evaluation_interval": "1s"},
        "rule_files": [str(RULES)],
        "scrape_configs": [{"job_name": "canary", "static_configs": [{"targets": [target]}]}],
    }
    (folder / "prometheus.yml").write_text(yaml.safe_dump(config), encoding="utf-8")
    url = f"http://127.0.0.1:{port}"
    argv = (
        binary,
        f"--config.file={folder / 'prometheus.yml'}",
        f"--storage.tsdb.path={folder / 'data'}",
        f"--web.listen-address=127.0.0.1:{port}",
        "--enable-feature=exemplar-storage",
    )
    ready = f"{url}/-/ready"
    return Command(name="prometheus", argv=argv, ready_url=ready, ready_limit_s=30.0, env={}, folder=folder)


class Prometheus:
    def __init__(self, url, session):
        self.url, self.session = url, session

    async def get(self, path, **parameters):
        async with self.session.get(f"{self.url}/api/v1/{path}", params=parameters) as response:
            answer = await response.json()
        assert answer["status"] == "success", answer
        return answer["data"]

    async def ask(self, query):
        return (await self.get("query", query=query))["result"]

    async def until(self, query):
        """Waits until the query finds something."""
        async with asyncio.timeout(WITHIN_S):
            while not (found := await self.ask(query)):  # noqa: ASYNC110  # another process's state; it tells nobody
                await asyncio.sleep(0.2)
        return found


@asynccontextmanager
async def scraped(tmp_path):
    daemon = Daemon(*await demo_runs())
    application = app(snapshot=daemon.snapshot, actions=snapshots.Recorder().actions(), listen=Listen(port=0))
    async with serve(application, Listen(port=0)) as target, ClientSession() as session:
        command = prometheus(tmp_path / "prometheus", free_port(), target.removeprefix("http://"))
        context = running(command)
        await asyncio.to_thread(context.__enter__)
        try:
            asked = Prometheus(command.ready_url.removesuffix("/-/ready"), session)
            await asked.until(f'count_over_time(up{{job="canary"}}[5m]) >= {SCRAPES}')
            yield daemon, asked
        finally:
            await asyncio.to_thread(context.__exit__, None, None, None)


async def test_a_real_prometheus(tmp_path):
    async with scraped(tmp_path) as (daemon, asked):
        (target,) = (await asked.get("targets"))["activeTargets"]
        assert (target["health"], target["lastError"]) == ("up", "")
        await _every_metric_arrives(asked)
        for title, query in dashboard_queries().items():
            found = await asked.ask(filled_in(query))
            assert [each for each in found if each["value"][1] != "NaN"], f"{title}: no data for {query}"
        await _every_rule_evaluates(asked)
        await _exemplars_name_their_run(asked)
        daemon.gone = True  # as a reload does it
        await asked.until(
            f"absent({metrics.CHECK_STATUS}) and absent({metrics.VERDICTS}) and absent({metrics.LAST_RUN})"
        )
        assert await asked.ask(metrics.BUILD_INFO)


async def _every_metric_arrives(asked):
    metadata = await asked.get("metadata")
    for metric in metrics.METRICS.values():
        family = metric.name.removesuffix("_total")  # so OpenMetrics calls a counter
        (known,) = metadata.get(family) or metadata[metric.name]
        assert (known["type"], known["help"]) == (metric.kind, metric.help)


async def _every_rule_evaluates(asked):
    groups = (await asked.get("rules"))["groups"]
    seen = [rule for group in groups for rule in group["rules"]]
    assert len(seen) == len(rules())
    assert [(rule["name"], rule.get("lastError")) for rule in seen if rule["health"] != "ok"] == []
    for rule in rules():
        if "record" in rule:
            assert await asked.ask(rule["record"]), rule["record"]


async def _exemplars_name_their_run(asked):
    found = await asked.get(
        "query_exemplars",
        query=f"{metrics.FIRST_VISIBLE}_bucket",
        start="2020-01-01T00:00:00Z",
        end="2100-01-01T00:00:00Z",
    )
    runs = {exemplar["labels"]["run_id"] for series in found for exemplar in series["exemplars"]}
    assert "run-reasoning-heavy" in runs

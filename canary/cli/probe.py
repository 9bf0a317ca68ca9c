"""`canary probe`: one run, now."""

from __future__ import annotations

import asyncio
import json
import secrets
from contextlib import nullcontext
from datetime import UTC, datetime
from pathlib import Path

import typer
from rich.console import Console

from canary.cli import options
from canary.cli.arguments import timers_of
from canary.cli.errors import UsageError
from canary.cli.exit_codes import exit_code
from canary.cli.junit import write_junit
from canary.cli.one_hop import OneHopOptions, one_hop
from canary.cli.progress import Progress
from canary.cli.screen import show_result
from canary.config.presets import catalogue
from canary.core.jsonable import as_json
from canary.core.run import Run
from canary.core.spec import Assignment, Pipeline
from canary.engine.run import run_probe
from canary.engine.visit import Occasion


def probe(  # noqa: PLR0913  # one parameter an option
    *,
    url: options.Url = None,
    model: options.Model = None,
    prompt: options.PromptText = None,
    max_tokens: options.MaxTokens = None,
    temperature: options.Temperature = None,
    param: options.Params = None,
    header: options.Headers = None,
    api_key_env: options.ApiKeyEnv = None,
    no_stream: options.NoStream = False,
    deadline: options.Deadline = "300s",
    timeout: options.Timeouts = None,
    preset: options.Presets = None,
    first_visible: options.FirstVisible = None,
    inline_reasoning: options.InlineReasoning = False,
    accept_encoding: options.AcceptEncoding = "identity",
    ca_file: options.CaFile = None,
    cert_file: options.CertFile = None,
    key_file: options.KeyFile = None,
    insecure: options.Insecure = False,
    proxy: options.Proxy = None,
    as_json_object: options.AsJson = False,
    junit: options.Junit = None,
) -> None:
    """Send a reasoning-heavy question to one hop and judge how the answer came."""
    if url is None:
        msg = "probe needs --url URL and --model NAME"
        raise UsageError(msg)
    pipeline, assignment = one_hop(
        OneHopOptions(
            url=url,
            model=model,
            prompt=prompt,
            max_tokens=max_tokens,
            temperature=temperature,
            params=param or (),
            headers=header or (),
            api_key_env=api_key_env,
            no_stream=no_stream,
            deadline=deadline,
            first_visible=first_visible,
            inline_reasoning=inline_reasoning,
            accept_encoding=accept_encoding,
            ca_file=ca_file,
            cert_file=cert_file,
            key_file=key_file,
            insecure=insecure,
            proxy=proxy,
            timeouts=timers_of(timeout or (), preset or ()),
        )
    )
    run = send(pipeline, assignment, quiet=as_json_object)
    report(run, as_json_object=as_json_object, junit=junit)
    raise typer.Exit(exit_code(verdict for result in run.results for verdict in result.verdicts))


def send(pipeline: Pipeline, assignment: Assignment, *, quiet: bool) -> Run:
    """One run with a fresh seed; what it is at stands on stderr while it lasts, unless `quiet`."""
    watch = None if quiet else Progress(Console(stderr=True, highlight=False))
    occasion = Occasion(
        run_id=secrets.token_hex(6),
        seed=secrets.randbits(63),
        now=_now,
        catalogue=catalogue(),
        watch=watch.step if watch else lambda _: None,
    )
    with watch or nullcontext():
        return asyncio.run(run_probe(pipeline, assignment, occasion))


def _now() -> datetime:
    return datetime.now(UTC)  # noqa: TID251  # the command line is where the wall clock is read


def report(run: Run, *, as_json_object: bool, junit: Path | None) -> None:
    """To the screen or as the JSON of the README, and to a JUnit file if asked."""
    if as_json_object:
        typer.echo(json.dumps(run_record(run), ensure_ascii=False, indent=2))
    else:
        console = Console(highlight=False)
        for result in run.results:
            show_result(console, result, title=f"{run.pipeline}  {result.variant}  run {run.id}")
    if junit:
        write_junit(junit, {f"{result.hop} {result.variant}": result.verdicts for result in run.results})


def run_record(run: Run) -> dict[str, object]:
    return {
        "run": run.id,
        "pipeline": run.pipeline,
        "probe": run.probe,
        "started_at": run.started_at.isoformat(),
        "hops": [
            {
                "hop": result.hop,
                "variant": result.variant,
                "measurement": as_json(result.measurement),
                "verdicts": as_json(result.verdicts),
            }
            for result in run.results
        ],
        "findings": as_json(run.findings),
    }

"""From checked config files to the frozen plan. Nothing is decided here that a file could get wrong.

A hop's own value wins over the pipeline's defaults; paths become absolute here, because nobody below knows the file.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path as File
from types import MappingProxyType
from typing import TypeVar

from canary.config import schema
from canary.config.build_alerts import receiver_of, route_of, said, window_of
from canary.config.build_service import build_service
from canary.config.hops import Auth, HopSection, TimeoutEntry, TlsFiles
from canary.config.presets import timeouts_of
from canary.config.rules import probe_of
from canary.core.body import merged
from canary.core.schedule import Cron, Every, Schedule
from canary.core.secret import Secret
from canary.core.spec import DEFAULT_DEADLINE_S, Assignment, BudgetTest, Expectation, Hop, Pipeline, Plan, Prices, Tls
from canary.core.timeout import Clock, Outcome, StartsAt, Timeout, TimerPhase

_Value = TypeVar("_Value")


def build(files: Sequence[tuple[File, schema.ConfigFile]]) -> Plan:
    """`files`: each with the folder that its relative paths start from. Routes keep the order of the files."""
    return Plan(
        pipelines=tuple(_pipeline(section, folder) for folder, file in files for section in file.pipelines),
        receivers=tuple(receiver_of(section) for _, file in files for section in file.receivers),
        routes=tuple(route_of(section) for _, file in files for section in file.routes),
        maintenance=tuple(window_of(section) for _, file in files for section in file.maintenance),
        service=build_service(files),
    )


def _pipeline(section: schema.PipelineSection, folder: File) -> Pipeline:
    return Pipeline(
        name=section.name,
        labels=MappingProxyType(dict(section.labels)),
        hops=tuple(_hop(hop, section.defaults, folder) for hop in section.hops),
        assignments=tuple(_assignment(probe, section.defaults, folder) for probe in section.probes),
        parallel=section.parallel,
        prices=_prices(section.prices) if section.prices else None,
        tokens_per_run=section.tokens_per_run,
        tokens_per_day=section.tokens_per_day,
    )


def _prices(section: schema.PricesSection) -> Prices:
    return Prices(input=section.input, output=section.output, currency=section.currency)


def _hop(section: HopSection, defaults: schema.DefaultsSection, folder: File) -> Hop:
    plain = Hop(name=section.name)
    if section.url is None:
        return replace(plain, timeouts=_timeouts(section), keepalive_s=section.keepalive)
    return replace(
        plain,
        url=section.url,
        protocol=section.protocol or defaults.protocol or plain.protocol,
        model=section.model or defaults.model,
        headers=_headers(section, defaults),
        body=MappingProxyType(merged(defaults.body, section.body)),
        timeouts=_timeouts(section),
        forwards_reasoning=section.forwards_reasoning,
        inline_reasoning=section.inline_reasoning,
        keepalive_s=section.keepalive,
        accept_encoding=section.accept_encoding or plain.accept_encoding,
        tls=_tls(section.tls, folder) if section.tls else None,
        proxy=section.proxy,
        metrics_url=section.metrics_url,
    )


def _headers(section: HopSection, defaults: schema.DefaultsSection) -> Mapping[str, str | Secret]:
    """A hop's header replaces the default of the same name in any case."""
    own = dict(section.headers) | (_auth(section.auth) if section.auth else {})
    taken = {name.lower() for name in own}
    inherited = {name: value for name, value in defaults.headers.items() if name.lower() not in taken}
    return MappingProxyType(inherited | own)


def _auth(auth: Auth) -> dict[str, str | Secret]:
    if auth.bearer:
        return {"Authorization": Secret(f"Bearer {auth.bearer.reveal()}")}
    if auth.basic:
        pair = f"{auth.basic.username}:{auth.basic.password.reveal()}"
        return {"Authorization": Secret(f"Basic {base64.b64encode(pair.encode()).decode()}")}
    return {auth.header.name: auth.header.value} if auth.header else {}


def _tls(files: TlsFiles, folder: File) -> Tls:
    def absolute(name: str | None) -> str | None:
        return str((folder / name).absolute()) if name else None

    return Tls(
        ca_file=absolute(files.ca_file),
        cert_file=absolute(files.cert_file),
        key_file=absolute(files.key_file),
        verify=files.verify,
    )


def _timeouts(section: HopSection) -> tuple[Timeout, ...]:
    timers: list[Timeout] = []
    for entry in section.timeouts:
        if entry.preset:
            limits = {"idle_s": entry.idle, "headers_s": entry.headers, "total_s": entry.total}
            timers += timeouts_of(entry.preset, hop=section.name, **limits)
        else:
            timers.append(_free_timer(entry, section.name))
    return tuple(timers)


def _free_timer(entry: TimeoutEntry, hop: str) -> Timeout:
    limits = {TimerPhase.IDLE: entry.idle, TimerPhase.HEADERS: entry.headers, TimerPhase.TOTAL: entry.total}
    phase, limit_s = next((phase, limit) for phase, limit in limits.items() if limit is not None)
    return Timeout(
        name=entry.name or str(phase),
        phase=phase,
        clock=Clock(entry.clock) if entry.clock else Clock.BYTE,
        limit_s=limit_s,
        starts=StartsAt(entry.starts) if entry.starts else StartsAt.REQUEST_SENT,
        outcome=Outcome(entry.outcome) if entry.outcome else None,
        hop=hop,
    )


def _assignment(section: schema.ProbeSection, defaults: schema.DefaultsSection, folder: File) -> Assignment:
    probe = probe_of(section.use, folder)
    probe = replace(
        probe,
        max_tokens=section.max_tokens or probe.max_tokens,
        checks=tuple(section.checks) if section.checks else probe.checks,
    )
    return Assignment(
        probe=probe,
        schedule=_schedule(section, defaults),
        first_visible_s=_first(section.first_visible, defaults.first_visible),
        deadline_s=_first(section.deadline, defaults.deadline) or DEFAULT_DEADLINE_S,
        budgets=tuple(_budget(entry) for entry in section.budgets),
    )


def _schedule(section: schema.ProbeSection, defaults: schema.DefaultsSection) -> Schedule | None:
    """The probe's own way to say when takes the place of the defaults' one."""
    way = section if section.every is not None or section.cron is not None else defaults
    jitter = said({"jitter_s": _first(section.jitter, defaults.jitter)})
    if way.every is not None:
        return Every(seconds=way.every, **jitter)
    if way.cron is None:
        return None
    return Cron(expression=way.cron, **said({"timezone": _first(section.timezone, defaults.timezone)}), **jitter)


def _first(*values: _Value | None) -> _Value | None:
    return next((value for value in values if value is not None), None)


def _budget(entry: schema.BudgetEntry) -> BudgetTest:
    alike = entry.expect if isinstance(entry.expect, Expectation) else Expectation.HONOURED
    at = entry.expect if isinstance(entry.expect, dict) else {}
    return BudgetTest(
        parameter=entry.parameter,
        tokens=entry.tokens,
        value=entry.value,
        expect=alike,
        expect_at=MappingProxyType(dict(at)),
        nonsense=entry.nonsense,
    )

"""Receivers, routes and maintenance windows of checked config files, as the frozen types of the plan."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from types import MappingProxyType
from typing import Any

from canary.config.receivers import key_of
from canary.config.routes import MaintenanceSection, MatchSection, RouteSection
from canary.core.finding import Severity
from canary.core.route import Maintenance, Match, Policy, Receiver, Route
from canary.core.schedule import Cron, Once, Recurring, Window
from canary.notify import NOTIFIERS


def receiver_of(section: Any) -> Receiver:
    """`section`: a `ReceiverSection`, whose fields mypy cannot know."""
    kind = next(kind for kind in NOTIFIERS if getattr(section, kind) is not None)
    return Receiver(
        name=section.name,
        kind=kind,
        options=_options(kind, getattr(section, kind)),
        edits=NOTIFIERS[kind].edits,
    )


def _options(kind: str, section: object) -> object:
    options = NOTIFIERS[kind].options
    values = {field.name: getattr(section, key_of(field.name)) for field in fields(options)}
    return options(
        **{name: MappingProxyType(value) if isinstance(value, dict) else value for name, value in values.items()}
    )


def route_of(section: RouteSection) -> Route:
    policy = {
        "fail": section.fail[0] if section.fail else None,
        "of": section.fail[1] if section.fail else None,
        "recover": section.recover,
        "hold_s": section.hold,
        "unknown": section.unknown,
        "remind_s": section.remind,
        "escalate_after_s": section.escalate_after,
        "escalate_to": section.escalate_to,
    }
    return Route(
        match=_match(section.match),
        receiver=section.receiver,
        policy=Policy(**said(policy)),
        go_on=section.go_on,
    )


def window_of(section: MaintenanceSection) -> Maintenance:
    return Maintenance(name=section.name, window=_window(section), match=_match(section.match))


def said(values: Mapping[str, Any]) -> dict[str, Any]:
    """Without those that the config leaves to the defaults."""
    return {name: value for name, value in values.items() if value is not None}


def _window(section: MaintenanceSection) -> Window:
    if section.cron is None:
        assert section.starts is not None and section.ends is not None  # noqa: S101, PT018  # route_rules saw to it
        return Once(starts_at=section.starts, ends_at=section.ends)
    assert section.duration is not None  # noqa: S101  # the same
    cron = Cron(**said({"expression": section.cron, "timezone": section.timezone}))
    return Recurring(cron=cron, duration_s=section.duration)


def _match(section: MatchSection) -> Match:
    return Match(
        labels=MappingProxyType(dict(section.model_extra or {})),
        pipeline=section.pipeline,
        probe=section.probe,
        check=section.check,
        hop=section.hop,
        severity=Severity(section.severity) if section.severity else None,
    )

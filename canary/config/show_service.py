"""Receivers, routes, windows and the daemon itself in words, one line each. Secrets are `***`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import Field, fields

from canary.client.redact import public_url
from canary.config.timetable import describe_schedule
from canary.core.route import Maintenance, Match, Receiver, Route
from canary.core.schedule import Once
from canary.core.secret import Secret
from canary.core.service import Service, StatusPage, Storage
from canary.core.units import format_duration, format_size


def receiver_line(receiver: Receiver) -> str:
    said = [_option(option, getattr(receiver.options, option.name)) for option in fields(receiver.options)]  # type: ignore[arg-type]  # every row of NOTIFIERS has a dataclass
    return ", ".join([f"receiver {receiver.name}: {receiver.kind}", *filter(None, said)])


def _option(option: Field[object], value: object) -> str | None:
    """Nothing of what was left to the defaults."""
    if value == option.default or (isinstance(value, Mapping) and not value):
        return None
    if isinstance(value, Mapping):
        return f"{option.name} {' '.join(f'{name}={item}' for name, item in value.items())}"
    return f"{option.name} {public_url(value) if isinstance(value, str) and '://' in value else value}"


def route_line(number: int, route: Route) -> str:
    policy = route.policy
    said = [
        f"{policy.fail} of {policy.of} fail",
        f"{policy.recover} pass in a row",
        *([f"not over before {format_duration(policy.hold_s)}"] if policy.hold_s else []),
        f"blind after {policy.unknown} unknown",
        *([f"again every {format_duration(policy.remind_s)}"] if policy.remind_s else []),
        *(
            [f"{policy.escalate_to} after {format_duration(policy.escalate_after_s)}"]
            if policy.escalate_after_s
            else []
        ),
        *(["then the next routes"] if route.go_on else []),
    ]
    return f"route {number}: {_match(route.match)} to {route.receiver}; {', '.join(said)}"


def window_line(maintenance: Maintenance) -> str:
    window = maintenance.window
    if isinstance(window, Once):
        when = f"{window.starts_at.isoformat()} to {window.ends_at.isoformat()}"
    else:
        when = f"{describe_schedule(window.cron)} for {format_duration(window.duration_s)}"
    return f"maintenance {maintenance.name}: {_match(maintenance.match)}, {when}"


def service_line(service: Service) -> str:
    listen = service.listen
    host = f"[{listen.host}]" if ":" in listen.host else listen.host
    heartbeat = service.heartbeat
    said = [
        f"listens at {host}:{listen.port}{' with a token' if listen.token else ''}",
        *([_public(service.status_page)] if service.status_page.public else []),
        f"history in {storage_place(service.storage.url)}",
        _kept(service.storage),
        *([f"heartbeat every {format_duration(heartbeat.every_s)}"] if heartbeat else []),
        *([f"own network told by {service.own_network.address}"] if service.own_network else []),
        *(["prompts and answers in messages"] if service.include_content else []),
    ]
    return f"daemon: {', '.join(said)}"


def _public(page: StatusPage) -> str:
    content = " with what was found" if page.content else ""
    return f"public status page {page.title!r} of incidents{content} from {format_duration(page.min_age_s)} on"


def storage_place(url: Secret) -> str:
    """A path, or a server and database: nothing of a user, a password or a query."""
    scheme, _, rest = url.reveal().partition("://")
    return rest[1:] if scheme == "sqlite" else f"{scheme}://{rest.partition('?')[0].rpartition('@')[2]}"


def _kept(storage: Storage) -> str:
    size = format_size(storage.keep_bytes)
    return f"up to {storage.keep_days:g} days, {storage.keep_runs:,} runs and {size} of transcripts"


def _match(match: Match) -> str:
    named = {
        name: getattr(match, name)
        for name in ("pipeline", "probe", "check", "hop", "severity")
        if getattr(match, name) is not None
    }
    return " ".join(f"{name}={value}" for name, value in (named | dict(match.labels)).items()) or "everything"

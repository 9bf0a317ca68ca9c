"""What decisions rest on: what is going on, and what the config and people say about it."""

from __future__ import annotations

from dataclasses import dataclass
from ipaddress import ip_address
from urllib.parse import urlsplit

from canary.core.deploy import Deploy
from canary.core.incident import Incident, IncidentKey, Page
from canary.core.route import Maintenance, Receiver, Route, Silence
from canary.core.spec import Assignment, Hop, Pipeline, Plan

_PORTS = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """Incidents that are not OK, and pages that are open or were resolved within the last hour."""

    incidents: tuple[Incident, ...] = ()
    pages: tuple[Page, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """`base_url`: how links in messages begin; None: no links."""

    pipelines: tuple[Pipeline, ...]
    receivers: tuple[Receiver, ...] = ()
    routes: tuple[Route, ...] = ()
    maintenance: tuple[Maintenance, ...] = ()
    silences: tuple[Silence, ...] = ()
    deploys: tuple[Deploy, ...] = ()
    base_url: str | None = None
    include_content: bool = False

    def pipeline(self, name: str) -> Pipeline | None:
        return next((each for each in self.pipelines if each.name == name), None)

    def hop(self, pipeline: str, name: str) -> Hop | None:
        hops = each.hops if (each := self.pipeline(pipeline)) else ()
        return next((hop for hop in hops if hop.name == name), None)

    def assignment(self, key: IncidentKey) -> Assignment | None:
        assignments = each.assignments if (each := self.pipeline(key.pipeline)) else ()
        return next((each for each in assignments if each.probe.name == key.probe), None)

    def place(self, pipeline: str, hop: str) -> str:
        """Host, port and path of the hop's URL: equal for pipelines that share the hop. Without a URL, its name."""
        found = self.hop(pipeline, hop)
        return f"{pipeline}/{hop}" if found is None or found.url is None else _place(found.url)


def _place(url: str) -> str:
    """Equal for all spellings of one address: case, a port that the scheme implies, a last dot or slash, IPv6."""
    parts = urlsplit(url)
    port = "" if parts.port in (None, _PORTS.get(parts.scheme)) else f":{parts.port}"
    return f"{_host((parts.hostname or '').rstrip('.'))}{port}{parts.path.rstrip('/')}"


def _host(name: str) -> str:
    try:
        address = ip_address(name)
    except ValueError:
        return name
    return f"[{address}]" if address.version == 6 else str(address)


def rules_of(plan: Plan, *, silences: tuple[Silence, ...] = (), deploys: tuple[Deploy, ...] = ()) -> Rules:
    return Rules(
        pipelines=plan.pipelines,
        receivers=plan.receivers,
        routes=plan.routes,
        maintenance=plan.maintenance,
        silences=silences,
        deploys=deploys,
        base_url=plan.service.listen.public_url,
        include_content=plan.service.include_content,
    )

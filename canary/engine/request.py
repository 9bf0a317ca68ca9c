"""From a hop and a probe to one request. Pure.

Every request is tagged as synthetic (header and `user`), so that it can be told from real traffic in any log or bill.
"""

from __future__ import annotations

from dataclasses import dataclass

from canary import __version__
from canary.client.target import Target
from canary.core.body import merged
from canary.core.observation import Json
from canary.core.spec import Hop, Probe
from canary.prompts.compose import Composed
from canary.wire import WIRES, Prompt

SYNTHETIC_USER = "reasoning-canary"


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What is sent to one hop: where to, and the body."""

    target: Target
    body: Json


def build_request(hop: Hop, probe: Probe, composed: Composed, *, run_id: str) -> Request:
    """The plain form of a probe's request to a hop. The hop's own `body` wins over the probe's."""
    if hop.url is None:
        msg = f"hop {hop.name} has no url and cannot be asked"
        raise ValueError(msg)
    extra: dict[str, Json] = {"user": SYNTHETIC_USER}
    if composed.tools is not None:
        extra["tools"] = composed.tools
    prompt = Prompt(
        model=hop.model or "",
        text=composed.text,
        max_tokens=probe.max_tokens,
        temperature=probe.temperature,
        stream=hop.stream,
        extra=merged(merged(extra, probe.body), hop.body),
    )
    tags = {"User-Agent": f"reasoning-canary/{__version__}", "X-Canary-Run": run_id, "X-Canary-Probe": probe.name}
    target = Target(
        url=hop.url,
        protocol=hop.protocol,
        headers={**tags, **hop.headers},
        accept_encoding=hop.accept_encoding,
        tls=hop.tls,
        proxy=hop.proxy,
    )
    return Request(target=target, body=WIRES[hop.protocol].encode(prompt))

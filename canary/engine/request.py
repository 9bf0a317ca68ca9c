"""From a hop and a probe to one request. Pure.

Every request is tagged as synthetic (header and `user`), so that it can be told from real traffic in any log or bill.
"""

from __future__ import annotations

from canary import __version__
from canary.checks.complete import MOST_BYTES, longest_answer
from canary.client.target import Target
from canary.core.body import merged
from canary.core.observation import Json
from canary.core.spec import Hop, Probe
from canary.prompts.compose import Composed
from canary.wire import WIRES, Prompt

SYNTHETIC_USER = "reasoning-canary"


def target_of(hop: Hop, probe: Probe, *, run_id: str) -> Target:
    """Where a hop is asked, and with which headers; the hop's own win."""
    if hop.url is None:
        msg = f"hop {hop.name} has no url and cannot be asked"
        raise ValueError(msg)
    tags = {"User-Agent": f"reasoning-canary/{__version__}", "X-Canary-Run": run_id, "X-Canary-Probe": probe.name}
    return Target(
        url=hop.url,
        protocol=hop.protocol,
        headers={**tags, **hop.headers},
        accept_encoding=hop.accept_encoding,
        tls=hop.tls,
        proxy=hop.proxy,
    )


def most_bytes(body: Json) -> int:
    """Where reading the answer to that body ends: at what no answer can take, or at what we can hold."""
    return min(longest_answer(body) or MOST_BYTES, MOST_BYTES)


def body_of(hop: Hop, probe: Probe, composed: Composed) -> Json:
    """The plain form of a probe's request to a hop. The hop's own `body` wins over the probe's."""
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
    return WIRES[hop.protocol].encode(prompt)

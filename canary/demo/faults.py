"""The faults that a demo hop can be given. One row a fault; the tests and `canary demo` read the same table.

A fault stands around its hop: it may change the request before the hop sees it, the answer after the hop gave it, or
answer in the hop's place. A hop with several has the first of them outermost. `kinds` are the hops at which it happens
in the field: what needs a parser does not happen at a byte proxy.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from typing import TypeAlias

from canary.core.observation import Json
from canary.demo import chunk_faults, stream_faults
from canary.demo.chunks import error_object
from canary.demo.edge import error_page
from canary.demo.generation import BUDGET
from canary.demo.hop_kind import HopKind
from canary.demo.stream import Answer, Call, ChunkMap, Serve, document, mapped

Act: TypeAlias = Callable[[Call, Serve, float], Awaitable[Answer]]

ANYWHERE = frozenset(HopKind)
PARSERS = ANYWHERE - {HopKind.EDGE}
RELAYS = PARSERS - {HopKind.ENGINE}
ENGINE = frozenset({HopKind.ENGINE})
CLAMPED_TO = 1024  # the least budget that Anthropic's models take, to which gateways raise a smaller one
STARVED_TO = 256


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """`after_s`: the fault's own time at a demo scale of 1, where it has one. `scales`: it shrinks with the demo."""

    name: str
    summary: str
    kinds: frozenset[HopKind]
    act: Act
    after_s: float = 0.0
    scales: bool = True


def around(serve: Serve, faults: tuple[Fault, ...], scale: float) -> Serve:
    """`serve` with `faults` around it, the first outermost."""
    for fault in reversed(faults):
        serve = _around(serve, fault, fault.after_s * (scale if fault.scales else 1.0))
    return serve


def _around(serve: Serve, fault: Fault, after_s: float) -> Serve:
    async def faulty(call: Call) -> Answer:
        return await fault.act(call, serve, after_s)

    return faulty


def rewriting(change: Callable[[Json], Json]) -> Act:
    """Another request than the one that came."""

    async def act(call: Call, serve: Serve, _after_s: float) -> Answer:
        return await serve(replace(call, body=change(call.body)))

    return act


def saying(make: Callable[[], ChunkMap]) -> Act:
    """Other chunks than the hop would send."""

    async def act(call: Call, serve: Serve, _after_s: float) -> Answer:
        return mapped(await serve(call), make())

    return act


def sending(change: Callable[[Answer, float], Awaitable[Answer]]) -> Act:
    """The hop's answer, sent in another way. Its time counts from the moment the hop has an answer."""

    async def act(call: Call, serve: Serve, after_s: float) -> Answer:
        return await change(await serve(call), after_s)

    return act


def instead(make: Callable[[], Answer]) -> Act:
    """An answer without asking the hop."""

    async def act(_call: Call, _serve: Serve, _after_s: float) -> Answer:
        return make()

    return act


def dropping(parameter: str) -> Act:
    return rewriting(lambda body: {name: value for name, value in body.items() if name != parameter})


def renaming(parameter: str, to: str) -> Act:
    return rewriting(lambda body: {to if name == parameter else name: value for name, value in body.items()})


def _clamped(body: Json) -> Json:
    budget = body.get(BUDGET)
    return {**body, BUDGET: CLAMPED_TO} if isinstance(budget, int) and 0 <= budget < CLAMPED_TO else body


def _starved(body: Json) -> Json:
    return {**body, "max_tokens": STARVED_TO, "max_completion_tokens": STARVED_TO}


def _too_many() -> Answer:
    error = error_object("Rate limit reached for requests", code="429", kind="rate_limit_error")
    return document(error, status=429, headers={"retry-after": "1"})


def _unauthorised() -> Answer:
    return document(error_object("Incorrect API key provided", code="401", kind="auth_error"), status=401)


def _rows() -> tuple[Fault, ...]:
    return (*_request_faults(), *_text_faults(), *_usage_faults(), *_travel_faults(), *_end_faults(), *_refusals())


def _request_faults() -> tuple[Fault, ...]:
    return (
        Fault(
            name="drop_parameter",
            summary="The reasoning budget vanishes from the request.",
            kinds=RELAYS,
            act=dropping(BUDGET),
        ),
        Fault(
            name="rename_parameter",
            summary="The reasoning budget is passed on under a name that the engine does not know.",
            kinds=RELAYS,
            act=renaming(BUDGET, "thinking_budget"),
        ),
        Fault(
            name="ignore_budget",
            summary="The engine accepts a reasoning budget and does not keep it.",
            kinds=ENGINE,
            act=dropping(BUDGET),
        ),
        Fault(
            name="clamp_budget",
            summary=f"A reasoning budget below {CLAMPED_TO} tokens is raised to that.",
            kinds=PARSERS,
            act=rewriting(_clamped),
        ),
        Fault(
            name="reject_late",
            summary="A reasoning budget is refused inside a 200: an error object, then the terminator.",
            kinds=PARSERS,
            act=stream_faults.reject_late,
        ),
        Fault(
            name="starve",
            summary=f"max_tokens is cut to {STARVED_TO}, and reasoning eats all of it.",
            kinds=PARSERS,
            act=rewriting(_starved),
        ),
    )


def _text_faults() -> tuple[Fault, ...]:
    return (
        Fault(
            name="strip_reasoning",
            summary="Reasoning is left out, so the stream is silent while the model thinks.",
            kinds=PARSERS,
            act=saying(chunk_faults.strip_reasoning),
        ),
        Fault(
            name="rename_reasoning",
            summary="Reasoning moves to a field that no client reads.",
            kinds=PARSERS,
            act=saying(chunk_faults.rename_reasoning(chunk_faults.UNKNOWN_FIELD)),
        ),
        Fault(
            name="swap_reasoning_field",
            summary="Reasoning moves to the other of its two usual fields.",
            kinds=PARSERS,
            act=saying(chunk_faults.rename_reasoning(None)),
        ),
        Fault(
            name="merge_tags",
            summary="Reasoning stands inside the content, between <think> tags.",
            kinds=PARSERS,
            act=saying(chunk_faults.merge_tags),
        ),
        Fault(
            name="all_in_reasoning",
            summary="The answer stands in the reasoning field, and the visible text is empty.",
            kinds=PARSERS,
            act=saying(chunk_faults.all_in_reasoning),
        ),
        Fault(
            name="copy_reasoning",
            summary="Reasoning is repeated as visible text.",
            kinds=PARSERS,
            act=saying(chunk_faults.copy_reasoning),
        ),
        Fault(
            name="leak",
            summary="Raw channel markup stands in the visible text.",
            kinds=PARSERS,
            act=saying(chunk_faults.before_content(chunk_faults.MARKUP)),
        ),
        Fault(
            name="stray_closer",
            summary="A closing think tag that nothing opened stands in the visible text.",
            kinds=PARSERS,
            act=saying(chunk_faults.before_content(chunk_faults.STRAY_CLOSER)),
        ),
        Fault(
            name="wrong_model",
            summary="Another model answers than the one that was asked for.",
            kinds=PARSERS,
            act=saying(chunk_faults.wrong_model),
        ),
        Fault(
            name="canned_answer",
            summary="A cache gives everybody the same answer.",
            kinds=ANYWHERE,
            act=stream_faults.canned_answer,
        ),
    )


def _usage_faults() -> tuple[Fault, ...]:
    return (
        Fault(
            name="no_usage",
            summary="Token counts are never reported.",
            kinds=PARSERS,
            act=saying(chunk_faults.no_usage),
        ),
        Fault(
            name="zero_reasoning_usage",
            summary="Usage says that no token was reasoning.",
            kinds=PARSERS,
            act=saying(chunk_faults.zero_reasoning_usage),
        ),
        Fault(
            name="fabricated_usage",
            summary="Usage is made up from characters.",
            kinds=PARSERS,
            act=saying(chunk_faults.fabricated_usage),
        ),
    )


def _travel_faults() -> tuple[Fault, ...]:
    return (
        Fault(
            name="buffer",
            summary="The whole answer is held back and sent in one burst.",
            kinds=ANYWHERE,
            act=sending(stream_faults.buffer),
        ),
        Fault(
            name="gzip",
            summary="The answer is compressed although that was not asked for.",
            kinds=ANYWHERE,
            act=sending(stream_faults.gzip),
        ),
        Fault(
            name="ping_flood",
            summary="Comments are sent all the time while the model thinks.",
            kinds=PARSERS,
            act=sending(stream_faults.ping_flood),
            after_s=0.1,
        ),
        Fault(
            name="wrapped_keepalives",
            summary="Comments are sent as data, which breaks clients that parse it.",
            kinds=PARSERS,
            act=sending(stream_faults.wrapped_keepalives),
            after_s=0.5,
        ),
        Fault(
            name="slow_headers",
            summary="The status line comes late.",
            kinds=ANYWHERE,
            act=stream_faults.slow_headers,
            after_s=4.0,
        ),
        Fault(
            name="freeze",
            summary="Headers and one chunk come, then nothing.",
            kinds=ANYWHERE,
            act=sending(stream_faults.freeze),
        ),
        Fault(
            name="hang",
            summary="The request is taken and never answered.",
            kinds=ANYWHERE,
            act=stream_faults.hang,
        ),
    )


def _end_faults() -> tuple[Fault, ...]:
    return (
        Fault(
            name="cut_fin",
            summary="The connection is closed in mid-stream.",
            kinds=ANYWHERE,
            act=sending(stream_faults.cut_fin),
            after_s=2.0,
        ),
        Fault(
            name="cut_rst",
            summary="The connection is reset in mid-stream.",
            kinds=ANYWHERE,
            act=sending(stream_faults.cut_rst),
            after_s=2.0,
        ),
        Fault(
            name="cut_clean",
            summary="The stream breaks off, and HTTP calls it complete.",
            kinds=ANYWHERE,
            act=sending(stream_faults.cut_clean),
            after_s=2.0,
        ),
        Fault(
            name="error_in_stream",
            summary="An error object ends the stream in the middle.",
            kinds=PARSERS,
            act=sending(stream_faults.error_in_stream),
            after_s=2.0,
        ),
        Fault(
            name="no_done",
            summary="The terminator never comes.",
            kinds=PARSERS,
            act=sending(stream_faults.no_done),
        ),
        Fault(
            name="no_finish",
            summary="The terminator comes without a finish reason.",
            kinds=PARSERS,
            act=saying(chunk_faults.no_finish),
        ),
        Fault(
            name="hold_open",
            summary="The connection stays open after the terminator.",
            kinds=ANYWHERE,
            act=sending(stream_faults.hold_open),
            after_s=3.0,
            scales=False,  # what counts as held open is an absolute time
        ),
    )


def _refusals() -> tuple[Fault, ...]:
    return (
        Fault(
            name="too_many_requests",
            summary="Every request is refused for its rate (429).",
            kinds=ANYWHERE,
            act=instead(_too_many),
        ),
        Fault(
            name="auth",
            summary="Every request is refused for its key (401).",
            kinds=ANYWHERE,
            act=instead(_unauthorised),
        ),
        Fault(
            name="html_502",
            summary="A proxy's 502 page stands where an answer should be.",
            kinds=ANYWHERE,
            act=instead(lambda: error_page(502)),
        ),
    )


FAULTS: Mapping[str, Fault] = {fault.name: fault for fault in _rows()}

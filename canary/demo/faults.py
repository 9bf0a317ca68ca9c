"""The faults that a demo hop can be given. One row a fault; the tests and `canary demo` read the same table."""

from __future__ import annotations

from collections.abc import Mapping

from canary.core.observation import Json
from canary.demo import chunk_faults, stream_faults
from canary.demo.chunks import error_object
from canary.demo.edge import error_page
from canary.demo.fault import Fault, dropping, instead, renaming, rewriting, saying, sending
from canary.demo.generation import BUDGET
from canary.demo.hop_kind import HopKind
from canary.demo.stream import Answer, Call, Cut, EndKind, Serve, document

ANYWHERE = frozenset(HopKind)
PARSERS = ANYWHERE - {HopKind.EDGE}
RELAYS = PARSERS - {HopKind.ENGINE}
ENGINE = frozenset({HopKind.ENGINE})
CLAMPED_TO = 1024  # the least budget that Anthropic's models take, to which gateways raise a smaller one
STARVED_TO = 256


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


async def _down(_call: Call, _serve: Serve, _after_s: float) -> Answer:
    raise Cut(EndKind.FIN)


FAULTS: Mapping[str, Fault] = {
    "drop_parameter": Fault(
        summary="The reasoning budget vanishes from the request.",
        kinds=RELAYS,
        act=dropping(BUDGET),
    ),
    "rename_parameter": Fault(
        summary="The reasoning budget is passed on under a name that the engine does not know.",
        kinds=RELAYS,
        act=renaming(BUDGET, "thinking_budget"),
    ),
    "ignore_budget": Fault(
        summary="The engine accepts a reasoning budget and does not keep it.",
        kinds=ENGINE,
        act=dropping(BUDGET),
    ),
    "clamp_budget": Fault(
        summary=f"A reasoning budget below {CLAMPED_TO} tokens is raised to that.",
        kinds=PARSERS,
        act=rewriting(_clamped),
    ),
    "reject_late": Fault(
        summary="A reasoning budget is refused inside a 200: an error object, then the terminator.",
        kinds=PARSERS,
        act=stream_faults.reject_late,
    ),
    "starve": Fault(
        summary=f"max_tokens is cut to {STARVED_TO}, and reasoning eats all of it.",
        kinds=PARSERS,
        act=rewriting(_starved),
    ),
    "strip_reasoning": Fault(
        summary="Reasoning is left out, so the stream is silent while the model thinks.",
        kinds=PARSERS,
        act=saying(chunk_faults.strip_reasoning),
    ),
    "rename_reasoning": Fault(
        summary="Reasoning moves to a field that no client reads.",
        kinds=PARSERS,
        act=saying(chunk_faults.rename_reasoning(chunk_faults.UNKNOWN_FIELD)),
    ),
    "swap_reasoning_field": Fault(
        summary="Reasoning moves to the other of its two usual fields.",
        kinds=PARSERS,
        act=saying(chunk_faults.rename_reasoning(None)),
    ),
    "merge_tags": Fault(
        summary="Reasoning stands inside the content, between <think> tags.",
        kinds=PARSERS,
        act=saying(chunk_faults.merge_tags),
    ),
    "all_in_reasoning": Fault(
        summary="The answer stands in the reasoning field, and the visible text is empty.",
        kinds=PARSERS,
        act=saying(chunk_faults.all_in_reasoning),
    ),
    "copy_reasoning": Fault(
        summary="Reasoning is repeated as visible text.",
        kinds=PARSERS,
        act=saying(chunk_faults.copy_reasoning),
    ),
    "leak": Fault(
        summary="Raw channel markup stands in the visible text.",
        kinds=PARSERS,
        act=saying(chunk_faults.before_content(chunk_faults.MARKUP)),
    ),
    "stray_closer": Fault(
        summary="A closing think tag that nothing opened stands in the visible text.",
        kinds=PARSERS,
        act=saying(chunk_faults.before_content(chunk_faults.STRAY_CLOSER)),
    ),
    "wrong_model": Fault(
        summary="Another model answers than the one that was asked for.",
        kinds=PARSERS,
        act=saying(chunk_faults.wrong_model),
    ),
    "canned_answer": Fault(
        summary="A cache gives everybody the same answer.",
        kinds=ANYWHERE,
        act=stream_faults.canned_answer,
    ),
    "no_usage": Fault(
        summary="Token counts are never reported.",
        kinds=PARSERS,
        act=saying(chunk_faults.no_usage),
    ),
    "zero_reasoning_usage": Fault(
        summary="Usage says that no token was reasoning.",
        kinds=PARSERS,
        act=saying(chunk_faults.zero_reasoning_usage),
    ),
    "fabricated_usage": Fault(
        summary="Usage is made up from characters.",
        kinds=PARSERS,
        act=saying(chunk_faults.fabricated_usage),
    ),
    "buffer": Fault(
        summary="The whole answer is held back and sent in one burst.",
        kinds=ANYWHERE,
        act=sending(stream_faults.buffer),
    ),
    "gzip": Fault(
        summary="The answer is compressed although that was not asked for.",
        kinds=ANYWHERE,
        act=sending(stream_faults.gzip),
    ),
    "ping_flood": Fault(
        summary="Comments are sent all the time while the model thinks.",
        kinds=PARSERS,
        act=sending(stream_faults.ping_flood),
        after_s=0.1,
    ),
    "wrapped_keepalives": Fault(
        summary="Comments are sent as data, which breaks clients that parse it.",
        kinds=PARSERS,
        act=sending(stream_faults.wrapped_keepalives),
        after_s=0.5,
    ),
    "slow_headers": Fault(
        summary="The status line comes late.",
        kinds=ANYWHERE,
        act=stream_faults.slow_headers,
        after_s=4.0,
    ),
    "freeze": Fault(
        summary="Headers and one chunk come, then nothing.",
        kinds=ANYWHERE,
        act=sending(stream_faults.freeze),
    ),
    "down": Fault(
        summary="Connections are closed before there is an answer.",
        kinds=ANYWHERE,
        act=_down,
    ),
    "hang": Fault(
        summary="The request is taken and never answered.",
        kinds=ANYWHERE,
        act=stream_faults.hang,
    ),
    "cut_fin": Fault(
        summary="The connection is closed in mid-stream.",
        kinds=ANYWHERE,
        act=sending(stream_faults.cut_fin),
        after_s=2.0,
    ),
    "cut_rst": Fault(
        summary="The connection is reset in mid-stream.",
        kinds=ANYWHERE,
        act=sending(stream_faults.cut_rst),
        after_s=2.0,
    ),
    "cut_clean": Fault(
        summary="The stream breaks off, and HTTP calls it complete.",
        kinds=ANYWHERE,
        act=sending(stream_faults.cut_clean),
        after_s=2.0,
    ),
    "error_in_stream": Fault(
        summary="An error object ends the stream in the middle.",
        kinds=PARSERS,
        act=sending(stream_faults.error_in_stream),
        after_s=2.0,
    ),
    "no_done": Fault(
        summary="The terminator never comes.",
        kinds=PARSERS,
        act=sending(stream_faults.no_done),
    ),
    "no_finish": Fault(
        summary="The terminator comes without a finish reason.",
        kinds=PARSERS,
        act=saying(chunk_faults.no_finish),
    ),
    "hold_open": Fault(
        summary="The connection stays open after the terminator.",
        kinds=ANYWHERE,
        act=sending(stream_faults.hold_open),
        after_s=3.0,
        scales=False,  # what counts as held open is an absolute time
    ),
    "too_many_requests": Fault(
        summary="Every request is refused for its rate (429).",
        kinds=ANYWHERE,
        act=instead(_too_many),
    ),
    "auth": Fault(
        summary="Every request is refused for its key (401).",
        kinds=ANYWHERE,
        act=instead(_unauthorised),
    ),
    "html_502": Fault(
        summary="A proxy's 502 page stands where an answer should be.",
        kinds=ANYWHERE,
        act=instead(lambda: error_page(502)),
    ),
}

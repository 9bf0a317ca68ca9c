"""Does the stream keep to its protocol, so that every client survives it? Never worse than WARN: it did arrive.

What a tolerant reader shrugs off breaks others. `data: : ping` and a chunk that is not JSON end up in `JSON.parse`; an
event without data is dispatched by SDKs although the grammar says it is none; a missing last blank line loses the last
event; whoever waits for events gets nothing from one JSON document. A comment is legal everywhere, but a block of
nothing else after any `id:` line makes openai-python (seen in 3.57.0) dispatch an empty event, and crash on it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from types import MappingProxyType

from canary.analysis.ticks import answer_over
from canary.checks.evidence import Evidence, cannot_judge, unknown, unusable
from canary.core.observation import Observation
from canary.core.stream import ViolationKind
from canary.core.verdict import Status, Verdict

NAME = "protocol"

RISKS: Mapping[ViolationKind, str] = MappingProxyType(
    {
        ViolationKind.NOT_JSON: "data that is not JSON",
        ViolationKind.NOT_AN_OBJECT: "JSON that is no object",
        ViolationKind.KEEPALIVE_AS_DATA: "a keepalive comment wrapped in data",
        ViolationKind.EVENT_WITHOUT_DATA: "an event without data, which some SDKs dispatch",
        ViolationKind.INVALID_UTF8: "bytes that are not UTF-8",
        ViolationKind.EVENT_TOO_LONG: "an event longer than any client takes",
        ViolationKind.JSON_FOR_STREAM: "one JSON document where a stream was asked for",
        ViolationKind.DATA_AFTER_TERMINATOR: "data after the terminator",
        ViolationKind.MISSING_FINAL_BLANK_LINE: "no blank line after the last event, which strict clients drop",
    }
)
_ID_LINE = re.compile(rb"^id:", re.MULTILINE)
_COMMENT_BLOCK = re.compile(rb"\n\n(?::[^\n]*\n)+\n")


def check(evidence: Evidence) -> list[Verdict]:
    if reason := unusable(evidence):
        return [cannot_judge(NAME, reason)]
    over = answer_over(evidence.observation)
    seen = Counter(violation.kind for violation in evidence.measurement.violations)
    if not over:
        del seen[ViolationKind.MISSING_FINAL_BLANK_LINE]  # half an event is the cut itself, which `complete` judges
    found = [(kind.value, f"{risk}{_times(seen[kind])}") for kind, risk in RISKS.items() if kind in seen]
    if _comment_after_id(evidence.observation):
        found.append(
            ("comment_after_id", "a comment as a block of its own after `id:` lines, which openai-python dispatches")
        )
    if not found and not over:
        return [unknown(NAME, "cut", "no flaw before the stream broke off; what would have followed is not known")]
    if not found:
        return [Verdict(check=NAME, status=Status.PASS, reason="kept", message="nothing that a client could break on")]
    message = f"clients may break on this: {'; '.join(words for _, words in found)}"
    count = sum(seen.values()) or 1
    return [
        Verdict(
            check=NAME, status=Status.WARN, reason=found[0][0], message=message, observed=count, limit=0, unit="flaws"
        )
    ]


def _times(count: int) -> str:
    return f" ({count} times)" if count > 1 else ""


def _comment_after_id(observation: Observation) -> bool:
    body = b"".join(read.data for read in observation.exchange.reads).replace(b"\r\n", b"\n")
    first = _ID_LINE.search(body)
    return first is not None and _COMMENT_BLOCK.search(body, first.end()) is not None

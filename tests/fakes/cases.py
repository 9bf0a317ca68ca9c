"""Field failures as data: a short list of what arrives when becomes the bytes of an exchange, decoded and judged.

A case is one entry of `tests/cases/*.yaml`. Every step of its `stream` is one network read at `at`, or `repeat` of
them, `every` so many seconds apart, and holds one of

- a chunk: `role`, `content`, `reasoning`, `reasoning_content`, `tool`, `refusal` or `delta` (as it is), with `finish`;
- `over: stop`: the finish reason, a usage chunk and `[DONE]`. Usage is one token a delta and one for the stop, unless
  `usage` says otherwise;
- `usage` alone, `done: true`, `comment`, `data` (an event, text or JSON), `body` (a JSON document), `raw` (as it is).

`end` is `complete`, `truncated`, `reset`, `deadline` or `connect_failed`, and when; without it the stream is complete
with its last read. `timers` are presets or `name:phase:clock:seconds`. Each verdict that is not PASS must be listed.
"""

import json
from dataclasses import dataclass, field
from operator import attrgetter
from pathlib import Path

import yaml

from canary.analysis.measure import measure
from canary.checks import judge
from canary.checks.evidence import Evidence
from canary.config.presets import catalogue, timeouts_of
from canary.core.measurement import Measurement
from canary.core.observation import Exchange, Head, Read
from canary.core.timeout import Clock, Timeout, TimerPhase
from canary.core.verdict import Status, Verdict
from canary.wire.decode import decode
from canary.wire.transcript_end import end_of
from tests.fakes.exchanges import STARTED_AT

FOLDER = Path(__file__).parent.parent / "cases"
ASKED = {"model": "m", "max_tokens": 4096, "stream": True, "stream_options": {"include_usage": True}}
DELTA_KEYS = ("role", "content", "reasoning", "reasoning_content", "refusal")


@dataclass(frozen=True, kw_only=True)
class Case:
    id: str
    url: str
    fact: str
    verdicts: dict
    stream: list = field(default_factory=list)
    form: str = ""
    request: dict = field(default_factory=dict)
    headers_at: float | None = 0.01
    status: int = 200
    content_type: str = "text/event-stream"
    end: str | None = None
    timers: list = field(default_factory=list)
    below: list | None = None
    expect: dict = field(default_factory=dict)  # what is expected of the hop: more fields of Evidence
    numbers: dict = field(default_factory=dict)  # of the measurement, by dotted name
    says: list = field(default_factory=list)  # words that some verdict's message holds

    @property
    def name(self):
        return f"{self.id} {self.form}".strip()


@dataclass(frozen=True, kw_only=True)
class Judged:
    measurement: Measurement
    verdicts: tuple[Verdict, ...]

    def number(self, name):
        return attrgetter(name)(self.measurement)


def all_cases():
    files = sorted(FOLDER.glob("*.yaml"))
    return [Case(**entry) for file in files for entry in yaml.safe_load(file.read_text(encoding="utf-8"))]


def judged(case):
    observation = decode(_exchange(case))
    measurement = measure(observation)
    timers = [timer for text in case.timers for timer in timers_of(text)]
    below = None if case.below is None else measure(decode(_stream_exchange(case.below)))
    evidence = Evidence(
        observation=observation,
        measurement=measurement,
        timeouts=tuple(timers),
        catalogue=catalogue(),
        below=below,
        **case.expect,
    )
    return Judged(measurement=measurement, verdicts=judge(evidence))


def told(verdicts, expected):
    """`{check: "STATUS reason"}` of what is expected and of all that is not PASS.

    Where a check has several verdicts, each goes by its subject too.
    """
    checks = [verdict.check for verdict in verdicts]
    by_name = {
        verdict.check if checks.count(verdict.check) == 1 else f"{verdict.check} {verdict.subject}": verdict
        for verdict in verdicts
    }
    return {
        name: f"{verdict.status} {verdict.reason}"
        for name, verdict in by_name.items()
        if name in expected or verdict.status is not Status.PASS
    }


def timers_of(text):
    """A preset's timers, or the one of `name:phase:clock:seconds`."""
    if ":" not in text:
        return timeouts_of(text)
    name, phase, clock, limit = text.split(":")
    return (Timeout(name=name, phase=TimerPhase(phase), clock=Clock(clock), limit_s=float(limit)),)


def _exchange(case):
    head = None
    if case.headers_at is not None:
        head = Head(at=case.headers_at, status=case.status, headers={"content-type": case.content_type})
    return _of(case.stream, head, case.end, {**ASKED, **case.request})


def _stream_exchange(steps):
    return _of(steps, Head(at=0.01, status=200, headers={"content-type": "text/event-stream"}), None, ASKED)


def _of(steps, head, end, request):
    reads = tuple(_reads(steps))
    last = max([read.at for read in reads] + [head.at if head else 0.0])
    name, _, at = (end or "complete").partition(" ")
    words = {"phase": "connect"} if name == "connect_failed" else {}
    ended = end_of(name, at=float(at or last), words=words, saw_headers=head is not None)
    return Exchange(
        protocol="openai-chat",
        url="/v1/chat/completions",
        started_at=STARTED_AT,
        request={key: value for key, value in request.items() if value is not None},
        end=ended,
        head=head,
        reads=reads,
    )


def _reads(steps):
    deltas = 0
    for step in steps:
        for index in range(step.get("repeat", 1)):
            at = round(step["at"] + index * step.get("every", 0.0), 6)
            deltas += any(step.get(key) for key in ("content", "reasoning", "reasoning_content"))
            for text in _texts(step, deltas):
                yield Read(at=at, data=text if isinstance(text, bytes) else text.encode())


def _texts(step, deltas):
    if "raw" in step:
        return [step["raw"]]
    if "comment" in step:
        return [f": {step['comment']}\n\n"]
    if "body" in step:
        return [json.dumps(step["body"])]
    if "data" in step:
        return [_event(step["data"])]
    if "done" in step:
        return [_event("[DONE]")]
    usage = step.get("usage", {"prompt_tokens": 10, "completion_tokens": deltas + 1} if "over" in step else None)
    counted = [] if usage is None else [_event({"choices": [], "usage": usage})]
    if "over" in step:
        return [_chunk(step, finish=step["over"]), *counted, _event("[DONE]")]
    return counted if set(step) <= {"at", "usage"} else [_chunk(step, finish=step.get("finish"))]


def _chunk(step, *, finish):
    delta = {key: step[key] for key in DELTA_KEYS if key in step} | step.get("delta", {})
    if "tool" in step:
        delta["tool_calls"] = [{"index": 0, "function": {"name": step["tool"], "arguments": "{}"}}]
    chunk = {"model": step.get("model", "m"), "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}
    if "usage" in step and "over" not in step:
        chunk["usage"] = step["usage"]
    return _event(chunk, identity=step.get("id"))


def _event(data, *, identity=None):
    first = f"id: {identity}\n" if identity is not None else ""
    return f"{first}data: {data if isinstance(data, str) else json.dumps(data)}\n\n"

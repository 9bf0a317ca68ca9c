"""A vLLM look-alike: the shapes of a recorded vLLM 0.32 (`reasoning` deltas, usage chunk, fingerprint), steadily paced.

Its clock is absolute: each event has a due time counted from the request, so a late event does not delay the rest.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping
from contextlib import aclosing
from dataclasses import dataclass
from typing import TypeAlias

from canary.core.observation import Json
from canary.demo.chunks import DONE, error_object, event
from canary.demo.generation import Generation, Model, Rejection, generate, prompt_of, rejection
from canary.demo.load import Load
from canary.demo.server import Page
from canary.demo.stream import EVENT_STREAM, Answer, Call, Serve, Stream, document
from canary.demo.words import token_id

VERSION = "0.32.0"
FINGERPRINT = f"vllm-{VERSION}-5eedf00d"
_SERVER = {"server": "uvicorn"}

AnswerFor: TypeAlias = Callable[[str], str | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Step:
    """One event's worth of tokens of one channel, due `after_s` seconds after the request."""

    after_s: float
    channel: str
    tokens: tuple[str, ...]


def engine(model: Model, answer_for: AnswerFor, load: Load) -> Serve:
    """The engine as a hop. `answer_for` knows the answer to a prompt, or None."""
    numbers = itertools.count(1)

    async def serve(call: Call) -> Answer:
        arrived = asyncio.get_running_loop().time()
        refused = rejection(call.body, model)
        if refused is not None:
            return _refusal(refused)
        reply = _Reply(
            body=call.body,
            model=model,
            generation=generate(call.body, model, answer_for(prompt_of(call.body))),
            id=f"chatcmpl-{next(numbers):016x}",
        )
        if call.body.get("stream"):
            return Answer(status=200, headers={**EVENT_STREAM, **_SERVER}, stream=_events(reply, arrived, load))
        async with load.seat() as waited_s, aclosing(_generated(reply, arrived, waited_s, load)) as steps:
            async for _ in steps:
                pass
        return document(reply.whole(), headers=_SERVER)

    return serve


def pages(model: Model, load: Load) -> Mapping[str, Page]:
    """What the engine answers to GET."""
    card = {"id": model.name, "object": "model", "created": 0, "owned_by": "vllm", "max_model_len": 131072}
    return {
        "/v1/models": {"object": "list", "data": [card]},
        "/version": {"version": VERSION},
        "/health": {},
        "/metrics": lambda: load.metrics(model.name),
    }


def _refusal(refused: Rejection) -> Answer:
    error = error_object(refused.message, code=refused.status, kind=refused.kind, param=refused.param)
    return document(error, status=refused.status, headers=_SERVER)


async def _until(at: float) -> None:
    await asyncio.sleep(max(0.0, at - asyncio.get_running_loop().time()))


async def _events(reply: _Reply, arrived: float, load: Load) -> Stream:
    async with load.seat() as waited_s, aclosing(_generated(reply, arrived, waited_s, load)) as steps:
        await _until(arrived + waited_s + reply.model.prefill_s)
        yield event(reply.opening())
        reasoned = visible = 0
        async for step in steps:
            if step.channel == "reasoning":
                reasoned += len(step.tokens)
            else:
                visible += len(step.tokens)
            if step.channel == "content" or reply.body.get("include_reasoning", True):
                yield event(reply.delta(step, reasoned, visible))
        yield event(reply.closing())
        if reply.option("include_usage"):
            yield event(reply.usage_only())
        yield DONE


async def _generated(reply: _Reply, arrived: float, waited_s: float, load: Load) -> AsyncGenerator[_Step, None]:
    """Each step when it is due."""
    for number, step in enumerate(reply.steps()):
        await _until(arrived + waited_s + step.after_s)
        load.tokens += len(step.tokens)
        if not number:
            load.first_token.add(asyncio.get_running_loop().time() - arrived)
        yield step


@dataclass(frozen=True, slots=True, kw_only=True)
class _Reply:
    """The chunks of one generation, with the keys that vLLM sends and no others."""

    body: Json
    model: Model
    generation: Generation
    id: str

    def option(self, name: str) -> bool:
        return bool((self.body.get("stream_options") or {}).get(name))

    def steps(self) -> Iterator[_Step]:
        at_s = self.model.prefill_s
        for channel, tokens, speed in (
            ("reasoning", self.generation.reasoning, self.model.thinking_tokens_per_s),
            ("content", self.generation.content, self.model.tokens_per_s),
        ):
            for first in range(0, len(tokens), self.model.stream_interval):
                some = tokens[first : first + self.model.stream_interval]
                at_s += len(some) / speed
                yield _Step(after_s=at_s, channel=channel, tokens=some)

    def opening(self) -> Json:
        choice = {"index": 0, "delta": {"role": "assistant", "content": ""}, "logprobs": None, "finish_reason": None}
        return self._chunk(choice, self._usage(0, 0)) | {
            "prompt_token_ids": self._ids(("prompt",)),
            "prompt_text": None,
        }

    def delta(self, step: _Step, reasoned: int, visible: int) -> Json:
        choice = {
            "index": 0,
            "delta": {step.channel: "".join(step.tokens)},
            "logprobs": None,
            "finish_reason": None,
            "token_ids": self._ids(step.tokens),
        }
        closed = 1 if visible and reasoned else 0
        return self._chunk(choice, self._usage(reasoned, reasoned + closed + visible))

    def closing(self) -> Json:
        choice = {
            "index": 0,
            "delta": {"content": ""},
            "logprobs": None,
            "finish_reason": self.generation.finish_reason,
            "stop_reason": None,
            "token_ids": self._ids(()),
        }
        return self._chunk(choice, self._total())

    def usage_only(self) -> Json:
        return self._envelope("chat.completion.chunk") | {
            "choices": [],
            "usage": self._total(),
            "system_fingerprint": FINGERPRINT,
        }

    def whole(self) -> Json:
        shown = self.generation.reasoning and self.body.get("include_reasoning", True)
        message = {
            "role": "assistant",
            "content": "".join(self.generation.content) or None,
            "refusal": None,
            "reasoning": "".join(self.generation.reasoning) if shown else None,
        }
        choice = {
            "index": 0,
            "message": message,
            "logprobs": None,
            "finish_reason": self.generation.finish_reason,
            "stop_reason": None,
            "token_ids": self._ids(self.generation.reasoning + self.generation.content),
        }
        tail = {"choices": [choice], "system_fingerprint": FINGERPRINT, "usage": self._total()}
        return self._envelope("chat.completion") | tail

    def _envelope(self, kind: str) -> Json:
        return {"id": self.id, "object": kind, "created": 1, "model": self.model.name}

    def _chunk(self, choice: Json, usage: Json) -> Json:
        running = {"usage": usage} if self.option("include_usage") and self.option("continuous_usage_stats") else {}
        return self._envelope("chat.completion.chunk") | {"choices": [choice]} | running

    def _total(self) -> Json:
        return self._usage(len(self.generation.reasoning), self.generation.completion_tokens)

    def _usage(self, reasoning: int, completion: int) -> Json:
        prompt = self.generation.prompt_tokens
        return {
            "prompt_tokens": prompt,
            "total_tokens": prompt + completion,
            "completion_tokens": completion,
            "completion_tokens_details": {"reasoning_tokens": reasoning},
        }

    def _ids(self, tokens: tuple[str, ...]) -> list[int] | None:
        return [token_id(token) for token in tokens] if self.body.get("return_token_ids") else None

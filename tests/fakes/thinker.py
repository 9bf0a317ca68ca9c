"""A model for `LlmServer`: thinks word by word, as long as a rule says for the request's body."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tests.fakes.llm_server import DONE, LAST_CHUNK, SSE_HEAD, Request, Step, chunk, delta, sse, whole

_ANSWER = 20  # tokens
NOT_FOUND = [(0.0, whole(b"{}", 404, content_type="application/json"))]


@dataclass(frozen=True, kw_only=True)
class Thinker:
    """`tokens(body, number)`: how long it reasons in the request of that number, counted from 0; None refuses it.

    `usage`: it reports its counts. `room`: it keeps to the request's max_tokens. `mixes(body)`: its answer comes as
    reasoning, too.
    """

    tokens: Callable[[Any, int], int | None]
    usage: bool = True
    room: bool = False
    mixes: Callable[[Any], bool] = lambda _: False
    numbers: list[int]

    def __call__(self, request: Request) -> list[Step]:
        if request.method != "POST":
            return NOT_FOUND
        number = len(self.numbers)
        self.numbers.append(number)
        tokens = self.tokens(request.json, number)
        if tokens is None:
            return [
                (0.0, whole(b'{"error":{"message":"unknown key","code":400}}', 400, content_type="application/json"))
            ]
        room = request.json["max_tokens"] if self.room else tokens + _ANSWER
        return self._answer(tokens, room, "reasoning" if self.mixes(request.json) else "content")

    def _answer(self, tokens: int, room: int, field: str) -> list[Step]:
        thought = [delta(reasoning=" word") for _ in range(min(tokens, room))]
        said = [delta(**{field: " said"}) for _ in range(min(_ANSWER, room - len(thought)))]
        report = {
            "prompt_tokens": 9,
            "completion_tokens": len(thought) + len(said) + 1,
            "completion_tokens_details": {"reasoning_tokens": len(thought)},
        }
        counted = [sse({"choices": [], "usage": report})] if self.usage else []
        body = b"".join([*thought, *said, delta(finish="stop" if len(said) == _ANSWER else "length"), *counted, DONE])
        return [(0.0, SSE_HEAD), (0.0, chunk(body) + LAST_CHUNK)]


def thinker(
    tokens: Callable[[Any, int], int | None],
    *,
    usage: bool = True,
    room: bool = False,
    mixes: Callable[[Any], bool] = lambda _: False,
) -> Thinker:
    return Thinker(tokens=tokens, usage=usage, room=room, mixes=mixes, numbers=[])

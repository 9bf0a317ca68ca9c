"""A model for `LlmServer`: thinks word by word, as long as a rule says for the request's body."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tests.fakes.llm_server import DONE, LAST_CHUNK, SSE_HEAD, Request, Step, chunk, delta, sse, whole

NOT_FOUND = [(0.0, whole(b"{}", 404, content_type="application/json"))]


@dataclass(frozen=True, kw_only=True)
class Thinker:
    """`tokens(body, number)`: how long it reasons in the request of that number, counted from 0; None refuses it.

    `usage`: it reports its counts. `version`: what it says of itself at `/version`.
    """

    tokens: Callable[[Any, int], int | None]
    usage: bool = True
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
        return self._answer(tokens)

    def _answer(self, tokens: int) -> list[Step]:
        thought = [delta(reasoning=" word") for _ in range(tokens)]
        said = [delta(content=" said") for _ in range(20)]
        report = {
            "prompt_tokens": 9,
            "completion_tokens": tokens + 21,
            "completion_tokens_details": {"reasoning_tokens": tokens},
        }
        counted = [sse({"choices": [], "usage": report})] if self.usage else []
        body = b"".join([*thought, *said, delta(finish="stop"), *counted, DONE])
        return [(0.0, SSE_HEAD), (0.0, chunk(body) + LAST_CHUNK)]


def thinker(tokens: Callable[[Any, int], int | None], *, usage: bool = True) -> Thinker:
    return Thinker(tokens=tokens, usage=usage, numbers=[])

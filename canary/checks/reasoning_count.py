"""How many reasoning tokens a stream holds, as a range, at any moment of it and after its end.

A budget is judged on tokens, and most hops do not tell them while they stream. So a count here is a range that the
truth lies in, and whoever decides uses the end that cannot be wrong: the low end to say "too many", the high end to say
"within". One meter serves the early stop and the verdict, so that they never disagree. Best source first:

1. Reported reasoning tokens, plus what the text since that report can hold. A report is not believed if a gateway made
   it up, or if the text alone must hold more tokens than it says.
2. Tokens told with every delta.
3. The reported total, where reasoning is the only text. Never split by characters: answers are code and numbers, and a
   share by characters was seen to be off by 3.5 times (vLLM 0.22.1, 64 tokens of reasoning taken for 225).
4. Characters over the ratio learned from this hop's finished answers, give or take a quarter.
5. Characters alone: no tokenizer yields more than 10 characters a token or less than half a one over a whole text.
   Never more than the reported total.

No text and no report is None: hidden reasoning is not zero reasoning.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from canary.analysis.tokens import contradicted, made_up_by_gateway
from canary.core.stream import (
    ReasoningDelta,
    ReasoningPresent,
    RefusalDelta,
    Relabelled,
    StreamEvent,
    ToolCallDelta,
    Usage,
    UsageReport,
    VisibleDelta,
)
from canary.core.units import plural

MARGIN = 0.25  # error of an estimate from characters, either way
MOST_CHARS_PER_TOKEN = 10.0
LEAST_CHARS_PER_TOKEN = 0.5
_SLACK_TOKENS = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenRange:
    """The truth lies in [low, high]; `best` is the likeliest value, None where any is as good as another."""

    low: float
    best: float | None
    high: float

    @property
    def exact(self) -> bool:
        return self.low == self.high

    def __add__(self, other: TokenRange) -> TokenRange:
        best = None if self.best is None or other.best is None else self.best + other.best
        return TokenRange(low=self.low + other.low, best=best, high=self.high + other.high)

    def __str__(self) -> str:
        if self.exact:
            return plural(round(self.low), "reasoning token")
        about = "" if self.best is None else f"about {round(self.best)}, "
        return f"{about}{round(self.low)} to {round(self.high)} reasoning tokens"


def exactly(tokens: float) -> TokenRange:
    return TokenRange(low=tokens, best=tokens, high=tokens)


@dataclass(slots=True)
class _Text:
    """One run of text. `counted`: every delta of it told its tokens."""

    chars: int = 0
    tokens: int = 0
    counted: bool = True

    def add(self, chars: int, tokens: int | None) -> None:
        self.chars += chars
        self.tokens += tokens or 0
        self.counted = self.counted and tokens is not None


class _Copy:
    """Some gateways repeat the reasoning as visible text while it comes: that is no answer yet, and ends nothing."""

    def __init__(self) -> None:
        self._reasoning = ""
        self._repeated: int | None = 0  # characters; None: something else was said

    def reason(self, text: str) -> None:
        self._reasoning += text

    def holds(self, event: VisibleDelta) -> bool:
        """Whether all visible text so far repeats the reasoning from its first word on."""
        if self._repeated is None:
            return False
        if self._reasoning.startswith(event.text, self._repeated):
            self._repeated += len(event.text)
        elif event.legible:
            self._repeated = None
        return self._repeated is not None


class ReasoningMeter:
    """Fed with the events of one stream in order. `closed`: the reasoning so far has ended, as far as can be seen.

    `ended`: some reasoning was seen to end, so this hop tells an answer from it. `answer_chars`: of visible text.
    """

    def __init__(self, chars_per_token: float | None = None) -> None:
        self.closed = False
        self.ended = False
        self.answer_chars = 0
        self.present = False  # reasoning that exists and cannot be read
        self._chars_per_token = chars_per_token
        self._blocks: list[_Text] = []
        self._visible = _Text()
        self._copy = _Copy()
        self._other_chars = 0
        self._usage = Usage()
        self._chars_since_usage = 0

    def feed(self, event: StreamEvent) -> None:
        match event:
            case ReasoningDelta(text=text, tokens=tokens):
                self._reason(text, tokens)
            case VisibleDelta(text=text, tokens=tokens):
                self._visible.add(len(text), tokens)
                if not self._copy.holds(event):
                    self._answer(event)
            case ToolCallDelta(text=text) | RefusalDelta(text=text):
                self._other_chars += len(text)
                self._close()
            case Relabelled():
                self._relabel()
            case UsageReport(usage=usage):
                self._usage, self._chars_since_usage = usage, 0
            case ReasoningPresent():
                self.present = True

    @property
    def chars(self) -> int:
        return sum(block.chars for block in self._blocks)

    @property
    def blocks(self) -> int:
        """Runs of reasoning that other text separates."""
        return len(self._blocks)

    @property
    def counted_apart(self) -> bool:
        """Whether the last report, if believed, counts a good many other tokens beside those of reasoning."""
        usage = self._believed()
        if usage.reasoning_tokens is None or usage.completion_tokens is None or self._chars_since_usage:
            return False
        return usage.completion_tokens - usage.reasoning_tokens > _SLACK_TOKENS

    def total(self) -> TokenRange | None:
        """All reasoning so far; None where there is neither text nor report."""
        usage = self._believed()
        if usage.reasoning_tokens is not None:
            return exactly(usage.reasoning_tokens) + self._by_chars(self._chars_since_usage)
        if not self.chars:
            return None
        if all(block.counted for block in self._blocks):
            return exactly(sum(block.tokens for block in self._blocks))
        estimate = self._by_chars(self.chars)
        if usage.completion_tokens is None or self._chars_since_usage:
            return estimate
        if not self._visible.chars and not self._other_chars:
            return exactly(usage.completion_tokens)
        return _at_most(estimate, usage.completion_tokens)

    def longest_block(self) -> TokenRange | None:
        """The block with most reasoning: what a cap per block is held against."""
        total = self.total()
        if total is None or self.blocks <= 1:
            return total
        if all(block.counted for block in self._blocks):
            return exactly(max(block.tokens for block in self._blocks))
        share = max(block.chars for block in self._blocks) / self.chars
        best = None if total.best is None else total.best * share
        high = min(total.high, total.high * share * (1 + MARGIN))
        return TokenRange(low=total.low * share * (1 - MARGIN), best=best, high=high)

    def _reason(self, text: str, tokens: int | None) -> None:
        if self.closed or not self._blocks:
            self._blocks.append(_Text())
        self.closed = False
        self._copy.reason(text)
        self._blocks[-1].add(len(text), tokens)
        self._chars_since_usage += len(text)

    def _relabel(self) -> None:
        """All visible text so far was reasoning, and the mark that says so ends it."""
        if self._visible.chars:
            self._blocks.append(self._visible)
            self._chars_since_usage += self._visible.chars
            self._visible = _Text()
        self.answer_chars = 0
        self._close()

    def _answer(self, event: VisibleDelta) -> None:
        self.answer_chars += len(event.text.strip())
        if event.legible:
            self._close()

    def _close(self) -> None:
        self.closed = True
        self.ended = self.ended or bool(self._blocks)

    def _believed(self) -> Usage:
        """The last report, or an empty one where it cannot be true."""
        usage, chars = self._usage, self.chars
        if made_up_by_gateway(usage) or contradicted(usage, chars - self._chars_since_usage):
            return Usage()
        told_chars = chars - self._chars_since_usage
        too_few = told_chars / MOST_CHARS_PER_TOKEN > (usage.reasoning_tokens or 0) + _SLACK_TOKENS
        return Usage(completion_tokens=usage.completion_tokens) if too_few else usage

    def _by_chars(self, chars: int) -> TokenRange:
        if not chars:
            return exactly(0)
        if self._chars_per_token:
            best = chars / self._chars_per_token
            return TokenRange(low=best * (1 - MARGIN), best=best, high=best * (1 + MARGIN))
        return TokenRange(low=chars / MOST_CHARS_PER_TOKEN, best=None, high=chars / LEAST_CHARS_PER_TOKEN)


def ends_reasoning(events: Iterable[StreamEvent]) -> bool:
    """Whether something else than reasoning came after it."""
    meter = ReasoningMeter()
    for event in events:
        meter.feed(event)
    return meter.ended


def _at_most(count: TokenRange, most: int) -> TokenRange:
    best = None if count.best is None else min(count.best, most)
    return TokenRange(low=min(count.low, most), best=best, high=min(count.high, most))

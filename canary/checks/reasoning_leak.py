"""Does reasoning reach the person who reads the answer?

Four ways, in the order in which they are looked for: reasoning between tags inside content (a hop that carries it so on
purpose says `inline_reasoning: true`), a closing tag that closes nothing (what a budget cut leaves behind), markup of
the model's own format (`<|channel|>`, `<|im_end|>`, tool call tags), and content that repeats the reasoning field.
Text inside code is an answer about markup, not markup.
"""

from __future__ import annotations

import re
from itertools import pairwise

from canary.analysis.ticks import answer_over
from canary.checks.evidence import Evidence, cannot_judge, quoted, unknown, unusable
from canary.core.stream import ReasoningDelta, ReasoningForm, TagSeen, VisibleDelta
from canary.core.units import plural
from canary.core.verdict import Status, Verdict

NAME = "reasoning_leak"

_FENCE = r"(?P<fence>`{3,}|(?m:^)[ ]{0,3}~{3,}).*?(?:(?P=fence)|\Z)"
_SPAN = r"(?<!`)(?P<ticks>`{1,2})(?!`)[^\n]*?(?<!`)(?P=ticks)(?!`)"
_CODE = re.compile(f"(?s:{_FENCE})|{_SPAN}")
_MARKUP = re.compile(
    r"<\|[a-zA-Z_][a-zA-Z0-9_]*\|?>|<[a-zA-Z_]+\|>|</?tool_call>|\[/?TOOL_CALLS?\]|<\uff5c[^\uff5c>]{1,40}\uff5c>|\[/?THINK\]"
)
_WINDOW_CHARS = 120  # of reasoning, looked for in the answer
_MOST_WINDOWS = 500  # of a long reasoning, spread over all of it
_LEAST_WINDOWS = 3  # shorter reasoning may be repeated by an honest answer
_COPIED_SHARE = 0.5


def check(evidence: Evidence) -> list[Verdict]:
    if reason := unusable(evidence):
        return [cannot_judge(NAME, reason)]
    found = _tags(evidence) or _stray_closer(evidence) or _markup(evidence) or _copy(evidence)
    if found:
        return [found]
    if not answer_over(evidence.observation):
        return [
            unknown(NAME, "cut", "nothing leaked before the stream broke off; what would have followed is not known")
        ]
    return [
        Verdict(check=NAME, status=Status.PASS, reason="clean", message="no reasoning and no markup in the content")
    ]


def _tags(evidence: Evidence) -> Verdict | None:
    inline = evidence.measurement.reasoning_forms & {ReasoningForm.INLINE_TAGS, ReasoningForm.UNOPENED_TAG}
    if not inline or evidence.inline_reasoning:
        return None
    leaked = [
        event for event in evidence.observation.events if isinstance(event, ReasoningDelta) and event.form in inline
    ]
    chars = sum(len(event.text) for event in leaked)
    message = f"{plural(chars, 'character')} of reasoning came inside content, marked by {quoted(leaked[0].source)}"
    return _fail("tags_in_content", message, chars)


def _stray_closer(evidence: Evidence) -> Verdict | None:
    stray = next((event for event in evidence.observation.events if isinstance(event, TagSeen) and event.stray), None)
    if stray is None:
        return None
    return _fail("stray_closer", f"content holds {quoted(stray.tag)}, which closes nothing", len(stray.tag))


def _markup(evidence: Evidence) -> Verdict | None:
    text = _visible_text(evidence)
    match = _MARKUP.search(_CODE.sub(" ", text)) if _MARKUP.search(text) else None
    if match is None:
        return None
    return _fail("markup", f"content holds the model's own markup {match.group()!r}", len(match.group()))


def _copy(evidence: Evidence) -> Verdict | None:
    """Reasoning cut into windows; a repetitive text (few distinct windows) proves nothing.

    An honest answer may repeat the draft that was made while thinking, and nothing of how the thinking began.
    """
    reasoning = " ".join("".join(e.text for e in evidence.observation.events if isinstance(e, ReasoningDelta)).split())
    visible = " ".join(_visible_text(evidence).split())
    borders = range(0, len(reasoning) + 1, _WINDOW_CHARS)
    distinct = list(dict.fromkeys(reasoning[start:stop] for start, stop in pairwise(borders)))
    windows = distinct[:: 1 + len(distinct) // _MOST_WINDOWS]
    if len(windows) < _LEAST_WINDOWS or windows[0] not in visible:
        return None
    copied = sum(window in visible for window in windows)
    if copied <= _COPIED_SHARE * len(windows):
        return None
    share = round(100 * copied / len(windows))
    return _fail(
        "copy_of_reasoning",
        f"{share} % of the reasoning stands in the content again",
        round(copied / len(windows) * len(reasoning)),
    )


def _visible_text(evidence: Evidence) -> str:
    return "".join(event.text for event in evidence.observation.events if isinstance(event, VisibleDelta))


def _fail(reason: str, message: str, chars: int) -> Verdict:
    return Verdict(
        check=NAME, status=Status.FAIL, reason=reason, message=message, observed=chars, limit=0, unit="characters"
    )

import pytest

from canary.checks.reasoning_leak import check
from canary.core.observation import Truncated
from canary.core.stream import ReasoningDelta, ReasoningForm, TagSeen
from tests.fakes.evidence import evidence, outcome, rejected
from tests.fakes.scripted_answer import done, finish, headers, say, think

INLINE, UNOPENED = ReasoningForm.INLINE_TAGS, ReasoningForm.UNOPENED_TAG
STEPS = "".join(f"step {number:03}: add the next number, then carry. " for number in range(14))
FOUR_WINDOWS, THREE_WINDOWS = STEPS[:480], STEPS[:360]


def saying(text, *before, end=None, **more):
    over = () if end else (finish(3), done(3))
    return evidence(headers(0), *before, say(2, text), *over, end=end, **more)


def tagged(form, **more):
    delta = ReasoningDelta(at=1, text="hm hm", source="<think>", form=form)
    return saying("42", [delta], **more)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        pytest.param(evidence(), "PASS clean", id="clean"),
        pytest.param(rejected(500), "UNKNOWN rejected", id="rejected"),
        pytest.param(saying("42", end=Truncated(at=3)), "UNKNOWN cut", id="nothing yet"),
        pytest.param(tagged(INLINE), "FAIL tags_in_content", id="inline"),
        pytest.param(tagged(INLINE, end=Truncated(at=3)), "FAIL tags_in_content", id="a leak before the cut is one"),
        pytest.param(tagged(UNOPENED), "FAIL tags_in_content", id="unopened"),
        pytest.param(tagged(INLINE, inline_reasoning=True), "PASS clean", id="inline on purpose"),
        pytest.param(tagged(ReasoningForm.FIELD), "PASS clean", id="in its field"),
        pytest.param(saying("42", [TagSeen(at=1, tag="</think>", stray=True)]), "FAIL stray_closer", id="stray"),
        pytest.param(saying("42", [TagSeen(at=1, tag="</think>")]), "PASS clean", id="a mark that closed something"),
        pytest.param(saying("<|channel|>final"), "FAIL markup", id="harmony"),
        pytest.param(saying("<|channel>thought"), "FAIL markup", id="half a harmony mark"),
        pytest.param(saying("x<|im_end|>"), "FAIL markup", id="chat template"),
        pytest.param(saying("<channel|>"), "FAIL markup", id="gemma"),
        pytest.param(saying("<tool_call>{}</tool_call>"), "FAIL markup", id="tool call"),
        pytest.param(saying("[TOOL_CALLS] add"), "FAIL markup", id="mistral tool call"),
        pytest.param(saying("[/THINK]"), "FAIL markup", id="mistral thinking"),
        pytest.param(saying("<\uff5cend\u2581of\u2581sentence\uff5c>"), "FAIL markup", id="deepseek"),
        pytest.param(saying("write `<|im_end|>` there"), "PASS clean", id="inside a code span"),
        pytest.param(saying("```\n<tool_call>\n```"), "PASS clean", id="inside a code block"),
        pytest.param(saying("```\n<tool_call>"), "PASS clean", id="inside an open code block"),
        pytest.param(saying("~~~\n<tool_call>\n~~~\n42"), "PASS clean", id="inside a block of tildes"),
        pytest.param(saying("````\n```\n<tool_call>\n```\n````"), "PASS clean", id="a block inside a block"),
        pytest.param(saying("``<|im_end|> ` ``"), "PASS clean", id="inside a span of two"),
        pytest.param(saying("a `b\n<|im_end|>\nc`"), "FAIL markup", id="a span ends with its line"),
        pytest.param(saying("a ~~~ b <|im_end|>"), "FAIL markup", id="tildes within a line are none"),
        pytest.param(saying("```\nx\n``` <|im_end|>"), "FAIL markup", id="after a code block"),
        pytest.param(saying("if a <| b |> c"), "PASS clean", id="an operator is no markup"),
        pytest.param(saying(THREE_WINDOWS, think(1, THREE_WINDOWS)), "FAIL copy_of_reasoning", id="all repeated"),
        pytest.param(saying(THREE_WINDOWS[:240], think(1, THREE_WINDOWS)), "FAIL copy_of_reasoning", id="two of three"),
        pytest.param(saying(FOUR_WINDOWS[:240], think(1, FOUR_WINDOWS)), "PASS clean", id="two of four"),
        pytest.param(saying(THREE_WINDOWS[:120], think(1, THREE_WINDOWS)), "PASS clean", id="one of three"),
        pytest.param(saying(THREE_WINDOWS, think(1, THREE_WINDOWS[:359])), "PASS clean", id="too little reasoning"),
        pytest.param(
            saying(FOUR_WINDOWS, think(1, f"I shall draft it. {FOUR_WINDOWS}")),
            "PASS clean",
            id="a draft of the answer",
        ),
        pytest.param(saying(f"{FOUR_WINDOWS} 42", end=Truncated(at=3)), "UNKNOWN cut", id="a cut before the last word"),
        pytest.param(
            evidence(headers(0), say(2), finish(3), done(3), end=Truncated(at=4)),
            "PASS clean",
            id="over before the cut",
        ),
        pytest.param(saying("a" * 900, think(1, "a" * 900)), "PASS clean", id="repetition proves nothing"),
        pytest.param(
            saying(THREE_WINDOWS.replace(" ", "\n"), think(1, THREE_WINDOWS)), "FAIL copy_of_reasoning", id="re-flowed"
        ),
    ],
)
def test_table(given, expected):
    assert outcome(check, given) == expected


def test_what_leaked_is_counted():
    (verdict,) = check(tagged(INLINE))
    assert verdict.message == "5 characters of reasoning came inside content, marked by <think>"
    assert (verdict.observed, verdict.limit, verdict.unit) == (5, 0, "characters")


def test_a_long_copy_is_found_in_a_sample_of_it():
    reasoning = "".join(f"{number:06} is the next of many numbers. " for number in range(4000))
    (verdict,) = check(saying(reasoning, think(1, reasoning)))
    assert verdict.message == "100 % of the reasoning stands in the content again"
    assert verdict.observed == len(reasoning) - 1  # less the blank at its end

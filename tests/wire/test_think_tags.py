from itertools import groupby

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from canary.core.stream import ReasoningDelta, ReasoningForm, Relabelled, TagSeen, VisibleDelta
from canary.wire.tag_families import FAMILIES
from canary.wire.think_tags import ThinkTagSplitter


def split(*texts, elsewhere=False):
    """The events of a message in pieces, neighbours of one channel merged, as (kind, text) pairs."""
    splitter = ThinkTagSplitter()
    if elsewhere:
        splitter.reasoning_came_by_field()
    events = [event for text in texts for event in splitter.split(text, 1.0)] + splitter.flush(2.0)
    return merged(map(pair, events))


def pair(event):
    match event:
        case ReasoningDelta(text=text):
            return "reasoning", text
        case VisibleDelta(text=text):
            return "visible", text
        case TagSeen(tag=tag, stray=stray):
            return "stray" if stray else "tag", tag
        case Relabelled(tag=tag):
            return "relabelled", tag


def merged(pairs):
    out = []
    for kind, group in groupby(pairs, key=lambda p: p[0]):
        texts = [text for _, text in group]
        out += [(kind, "".join(texts))] if kind in {"reasoning", "visible"} else [(kind, text) for text in texts]
    return out


def V(text):  # noqa: N802
    return "visible", text


def R(text):  # noqa: N802
    return "reasoning", text


def T(text):  # noqa: N802
    return "tag", text


THINK, END = T("<think>"), T("</think>")
HARMONY = "<|channel|>analysis<|message|>"
FINAL = "<|start|>assistant<|channel|>final<|message|>"
DETAILS = '<details type="reasoning">'

MESSAGES = [
    pytest.param("plain", [V("plain")], id="plain"),
    pytest.param("<think>a</think>b", [THINK, R("a"), END, V("b")], id="block"),
    pytest.param(" \n<think>a</think>\n\nb", [V(" \n"), THINK, R("a"), END, V("\n\nb")], id="white space around"),
    pytest.param("<think>never closed </thin", [THINK, R("never closed </thin")], id="never closed"),
    pytest.param("<think></think>b", [THINK, END, V("b")], id="empty block"),
    pytest.param(
        "<think>a</thinking>b</think>c", [THINK, R("a</thinking>b"), END, V("c")], id="another family's closer"
    ),
    pytest.param("<think>a <think> b</think>c", [THINK, R("a <think> b"), END, V("c")], id="opener inside a block"),
    pytest.param("<think>\n<think>a</think>b", [THINK, R("\n"), THINK, R("a"), END, V("b")], id="opened twice"),
    pytest.param(
        "<think>a</think>\n<think>b</think>c",
        [THINK, R("a"), END, V("\n"), THINK, R("b"), END, V("c")],
        id="two blocks",
    ),
    pytest.param(
        "<think>a</think>b\n<think>c</think>d",
        [THINK, R("a"), END, V("b\n"), THINK, R("c"), END, V("d")],
        id="reopened at the start of a line",
    ),
    pytest.param(
        "<think>a</think>b <think>c",
        [THINK, R("a"), END, V("b <think>c")],
        id="no opener in the middle of a line",
    ),
    pytest.param(
        "<think>a</think>```\n<think>c\n```",
        [THINK, R("a"), END, V("```\n<think>c\n```")],
        id="no opener in a fence",
    ),
    pytest.param("Hi\n<think>a", [V("Hi\n<think>a")], id="no opener after text"),
    pytest.param("`<think>` and `</think>`", [V("`<think>` and `</think>`")], id="inline code"),
    pytest.param("x\n```\n<think>\n</think>\n```\ny", [V("x\n```\n<think>\n</think>\n```\ny")], id="fenced code"),
    pytest.param("a</think>b", [V("a"), ("relabelled", "</think>"), V("b")], id="unopened"),
    pytest.param("\n\n</think>\n\nb", [V("\n\n"), ("stray", "</think>"), V("\n\nb")], id="stray at the start"),
    pytest.param(
        "</think>b</think>c",
        [("stray", "</think>"), V("b"), ("stray", "</think>"), V("c")],
        id="closed in the prompt, then stray",
    ),
    pytest.param(
        "<think>a</think>b</think>c", [THINK, R("a"), END, V("b"), ("stray", "</think>"), V("c")], id="second closer"
    ),
    pytest.param(
        "a</think>b</think>c",
        [V("a"), ("relabelled", "</think>"), V("b"), ("stray", "</think>"), V("c")],
        id="unopened, then stray",
    ),
    pytest.param(
        "a</think>\n<think>b</think>c",
        [V("a"), ("relabelled", "</think>"), V("\n"), THINK, R("b"), END, V("c")],
        id="unopened, then a block",
    ),
    pytest.param("a</reasoning>b", [V("a</reasoning>b")], id="a plain word's closer opens nothing"),
    pytest.param(
        "<reason>a</reason>b</reason>c",
        [T("<reason>"), R("a"), T("</reason>"), V("b"), ("stray", "</reason>"), V("c")],
        id="a plain word's second closer",
    ),
    pytest.param("a < b, <thinker> & [TH", [V("a < b, <thinker> & [TH")], id="almost marks"),
    pytest.param("<<think>a", [V("<<think>a")], id="a character before the opener"),
    pytest.param(
        f"{HARMONY}a<|end|>{FINAL}b<|return|>",
        [T(HARMONY), R("a"), T("<|end|>"), T(FINAL), V("b"), T("<|return|>")],
        id="harmony",
    ),
    pytest.param(
        f"<|start|>assistant{HARMONY}a{FINAL}b",
        [T(f"<|start|>assistant{HARMONY}"), R("a"), T(FINAL), V("b")],
        id="harmony without end",
    ),
    pytest.param(
        f"{HARMONY}a<|end|><|start|>assistant<|channel|>commentary<|message|>p<|end|><|start|>assistant{HARMONY}b"
        f"<|end|>{FINAL}c",
        [
            T(HARMONY),
            R("a"),
            T("<|end|>"),
            T("<|start|>assistant<|channel|>commentary<|message|>"),
            V("p"),
            T("<|end|>"),
            T(f"<|start|>assistant{HARMONY}"),
            R("b"),
            T("<|end|>"),
            T(FINAL),
            V("c"),
        ],
        id="harmony with a preamble and a second block",
    ),
    pytest.param(
        f"{HARMONY}a<|end|><|start|>assistant b",
        [T(HARMONY), R("a"), T("<|end|>"), T("<|start|>assistant"), V(" b")],
        id="harmony with a bare start",
    ),
    pytest.param(
        "<|channel|>final<|message|>b", [T("<|channel|>final<|message|>"), V("b")], id="harmony without thought"
    ),
    pytest.param(f"a{FINAL}b", [V("a"), ("relabelled", FINAL), V("b")], id="harmony unopened"),
    pytest.param("answer<|end|>", [V("answer<|end|>")], id="another model's end mark"),
    pytest.param(
        "analysisA. assistantfinalB", [V("analysisA. "), ("relabelled", "assistantfinal"), V("B")], id="ghost"
    ),
    pytest.param("analysis of it, assistantfin", [V("analysis of it, assistantfin")], id="no ghost"),
    pytest.param("Analysis assistantfinal", [V("Analysis assistantfinal")], id="a ghost starts in lower case"),
    pytest.param("my analysis assistantfinal", [V("my analysis assistantfinal")], id="a ghost stands at the start"),
    pytest.param(
        '<details type="reasoning" done="true" duration="3">\n<summary>s</summary>\n> a\n</details>\nb',
        [T(DETAILS), R("\n<summary>s</summary>\n> a\n"), T("</details>"), V("\nb")],
        id="details",
    ),
    pytest.param("<details done='1' type='reasoning'>a", [T(DETAILS), R("a")], id="details, attributes in any order"),
    pytest.param("<details open>a</details>", [V("<details open>a</details>")], id="other details"),
    pytest.param("x <details", [V("x <details")], id="details in a line"),
    pytest.param("<details " + "x" * 600 + ">a", [V("<details " + "x" * 600 + ">a")], id="details without end"),
    pytest.param(
        "<|channel>thought\na<channel|>b", [T("<|channel>thought\n"), R("a"), T("<channel|>"), V("b")], id="gemma"
    ),
    pytest.param(
        "<|channel>thoughts<channel|>b", [T("<|channel>"), R("thoughts"), T("<channel|>"), V("b")], id="gemma 2"
    ),
    pytest.param("<|channel>", [T("<|channel>")], id="a mark that could have gone on"),
    pytest.param(
        "<|START_THINKING|>a<|END_THINKING|><|START_RESPONSE|>b<|END_RESPONSE|>",
        [
            T("<|START_THINKING|>"),
            R("a"),
            T("<|END_THINKING|>"),
            T("<|START_RESPONSE|>"),
            V("b"),
            T("<|END_RESPONSE|>"),
        ],
        id="cohere",
    ),
]


@pytest.mark.parametrize(("text", "expected"), MESSAGES)
def test_messages(text, expected):
    assert expected == split(text)


@pytest.mark.parametrize(("text", "expected"), MESSAGES)
def test_messages_cut_anywhere(text, expected):
    assert expected == split(*text)
    for cut in range(len(text)):
        assert expected == split(text[:cut], text[cut:]), cut


BLOCKS = [
    pytest.param(opener, closer, id=f"{opener}{closer}")
    for family in FAMILIES.values()
    for opener in family.openers
    for closer in family.closers
]


@pytest.mark.parametrize(("opener", "closer"), BLOCKS)
def test_every_family_at_every_cut(opener, closer):
    text = f"{opener}a{closer}b"
    for cut in range(len(text)):
        assert [T(opener), R("a"), T(closer), V("b")] == split(text[:cut], text[cut:]), cut


@pytest.mark.parametrize("closer", sorted({c for family in FAMILIES.values() for c in family.unopened}))
def test_every_closer_that_needs_no_opener(closer):
    text = f"a{closer}b"
    for cut in range(len(text)):
        assert [V("a"), ("relabelled", closer), V("b")] == split(text[:cut], text[cut:]), cut
    assert [V("a"), ("stray", closer), V("b")] == split(text, elsewhere=True)
    assert [V(f"`{closer}`")] == split(f"`{closer}`")


def test_reasoning_elsewhere_makes_no_ghost():
    assert [V("analysis assistantfinal")] == split("analysis assistantfinal", elsewhere=True)


def test_reasoning_elsewhere_and_a_block():
    assert [THINK, R("a"), END, V("b")] == split("<think>a</think>b", elsewhere=True)


def test_reasoning_elsewhere_and_a_stray_closer_open_no_lines():
    assert [V("a"), ("stray", "</think>"), V("\n<think>")] == split("a</think>\n<think>", elsewhere=True)


def test_an_opener_counts_after_a_tool_call():
    splitter = ThinkTagSplitter()
    events = splitter.split("let me look", 1.0)
    splitter.tool_call()
    events += splitter.split("\n<think>a", 2.0)
    assert [V("let me look\n"), THINK, R("a")] == merged(map(pair, events))


def test_stamps_source_and_form():
    splitter = ThinkTagSplitter()
    assert [TagSeen(at=1.0, tag="<think>")] == splitter.split("<think>", 1.0)
    assert [
        ReasoningDelta(at=2.0, text="a", source="<think>", form=ReasoningForm.INLINE_TAGS),
    ] == splitter.split("a</thi", 2.0)
    assert [TagSeen(at=3.0, tag="</think>"), VisibleDelta(at=3.0, text="b")] == splitter.split("nk>b<", 3.0)
    assert [VisibleDelta(at=4.0, text="<")] == splitter.flush(4.0)
    assert splitter.flush(5.0) == []


def test_only_what_may_become_a_mark_is_held_back():
    splitter = ThinkTagSplitter()
    assert [V("a ")] == merged(map(pair, splitter.split("a </", 1.0)))
    assert [V("</div>")] == merged(map(pair, splitter.split("div>", 2.0)))
    assert [V("<th")] == merged(map(pair, splitter.split("<th", 3.0)))  # no opener counts here, so none is awaited


ALPHABET = st.lists(
    st.sampled_from(
        [m for f in FAMILIES.values() for m in (*f.openers, *f.closers, *f.markup)]
        + ["a", " ", "\n", "`", "```", "~~~", "<", "analysis", "assistantfinal", DETAILS, "<details"]
    ),
    max_size=12,
)


@settings(max_examples=150, deadline=None)
@given(parts=ALPHABET, data=st.data())
def test_any_cut_of_any_message_gives_the_same(parts, data):
    text = "".join(parts)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=6)))
    pieces = [text[a:b] for a, b in zip([0, *cuts], [*cuts, len(text)], strict=True)]
    assert split(text) == split(*pieces)
    texts = "".join(word for kind, word in split(text))
    assert len(texts) <= len(text) + len(DETAILS) * len(parts)

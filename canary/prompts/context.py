"""A long document to carry along, as a pipeline does that retrieves pages, with one fact hidden in it.

Generated, so nobody's text is sent anywhere. Length is reckoned at 4 characters a token, which fits English prose in
the tokenizers of today; what a model really counted is in its usage. Words are drawn one by one from a stock of about
two hundred, so that the text neither repeats in blocks nor compresses to nothing. English whatever the question's
language: its use is its length.
"""

from __future__ import annotations

from canary.prompts.draw import integer, stream

CHARS_PER_TOKEN = 4
_PARAGRAPH_SENTENCES = 6

_OPENINGS = (
    "In spring", "In autumn", "Last winter", "Early that year", "After the flood", "Before noon", "By all accounts",
    "For some weeks", "As a rule", "Once again", "According to the register", "On market days", "At low tide",
    "Without much delay", "During the repairs", "Towards evening", "As expected", "In the same month", "Much later",
    "Only then", "To everyone's surprise", "Under the old contract", "With little notice", "From then on",
)  # fmt: skip
_ADJECTIVES = (
    "quiet", "narrow", "painted", "borrowed", "distant", "heavy", "careful", "patient", "wooden", "hollow", "early",
    "crowded", "silver", "broken", "modest", "curious", "sturdy", "faded", "gentle", "sudden", "local", "foreign",
    "damp", "bright", "steep", "plain", "brisk", "weary", "honest", "clever", "rusty", "coastal", "spare", "tall",
    "young", "former", "second", "nervous", "cheerful", "solemn", "frozen", "wandering", "practical", "forgotten",
)  # fmt: skip
_NOUNS = (
    "harbour", "carpenter", "orchard", "engine", "ledger", "bridge", "teacher", "lantern", "valley", "printer",
    "warehouse", "sailor", "garden", "surveyor", "violin", "station", "baker", "meadow", "clock", "council", "ferry",
    "tailor", "quarry", "pigeon", "mill", "librarian", "market", "canal", "doctor", "chimney", "gardener", "workshop",
    "tower", "fisherman", "granary", "courier", "well", "museum", "potter", "road", "island", "choir", "merchant",
    "theatre", "weaver", "cellar", "kitchen", "painter", "railway", "tenant", "greenhouse", "clerk", "fountain",
    "blacksmith", "wagon", "school", "village", "glassmaker", "reservoir", "neighbour", "sculptor", "barn", "pilot",
)  # fmt: skip
_VERBS = (
    "repaired", "measured", "followed", "described", "replaced", "visited", "counted", "painted", "carried", "sold",
    "admired", "ignored", "inspected", "borrowed", "returned", "sketched", "moved", "cleaned", "guarded", "praised",
    "lent", "recorded", "weighed", "opened", "closed", "questioned", "restored", "insured", "photographed", "named",
    "avoided", "supplied",
)  # fmt: skip
_ENDINGS = (
    "before the rain came", "without a word of thanks", "for a modest fee", "as the contract asked", "by candlelight",
    "in spite of the cold", "with some hesitation", "and wrote it down at once", "while the others waited",
    "as far as anyone remembers", "because the road was closed", "until the lamps were lit", "to settle an old debt",
    "with great care", "on the advice of a friend", "and never spoke of it again", "for the third time",
    "as it had been agreed", "near the southern gate", "at the end of the season", "to the sound of bells",
    "although nobody had asked", "in less than an hour", "under a clear sky",
)  # fmt: skip
_DRAWS_PER_SENTENCE = 7


def document(context_tokens: int, *, seed: int, needle: str | None) -> str:
    """About `context_tokens` tokens in paragraphs, the needle somewhere between a tenth and nine tenths of the way.

    At least the needle, however few tokens are asked for. Linear in its length.
    """
    filler = _sentences(context_tokens * CHARS_PER_TOKEN - len(needle or ""), seed)
    if needle is not None:
        tenth = len(filler) // 10
        filler.insert(integer(seed, "needle", tenth, len(filler) - tenth), needle)
    starts = range(0, len(filler), _PARAGRAPH_SENTENCES)
    return "\n\n".join(" ".join(filler[start : start + _PARAGRAPH_SENTENCES]) for start in starts)


def _sentences(chars: int, seed: int) -> list[str]:
    """Sentences that fill `chars` as closely as whole sentences do, the blanks between them included."""
    shortest = 40  # no sentence of this stock is shorter, so the draws below suffice
    drawn = stream(seed, "document", max(0, chars) // shortest * 2 * _DRAWS_PER_SENTENCE)
    sentences: list[str] = []
    length = 0
    for start in range(0, len(drawn), 2 * _DRAWS_PER_SENTENCE):
        sentence = _sentence(drawn[start : start + 2 * _DRAWS_PER_SENTENCE])
        if length + len(sentence) // 2 > chars:
            break
        sentences.append(sentence)
        length += len(sentence) + 1
    return sentences


def _sentence(drawn: bytes) -> str:
    first, second, third, fourth, fifth, sixth, last = (
        int.from_bytes(drawn[at : at + 2], "big") for at in range(0, len(drawn), 2)
    )
    return (
        f"{_OPENINGS[first % len(_OPENINGS)]} the {_ADJECTIVES[second % len(_ADJECTIVES)]} "
        f"{_NOUNS[third % len(_NOUNS)]} {_VERBS[fourth % len(_VERBS)]} the {_ADJECTIVES[fifth % len(_ADJECTIVES)]} "
        f"{_NOUNS[sixth % len(_NOUNS)]} {_ENDINGS[last % len(_ENDINGS)]}."
    )

"""Token counts in the places where OpenAI-like servers report them.

At the top of a chunk (OpenAI, vLLM; with `continuous_usage_stats` in every chunk), in `x_groq` (Groq), or in the
choice (Moonshot). Reasoning tokens stand in `completion_tokens_details`, in `output_tokens_details`, or beside the
other counts (SGLang). A key that is absent, null, or 0 are three different facts.
"""

from __future__ import annotations

from canary.core.stream import Usage
from canary.wire.loose_json import Object, count_of, object_of

_DETAILS = ("completion_tokens_details", "output_tokens_details")
_NAMES = {
    "prompt_tokens": ("prompt_tokens", "input_tokens"),
    "completion_tokens": ("completion_tokens", "output_tokens"),
}


def usage_in(document: Object, choice: Object | None) -> Usage | None:
    """The usage that a chunk reports, or None where it reports none."""
    groq = object_of(document.get("x_groq")) or {}
    for place in (document, groq, choice or {}):
        reported = object_of(place.get("usage"))
        if reported:
            return read_usage(reported)
    return None


def read_usage(reported: Object) -> Usage | None:
    """None for an object that holds no count that we know, not even as null."""
    details: Object = next((found for key in _DETAILS if (found := object_of(reported.get(key)))), {})
    places: dict[str, tuple[Object, tuple[str, ...]]] = {name: (reported, keys) for name, keys in _NAMES.items()}
    inside = details if "reasoning_tokens" in details else reported
    places["reasoning_tokens"] = (inside, ("reasoning_tokens",))
    places["text_tokens"] = (details, ("text_tokens",))
    counts: dict[str, int | None] = {}
    nulls = {key for key in _DETAILS if key in reported and reported[key] is None}
    for name, (place, keys) in places.items():
        key = next((key for key in keys if key in place), keys[0])
        counts[name] = count_of(place.get(key))
        if key in place and place[key] is None:
            nulls.add(name)
    if not nulls and all(count is None for count in counts.values()):
        return None
    return Usage(**counts, nulls=frozenset(nulls))

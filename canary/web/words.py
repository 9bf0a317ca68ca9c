"""The languages that pages speak. Sentences of verdicts, with their numbers, stay as they were judged: in English.

`{name}` places are filled in by the page. A test holds the languages to the same keys and the same places.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from canary.web import words_en, words_ko

DEFAULT = "en"
MESSAGES: Mapping[str, Mapping[str, str]] = MappingProxyType({"en": words_en.MESSAGES, "ko": words_ko.MESSAGES})
NAMES: Mapping[str, str] = MappingProxyType({"en": "English", "ko": "한국어"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Words:
    """One language; called with a key and what fills its places. Raises KeyError for a key that is none: our bug."""

    language: str

    def __call__(self, key: str, **places: object) -> str:
        text = MESSAGES[self.language][key]
        return text.format(**places) if places else text


def language_of(asked: str | None, accept: str) -> str:
    """The language that was asked for, else the best of an Accept-Language header, else English."""
    if asked is not None and asked in MESSAGES:
        return asked
    wanted = [_weighed(part) for part in accept.split(",")]
    best = max((each for each in wanted if each[1] in MESSAGES and each[0] > 0), key=lambda each: each[0], default=None)
    return best[1] if best else DEFAULT


def _weighed(part: str) -> tuple[float, str]:
    """`ko-KR;q=0.8` is (0.8, "ko"); what cannot be read weighs nothing."""
    tag, _, rest = part.strip().partition(";")
    name, _, value = rest.strip().partition("=")
    try:
        weight = float(value) if name.strip() == "q" else 1.0
    except ValueError:
        weight = 0.0
    return weight, tag.strip().lower().partition("-")[0]

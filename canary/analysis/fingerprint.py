"""Which software answered: whether two answers come from the same, and what changed in words.

What an answer does not say tells nothing: a run without reasoning names no reasoning field, and one that was cut short
no model. So a part that either side leaves out is the same. vLLM's fingerprint holds its version (`vllm-0.22.1-5eed…`,
the rest stands for its configuration); other services' fingerprints are opaque and are quoted as they are.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import fields
from types import MappingProxyType

from canary.core.measurement import Fingerprint

_VLLM = re.compile(r"vllm-(?P<version>\d[\w.+!]*)(?:-(?P<configuration>.+))?")
_WORDS: Mapping[str, str] = MappingProxyType(
    {
        "model": "model",
        "system_fingerprint": "fingerprint",
        "server": "server",
        "litellm_version": "LiteLLM",
        "reasoning_field": "reasoning field",
    }
)
_LONGEST = 80  # characters of somebody else's text


def same_software(one: Fingerprint, other: Fingerprint) -> bool:
    """Whether nothing that both say differs."""
    return not any(_differences(one, other))


def changes(before: Fingerprint, after: Fingerprint) -> tuple[str, ...]:
    """`vLLM 0.22.1 -> 0.23.0`, `model a -> b`: one phrase for each part that both name and that differs."""
    return tuple(_phrase(name, old, new) for name, old, new in _differences(before, after))


def _differences(before: Fingerprint, after: Fingerprint) -> Iterator[tuple[str, str, str]]:
    for part in fields(Fingerprint):
        old, new = getattr(before, part.name), getattr(after, part.name)
        if old is not None and new is not None and old != new:
            yield part.name, old, new


def _phrase(name: str, old: str, new: str) -> str:
    was, now = _VLLM.fullmatch(old), _VLLM.fullmatch(new)
    if name == "system_fingerprint" and was and now:
        if was["version"] != now["version"]:
            return f"vLLM {_quoted(was['version'])} -> {_quoted(now['version'])}"
        return f"vLLM's configuration {_quoted(was['configuration'])} -> {_quoted(now['configuration'])}"
    return f"{_WORDS[name]} {_quoted(old)} -> {_quoted(new)}"


def _quoted(text: str | None) -> str:
    line = "".join(char if char.isprintable() else " " for char in text or "unnamed")
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 1]}…"

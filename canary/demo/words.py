"""Text that looks like reasoning: the same words for the same prompt, and one word a token.

Words vary, because gateways treat equal chunks in a row as a model that hangs, and because a characters-per-token ratio
learned from one repeated word would be exact by accident.
"""

from __future__ import annotations

import hashlib

_TEXT = (
    "so then if the remainder is even we take half and carry on while this case holds because each term before it was "
    "checked twice but wait that would mean our first step missed one factor let me recount from where sums differ "
    "consider parity again suppose both sides shrink together now compare them with what we know about every smaller "
    "value perhaps an earlier guess still works although nothing forces equality here therefore continue until only "
    "residues remain and look for contradictions among those pairs which cannot occur under given constraints okay"
)
_WORDS = _TEXT.split()
_DIGEST_BYTES = 64


def words(seed: str, count: int) -> tuple[str, ...]:
    """`count` tokens, each a word with its leading space; without any digit, so that no answer is among them."""
    picks = b"".join(_digest(f"{seed}/{block}") for block in range(-(-count // _DIGEST_BYTES)))
    return tuple(" " + _WORDS[pick % len(_WORDS)] for pick in picks[:count])


def token_id(token: str) -> int:
    """A stable number for a token, within the range of a real vocabulary."""
    return int.from_bytes(_digest(token)[:2], "big")


def _digest(text: str) -> bytes:
    return hashlib.blake2b(text.encode(), digest_size=_DIGEST_BYTES).digest()

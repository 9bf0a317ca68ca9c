"""A secret is a type, so that it cannot be printed, logged, serialised or compared by accident."""

from __future__ import annotations

import hmac


class Secret:
    """A value that shows as `***` everywhere. Only code that must send it calls `reveal()`."""

    __slots__ = ("_value",)

    def __init__(self, value: str) -> None:
        self._value = value

    def reveal(self) -> str:
        """The value itself: for the line of code that puts it on the wire, and for no other."""
        return self._value

    def __repr__(self) -> str:
        return "Secret('***')"

    def __str__(self) -> str:
        return "***"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and hmac.compare_digest(self._value.encode(), other._value.encode())

    def __hash__(self) -> int:
        return hash((Secret, self._value))

    def __reduce__(self) -> str:
        msg = "a secret is never pickled or copied into a file"
        raise TypeError(msg)

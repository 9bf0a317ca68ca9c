"""What a config needs besides the program itself: found when it is checked, not in the night when it is used."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec

from canary.config.errors import Problem
from canary.config.view import View


def extra_problems(place: View, extra: str, module: str) -> Iterator[Problem]:
    """`module` is what the optional dependency `extra` brings; what stands at `place` needs it."""
    if find_spec(module) is None:
        hint = f"pip install 'reasoning-canary[{extra}]'"
        yield place.problem("what is not installed", f"the extra {extra}", hint)

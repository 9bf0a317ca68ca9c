"""Options that belong together are one dataclass, declared once, for every command that takes them.

Typer knows one option a parameter. A parameter that is a dataclass stands for its fields here: typer is shown the
fields, each with the option in its annotation and with its own default, and the command gets the dataclass.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import MISSING, fields, is_dataclass
from functools import wraps
from inspect import Parameter, Signature, signature
from typing import Any, get_type_hints


def grouped(command: Callable[..., None]) -> Callable[..., None]:
    hints = get_type_hints(command, include_extras=True)
    groups: dict[str, Any] = {name: kind for name, kind in hints.items() if is_dataclass(kind)}

    @wraps(command)
    def called(**typed: object) -> None:
        made = {
            name: kind(**{field.name: typed.pop(field.name) for field in fields(kind)}) for name, kind in groups.items()
        }
        command(**typed, **made)

    shown = [
        one
        for each in signature(command).parameters.values()
        for one in (
            _options(groups[each.name])
            if each.name in groups
            else (each.replace(kind=Parameter.KEYWORD_ONLY, annotation=hints[each.name]),)
        )
    ]
    called.__signature__ = Signature(shown)  # type: ignore[attr-defined]  # what `inspect` looks for first
    called.__annotations__ = {one.name: one.annotation for one in shown}
    return called


def _options(group: Any) -> Iterator[Parameter]:
    hints = get_type_hints(group, include_extras=True)
    for field in fields(group):
        default = Parameter.empty if field.default is MISSING else field.default
        yield Parameter(field.name, Parameter.KEYWORD_ONLY, default=default, annotation=hints[field.name])

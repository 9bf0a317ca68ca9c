"""Receivers as a config says them. Their keys are the rows of `NOTIFIERS` and the fields of each row's options.

So a notifier is written once: its section, its place in the JSON Schema and the messages about it come from here. A
type of field that stands in no table here is an error at import, and every test says so.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, fields
from dataclasses import Field as DataField
from typing import Any, get_type_hints

from pydantic import Field, create_model

from canary.config.fields import Duration, Headers, Name, SecretText, Text, Url
from canary.config.section import Section
from canary.config.service_fields import LabelName, SecretUrl
from canary.core.secret import Secret
from canary.notify import NOTIFIERS
from canary.notify.kind import NotifierKind
from canary.notify.statuspage import ComponentId

_TYPES: Mapping[Any, Any] = {
    str: Text,
    str | None: Text | None,
    bool: bool,
    int: int,
    float: Duration,  # of a field that ends in _s
    Secret: SecretText,
    Secret | None: SecretText | None,
    Mapping[str, str]: dict[LabelName, Text],  # labels are the only ones
    Mapping[str, ComponentId]: dict[Text, Text],
    Mapping[str, str | Secret]: Headers,
}
_URL_TYPES: Mapping[Any, Any] = {str: Url, Secret: SecretUrl}


def key_of(field: str) -> str:
    """How a config calls an option: durations have their unit in the value there."""
    return field.removesuffix("_s")


def public_urls(kind: str) -> list[str]:
    """The keys of this kind whose URL is no secret."""
    hints = get_type_hints(NOTIFIERS[kind].options)
    return [name for name, hint in hints.items() if _is_url(name) and hint is str]


def _is_url(field: str) -> bool:
    return field == "url" or field.endswith("_url")


def section_of(name: str, kind: NotifierKind) -> type[Section]:
    """The model of a notifier's section. Raises TypeError for an option that no config can say."""
    hints = get_type_hints(kind.options)
    keys: dict[str, Any] = {
        key_of(field.name): (_type(name, field.name, hints[field.name]), _default(field))
        for field in fields(kind.options)
    }
    title = f"{kind.options.__name__.removesuffix('Options')}Section"
    return create_model(title, __base__=Section, __doc__=kind.options.__doc__ or kind.summary, **keys)


def _type(kind: str, field: str, hint: Any) -> Any:
    table = _URL_TYPES if _is_url(field) and hint in _URL_TYPES else _TYPES
    if hint not in table:
        msg = f"the option {field} of the notifier {kind} has the type {hint}, which no config can say"
        raise TypeError(msg)
    return table[hint]


def _default(field: DataField[Any]) -> Any:
    if field.default is not MISSING:
        return field.default
    return Field(default_factory=field.default_factory) if field.default_factory is not MISSING else ...


SECTIONS: Mapping[str, type[Section]] = {name: section_of(name, kind) for name, kind in NOTIFIERS.items()}
_WAYS: Mapping[str, Any] = {
    name: (section | None, Field(None, description=NOTIFIERS[name].summary)) for name, section in SECTIONS.items()
}

ReceiverSection = create_model(
    "ReceiverSection",
    __base__=Section,
    __doc__="Somebody to tell, and one way to do it.",
    name=(Name, Field(description="What routes call it; unique in the config.")),
    **_WAYS,
)

"""Whatever a notifier's options are, a config can say them."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import pytest
from pydantic import ValidationError

from canary.config.receivers import SECTIONS, public_urls, section_of
from canary.core.secret import Secret
from canary.notify import NOTIFIERS
from canary.notify.kind import NotifierKind


async def send(errand, options, session):
    raise NotImplementedError


@dataclass(frozen=True, slots=True, kw_only=True)
class AllOptions:
    token: Secret
    url: Secret
    api_url: str
    channel: str
    nickname: str | None = None
    secret: Secret | None = None
    broadcast: bool = False
    most: int = 3
    timeout_s: float = 10.0
    labels: Mapping[str, str] = field(default_factory=dict)
    headers: Mapping[str, str | Secret] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class OddOptions:
    """What no config can say."""

    rooms: frozenset[str]


GOOD = {"token": Secret("t"), "url": Secret("https://a.example.com"), "api_url": "http://b", "channel": "#c"}


def kind(options: type) -> NotifierKind:
    return NotifierKind(summary="A test", options=options, send=send)


def test_every_type_of_option_has_a_form():
    section = section_of("all", kind(AllOptions)).model_validate(GOOD | {"timeout": "5s", "labels": {"a": "b"}})
    assert (section.timeout, section.most, section.broadcast, section.labels) == (5.0, 3, False, {"a": "b"})


@pytest.mark.parametrize(
    "wrong",
    [
        pytest.param({"token": "plain"}, id="a secret in plain text"),
        pytest.param({"url": Secret("no url")}, id="a secret that is no URL"),
        pytest.param({"api_url": "no url"}, id="no URL"),
        pytest.param({"channel": 3}, id="a number for text"),
        pytest.param({"timeout": "soon"}, id="no duration"),
        pytest.param({"timeout_s": 5.0}, id="the field's own name"),
        pytest.param({"labels": {"a-b": "c"}}, id="a label that no Prometheus takes"),
        pytest.param({"headers": {"a b": "c"}}, id="a header that no server takes"),
        pytest.param({"more": 1}, id="an unknown key"),
    ],
)
def test_options_are_checked(wrong: dict[str, object]):
    with pytest.raises(ValidationError):
        section_of("all", kind(AllOptions)).model_validate(GOOD | wrong)


def test_a_type_without_a_form_is_an_error_at_import():
    with pytest.raises(TypeError, match="the option rooms of the notifier odd has the type"):
        section_of("odd", kind(OddOptions))


@pytest.mark.parametrize("name", NOTIFIERS)
def test_every_notifier_has_a_section_that_says_what_it_is(name: str):
    assert SECTIONS[name].__doc__
    assert set(public_urls(name)) <= set(SECTIONS[name].model_fields)

"""What a config says about one hop: how it is reached, and which timers it holds."""

# ruff: noqa: RUF012  # pydantic copies defaults, and ruff does not see that an imported base is a model

from __future__ import annotations

from typing import Annotated, TypeAlias

from pydantic import AfterValidator, WithJsonSchema

from canary.config.fields import (
    Body,
    Duration,
    HeaderName,
    Headers,
    HeaderText,
    Limit,
    Name,
    SecretText,
    Text,
    Url,
    named,
    unfit,
)
from canary.config.presets import UnknownPresetError, preset_named, presets
from canary.config.section import Section
from canary.core.timeout import Clock, Outcome, StartsAt
from canary.wire import WIRES


def _preset(name: str) -> str:
    try:
        return preset_named(name).id
    except UnknownPresetError as error:
        near = f'did you mean "{error.suggestions[0]}"?' if error.suggestions else None
        raise unfit("a known preset", suggestion=near) from None


ProtocolName: TypeAlias = Annotated[Text, *named("protocol", WIRES)]
PresetName: TypeAlias = Annotated[
    Text, AfterValidator(_preset), WithJsonSchema({"type": "string", "examples": list(presets())})
]
ClockName: TypeAlias = Annotated[Text, *named("clock", map(str, Clock))]
StartName: TypeAlias = Annotated[Text, *named("start", map(str, StartsAt))]
OutcomeName: TypeAlias = Annotated[Text, *named("outcome", map(str, Outcome))]


class Basic(Section):
    username: Text
    """The user."""
    password: SecretText
    """Its password, as ${env:NAME} or ${file:PATH}."""


class AuthHeader(Section):
    name: HeaderName
    """The header's name, like X-Api-Key."""
    value: SecretText
    """Its value, as ${env:NAME} or ${file:PATH}."""


class Auth(Section):
    """How a hop is told who asks; one of the three."""

    bearer: SecretText | None = None
    """The token alone, as ${env:NAME} or ${file:PATH}; it is sent as "Authorization: Bearer TOKEN"."""
    basic: Basic | None = None
    """User and password."""
    header: AuthHeader | None = None
    """A key in a header of its own."""


class TlsFiles(Section):
    """PEM files; their paths are relative to the config file."""

    ca_file: Text | None = None
    """The authorities to trust instead of the system's."""
    cert_file: Text | None = None
    """Our own certificate."""
    key_file: Text | None = None
    """Its key, if it is not in the same file."""
    verify: bool = True
    """false: accept any certificate."""


class TimeoutEntry(Section):
    """A timer that the hop holds over the stream of the hop below it: of a known component, or a free one."""

    preset: PresetName | None = None
    """A well-known component, like nginx: its timers with its defaults. A limit beside it replaces a default."""
    name: Text | None = None
    """What to call a free timer."""
    headers: Limit | None = None
    """The limit from the request to the complete response headers."""
    idle: Limit | None = None
    """The limit of a silence; each tick of the clock restarts it."""
    total: Limit | None = None
    """The limit of the whole answer; nothing restarts it."""
    clock: ClockName | None = None
    """What restarts an idle timer: byte (default), event, token or visible."""
    starts: StartName | None = None
    """When it starts: request_sent (default), headers, request_start or first_tick."""
    outcome: OutcomeName | None = None
    """What the listener above sees when it fires on a running answer."""


class HopSection(Section):
    """One member of the chain. Without a url it is not probed, and only its timeouts count."""

    name: Name
    """What to call it; unique in its pipeline."""
    url: Url | None = None
    """Where to send the probe, path included."""
    protocol: ProtocolName | None = None
    """How this hop is spoken to; openai-chat unless said otherwise."""
    model: Text | None = None
    """The model's name at this hop."""
    auth: Auth | None = None
    """Who asks."""
    headers: Headers = {}
    """More request headers."""
    body: Body = {}
    """More fields of the request's body; they win over our own."""
    timeouts: list[TimeoutEntry] = []
    """The timers that this hop holds over the stream of the hop below it."""
    forwards_reasoning: bool | None = None
    """false: this hop hides reasoning on purpose; true: it is a failure when it does."""
    inline_reasoning: bool = False
    """true: reasoning in tags inside of the visible text is meant to be there."""
    keepalive: Duration | None = None
    """The interval of the comments that this hop sends while it has nothing to say."""
    accept_encoding: HeaderText | None = None
    """The Accept-Encoding header; identity by default, so that compression does not hide the stream's shape."""
    tls: TlsFiles | None = None
    """Certificates."""
    proxy: Url | None = None
    """An HTTP proxy to go through."""
    metrics_url: Url | None = None
    """Where the engine or gateway shows its own numbers (vLLM, SGLang, LiteLLM); read before and after its answer."""

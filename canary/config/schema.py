"""What a config file may say: the one place where its keys are listed. Unknown keys are errors.

The descriptions are what an editor shows (`canary schema`). What several values must fulfil together stands in
`canary.config.rules`; how a file becomes a plan in `canary.config.build`.
"""

# ruff: noqa: RUF012  # pydantic copies defaults, and ruff does not see that an imported base is a model

from __future__ import annotations

from typing import Annotated, TypeAlias

from pydantic import AfterValidator, Field, PositiveInt, WithJsonSchema

from canary.checks import CHECKS
from canary.config.fields import (
    Body,
    Duration,
    Expect,
    HeaderName,
    Headers,
    HeaderText,
    Level,
    Limit,
    Name,
    SecretText,
    Text,
    Url,
    named,
    unfit,
)
from canary.config.presets import UnknownPresetError, preset_named, presets
from canary.config.receivers import ReceiverSection
from canary.config.routes import MaintenanceSection, RouteSection
from canary.config.section import Section
from canary.config.service import HeartbeatSection, ListenSection, LogSection, OwnNetworkSection, StorageSection
from canary.config.service_fields import LabelName
from canary.config.time_fields import CronText, Interval, Span, ZoneName
from canary.core.timeout import Clock, Outcome, StartsAt
from canary.wire import WIRES
from canary.wire.budgets import BUDGETS


def _preset(name: str) -> str:
    try:
        return preset_named(name).id
    except UnknownPresetError as error:
        near = f'did you mean "{error.suggestions[0]}"?' if error.suggestions else None
        raise unfit("a known preset", suggestion=near) from None


ProtocolName: TypeAlias = Annotated[Text, *named("protocol", WIRES)]
CheckName: TypeAlias = Annotated[Text, *named("check", CHECKS)]
ParameterName: TypeAlias = Annotated[Text, *named("budget parameter", BUDGETS)]
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


class DefaultsSection(Section):
    """What holds for every hop and probe of the pipeline that says nothing else."""

    model: Text | None = None
    """Of every hop."""
    protocol: ProtocolName | None = None
    """Of every hop."""
    headers: Headers = {}
    """Sent to every hop; a hop's own win."""
    body: Body = {}
    """More fields of every hop's request body; a hop's own win, field by field."""
    every: Interval | None = None
    """Of every probe that has neither every nor cron."""
    cron: CronText | None = None
    """Of every probe that has neither every nor cron."""
    timezone: ZoneName | None = None
    """Of every cron; UTC by default."""
    jitter: Span | None = None
    """Of every probe on a schedule."""
    first_visible: Duration | None = None
    """Of every probe."""
    deadline: Duration | None = None
    """Of every probe."""


class BudgetEntry(Section):
    """A budget parameter to prove."""

    parameter: ParameterName
    """Its name in the request."""
    tokens: Annotated[int, Field(ge=0)] | None = None
    """The budget to ask for; small, so that obeying it shows."""
    value: Level | None = None
    """For a parameter that is no number: the level or switch to ask for."""
    expect: Expect | None = None
    """honoured (default), ignored or rejected; or a mapping from hop to one of them."""
    nonsense: bool = False
    """Also send a misspelt parameter, to learn whether the hop validates at all."""


class ProbeSection(Section):
    """A probe in use."""

    use: Text
    """The name of a canned probe, or the path of a probe file relative to this file."""
    every: Interval | None = None
    """How often it runs. Without every and cron it runs only when asked for."""
    cron: CronText | None = None
    """When it runs, instead of every: five fields as in crontab(5), minute first; 0 and 7 are Sunday."""
    timezone: ZoneName | None = None
    """The time zone of cron, like Europe/Berlin; UTC by default."""
    jitter: Span | None = None
    """The most by which each run is moved at random, so that probes do not meet."""
    first_visible: Duration | None = None
    """The longest acceptable wait for the first visible text."""
    deadline: Duration | None = None
    """When to give up on one request; 5m by default."""
    max_tokens: PositiveInt | None = None
    """Instead of the probe's own."""
    checks: Annotated[list[CheckName], Field(min_length=1)] | None = None
    """Only these checks; all that apply by default."""
    budgets: list[BudgetEntry] = []
    """Budget parameters to prove."""


class PricesSection(Section):
    """Money per million tokens, for the cost estimate."""

    input: Annotated[float, Field(ge=0, allow_inf_nan=False)]
    """Of the prompt."""
    output: Annotated[float, Field(ge=0, allow_inf_nan=False)]
    """Of the answer, reasoning included."""
    currency: Text = "USD"
    """What it is counted in."""


class PipelineSection(Section):
    """One chain of hops and what is asked of it."""

    name: Name
    """What to call it; unique in the config."""
    labels: dict[LabelName, Text] = {}
    """What routes, silences and windows can match, besides its name."""
    hops: Annotated[list[HopSection], Field(min_length=1)]
    """In the order of the path, from the user down to the engine."""
    defaults: DefaultsSection = DefaultsSection()
    """For hops and probes that say nothing else."""
    probes: Annotated[list[ProbeSection], Field(min_length=1)]
    """What to ask."""
    parallel: bool = False
    """true: ask all hops of a run at the same time. They then compete for the same engine."""
    prices: PricesSection | None = None
    """For the cost estimate."""
    tokens_per_run: PositiveInt | None = None
    """Probes of which one run may use more are not run on schedule; `canary check` says which."""
    tokens_per_day: PositiveInt | None = None
    """Once the day's runs have used as much, costly probes wait for the next day; `canary check` warns ahead."""


class ConfigFile(Section):
    """One config file of canary."""

    include: list[Text] = []
    """More config files, relative to this one."""
    pipelines: list[PipelineSection] = []
    """What to watch."""
    receivers: list[ReceiverSection] = []  # type: ignore[valid-type]  # it is made from NOTIFIERS
    """Whom to tell."""
    routes: list[RouteSection] = []
    """Who is told of what. The first that fits decides; without routes a single receiver gets everything."""
    maintenance: list[MaintenanceSection] = []
    """Planned times in which nobody is told."""
    listen: ListenSection | None = None
    """Where the pages, the API and /metrics are."""
    storage: StorageSection | None = None
    """Where history is kept, and how much of it."""
    heartbeat: HeartbeatSection | None = None
    """A URL that hears from us as long as all is well."""
    own_network: OwnNetworkSection | None = None
    """How to tell our own network's failure from a target's."""
    shutdown_grace: Duration | None = None
    """How long runs may take to end once we are told to stop; 60s by default."""
    concurrent_runs: PositiveInt | None = None
    """How many runs may go on at once; 4 by default."""
    log: LogSection | None = None
    """What the log looks like."""
    include_content: bool | None = None
    """true: prompts and answers may stand in messages; false by default."""

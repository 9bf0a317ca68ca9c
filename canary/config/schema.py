"""What a config file may say. Unknown keys are errors. Hops, receivers, routes and the daemon stand beside this one.

The descriptions are what an editor shows (`canary schema`). What several values must fulfil together stands in
`canary.config.rules`; how a file becomes a plan in `canary.config.build`.
"""

# ruff: noqa: RUF012  # pydantic copies defaults, and ruff does not see that an imported base is a model

from __future__ import annotations

from typing import Annotated, TypeAlias

from pydantic import Field

from canary.checks import CHECKS
from canary.config.fields import (
    Body,
    Count,
    Duration,
    Expect,
    Headers,
    Level,
    Name,
    Text,
    named,
)
from canary.config.hops import HopSection, ProtocolName
from canary.config.receivers import ReceiverSection
from canary.config.routes import MaintenanceSection, RouteSection
from canary.config.section import Section
from canary.config.service import (
    HeartbeatSection,
    ListenSection,
    LogSection,
    OwnNetworkSection,
    StatusPageSection,
    StorageSection,
)
from canary.config.service_fields import LabelName
from canary.config.time_fields import CronText, Interval, Span, ZoneName
from canary.wire.budgets import BUDGETS

CheckName: TypeAlias = Annotated[Text, *named("check", CHECKS)]
ParameterName: TypeAlias = Annotated[Text, *named("budget parameter", BUDGETS)]


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
    max_tokens: Count | None = None
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
    tokens_per_run: Count | None = None
    """A probe whose run usually takes more is not run on schedule; `canary check` says which."""
    tokens_per_day: Count | None = None
    """What is left of it goes to the cheaper probes first; costly ones wait for the next day."""


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
    status_page: StatusPageSection | None = None
    """What of it is for everybody."""
    storage: StorageSection | None = None
    """Where history is kept, and how much of it."""
    heartbeat: HeartbeatSection | None = None
    """A URL that hears from us as long as all is well."""
    own_network: OwnNetworkSection | None = None
    """How to tell our own network's failure from a target's."""
    shutdown_grace: Duration | None = None
    """How long runs may take to end once we are told to stop; 60s by default."""
    concurrent_runs: Count | None = None
    """How many runs may go on at once; 4 by default."""
    log: LogSection | None = None
    """What the log looks like."""
    include_content: bool | None = None
    """true: prompts and answers may stand in messages; false by default."""

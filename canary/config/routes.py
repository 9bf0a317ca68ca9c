"""What a config says about who is told of what, and when nobody is."""

from __future__ import annotations

from typing import Annotated, TypeAlias

from pydantic import BaseModel, ConfigDict, Field

from canary.config.fields import Count, Duration, Name, Text, named
from canary.config.section import Section
from canary.config.service_fields import FailCount
from canary.config.time_fields import CronText, Moment, Span, ZoneName
from canary.core.finding import Severity

SeverityName: TypeAlias = Annotated[Text, *named("severity", map(str, Severity))]


class MatchSection(BaseModel):
    """What has all of these. Any other key is a label of a pipeline."""

    model_config = ConfigDict(extra="allow", strict=True, frozen=True, use_attribute_docstrings=True)
    __pydantic_extra__: dict[str, Text] = Field(init=False)

    pipeline: Text | None = None
    """A pipeline's name."""
    probe: Text | None = None
    """A probe's name."""
    check: Text | None = None
    """The check that failed."""
    hop: Text | None = None
    """The hop where the fault is."""
    severity: SeverityName | None = None
    """critical: people feel it; or warning."""


MATCHED = tuple(MatchSection.model_fields)  # the keys of a match that are no labels


class RouteSection(Section):
    """The first route that fits decides when people are told, and tells its receiver."""

    match: MatchSection = MatchSection()
    """What it is about; everything, if it is left out."""
    receiver: Text
    """The name of a receiver."""
    fail: FailCount | None = None
    """How many of the last runs fail before people are told; 2 of 3 by default."""
    recover: Count | None = None
    """How many runs in a row pass before it is over; 2 by default."""
    hold: Span | None = None
    """How long it is not called over, whatever passes."""
    unknown: Count | None = None
    """How many runs in a row tell nothing before people hear that we are blind; 5 by default."""
    remind: Duration | None = None
    """How often people are told again while it lasts and nobody acknowledges it; never by default."""
    escalate_after: Duration | None = None
    """When somebody else is told, if nobody acknowledges it."""
    escalate_to: Text | None = None
    """Who that is: the name of a receiver."""
    go_on: Annotated[bool, Field(alias="continue")] = False
    """true: later routes that fit tell their receivers too."""


class MaintenanceSection(Section):
    """One window of time, or one each time that cron says. Measuring goes on in it."""

    name: Name
    """What it is for."""
    match: MatchSection = MatchSection()
    """What it is about; everything, if it is left out."""
    starts: Moment | None = None
    """The beginning of a single window, with its offset."""
    ends: Moment | None = None
    """Its end."""
    cron: CronText | None = None
    """When a window that comes again begins."""
    timezone: ZoneName | None = None
    """The time zone of cron; UTC by default."""
    duration: Duration | None = None
    """How long a window that comes again is."""

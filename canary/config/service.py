"""What a config says about the daemon itself. Each of these keys stands in one file of a config."""

from __future__ import annotations

from canary.config.fields import Count, Duration, SecretText, Text, Url
from canary.config.section import Section
from canary.config.service_fields import Address, LogForm, RemoteAddress, Size, StorageUrl, WebSecretUrl
from canary.config.time_fields import Span


class ListenSection(Section):
    """Where the daemon answers."""

    address: Address | None = None
    """Host and port; 127.0.0.1:9469 by default. An address that others can reach needs a token."""
    token: SecretText | None = None
    """Opens everything but the public pages, as ${env:NAME} or ${file:PATH}."""
    public_url: Url | None = None
    """How links in messages begin, like https://canary.example.com."""


class StatusPageSection(Section):
    """What people see who have no token."""

    public: bool | None = None
    """true: names, states and incidents, feeds and badges; listen.token keeps the rest private. false by default."""
    title: Text | None = None
    """What the page is called; Status by default."""
    min_age: Span | None = None
    """An incident shows once it has lasted so long; 2m by default."""
    content: bool | None = None
    """true: incidents also say what was found, with numbers and what servers answered; false by default."""


class KeepSection(Section):
    """What is beyond any of these goes, oldest first. Open incidents stay."""

    age: Duration | None = None
    """90d by default."""
    runs: Count | None = None
    """How many runs; 1000000 by default."""
    transcripts: Size | None = None
    """All transcripts together; 2GiB by default."""
    transcript: Size | None = None
    """A single one, compressed; 2MiB by default. A longer one is cut."""
    passed_every: Count | None = None
    """Of how many passed runs one keeps its transcript; 50 by default. Failed runs keep all."""


class StorageSection(Section):
    """Where history is."""

    url: StorageUrl | None = None
    """sqlite:///PATH, relative to this file, or postgresql://USER:${env:PASSWORD}@HOST/DATABASE."""
    keep: KeepSection = KeepSection()
    """How much of it."""


class HeartbeatSection(Section):
    """Pinged after a complete cycle of probing, storing and telling."""

    url: WebSecretUrl
    """As ${env:NAME} or ${file:PATH}: whoever knows it can keep it quiet."""
    every: Duration | None = None
    """At most so often; 1m by default."""


class OwnNetworkSection(Section):
    """What is asked when no target can be reached."""

    address: RemoteAddress
    """A host and port that answers whenever our own network works."""
    timeout: Duration | None = None
    """When to give up on it; 5s by default."""


class LogSection(Section):
    """One line a run."""

    format: LogForm | None = None
    """json or console; by default console on a terminal, else json."""

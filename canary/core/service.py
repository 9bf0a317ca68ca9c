"""What the daemon itself is told: where it listens, what it keeps, how it knows that it is well."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from ipaddress import ip_address

from canary.core.secret import Secret


@dataclass(frozen=True, slots=True, kw_only=True)
class Listen:
    """`token` opens everything but the public pages; without one only loopback addresses are bound."""

    host: str = "127.0.0.1"
    port: int = 9469
    token: Secret | None = None
    public_url: str | None = None  # how links in messages begin


@dataclass(frozen=True, slots=True, kw_only=True)
class StatusPage:
    """What people see who have no token. Without `public` that is nothing but whether we are alive.

    An incident shows once it has lasted `min_age_s`. `content`: its text is the finding's own sentence, with numbers
    and what servers said, instead of the words for everybody.
    """

    public: bool = False
    title: str = "Status"
    min_age_s: float = 120.0
    content: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Storage:
    """`url` as SQLAlchemy writes it, `sqlite:///PATH` or `postgresql://…`; it may hold a password.

    What is older than `keep_days`, beyond `keep_runs` or beyond `keep_bytes` of transcripts goes, oldest first. Of
    passed runs one transcript in `passed_transcript_every` is kept, of failed ones all, each up to `transcript_bytes`.
    """

    url: Secret = field(default_factory=lambda: Secret("sqlite:///canary-data/canary.db"))
    keep_days: float = 90.0
    keep_runs: int = 1_000_000
    keep_bytes: int = 2 * 1024**3
    transcript_bytes: int = 2 * 1024**2
    passed_transcript_every: int = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class Heartbeat:
    """Pinged after every complete cycle, at most every `every_s`: whoever hears nothing knows that we are dead."""

    url: Secret
    every_s: float = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnNetwork:
    """An address that answers whenever our own network works, `host:port`; None is trusted to be the case."""

    address: str
    timeout_s: float = 5.0


class LogFormat(StrEnum):
    JSON = "json"
    CONSOLE = "console"


@dataclass(frozen=True, slots=True, kw_only=True)
class Service:
    listen: Listen = field(default_factory=Listen)
    status_page: StatusPage = field(default_factory=StatusPage)
    storage: Storage = field(default_factory=Storage)
    heartbeat: Heartbeat | None = None
    own_network: OwnNetwork | None = None
    shutdown_grace_s: float = 60.0
    concurrent_runs: int = 4
    log_format: LogFormat | None = None  # None: console on a terminal, else JSON
    include_content: bool = False  # prompts and answers in messages


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches a socket bound to `host`. A name other than `localhost` could be anything."""
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host.lower() == "localhost"


def bind_refusal(listen: Listen) -> str | None:
    """Why this must not be listened at, or None. Without a token only loopback addresses are safe."""
    if (listen.token is not None and listen.token.reveal()) or is_loopback(listen.host):
        return None
    return f"{listen.host or 'every address'} can be reached from elsewhere, so listening there needs a token"

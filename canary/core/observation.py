"""All that is known of one request: what was sent, every byte that came back with its stamp, and how it ended.

An `Exchange` is the raw record, what a transcript holds. An `Observation` is the same record decoded. Both are facts;
nothing in them is judged. Times are seconds since the request was sent, which is after connect and TLS; one wall-clock
`started_at` is there for people.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from types import MappingProxyType
from typing import Any, TypeAlias

from canary.core.stream import StreamEvent

Json: TypeAlias = Any  # a value that json.loads may return; only wire/ and the transcript look inside


_NOTHING: Mapping[str, Json] = MappingProxyType({})


class Phase(StrEnum):
    """Where in the life of a request something happened."""

    DNS = "dns"
    CONNECT = "connect"
    TLS = "tls"
    SEND = "send"
    HEADERS = "headers"
    BODY = "body"


class StampSource(StrEnum):
    """Who stamped a read: the kernel at receipt, our event loop, or a recording that does not say."""

    KERNEL = "kernel"
    LOOP = "loop"
    RECORDED = "recorded"


@dataclass(frozen=True, slots=True, kw_only=True)
class Completed:
    """HTTP's own end of the message. It does not say that the stream was whole."""

    at: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Truncated:
    """The connection was closed in order, in mid-message: a chunked body without its last chunk, too few bytes."""

    at: float
    detail: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Disconnected:
    """The connection was reset or broke."""

    at: float
    phase: Phase
    detail: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpRejected:
    """An HTTP status of 400 or more, with what its body says."""

    at: float
    status: int
    message: str = ""
    content_type: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectFailed:
    """No request was sent: name, TCP or TLS failed."""

    at: float
    phase: Phase
    detail: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadlineExceeded:
    """The probe's own deadline came first."""

    at: float
    phase: Phase


BYTE_CAP = "byte cap"  # how the reason begins where an answer became longer than any honest one


@dataclass(frozen=True, slots=True, kw_only=True)
class StoppedByUs:
    """We had seen enough, or as much as we allow (`BYTE_CAP`): `reason` says which."""

    at: float
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Interrupted:
    """Our own shutdown or our own bug: nothing about the target follows from it."""

    at: float
    detail: str = ""


End: TypeAlias = (
    Completed | Truncated | Disconnected | HttpRejected | ConnectFailed | DeadlineExceeded | StoppedByUs | Interrupted
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """The final response header block. Header names are lower case; a repeated header is joined with `, `."""

    at: float
    status: int
    headers: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Read:
    """One network read of body bytes, after HTTP framing and content coding, stamped before any parsing.

    The bytes arrived at `at` at the latest, and after `after` if that is given: the last moment the socket was seen
    empty. Where `after` is None the stamp is as good as exact, or the recording does not say.
    """

    at: float
    data: bytes
    after: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """One request and its raw answer. `request` is the JSON body as sent; no header of ours, so no secret, is kept."""

    protocol: str
    url: str
    started_at: datetime
    request: Json
    end: End
    head: Head | None = None
    reads: tuple[Read, ...] = ()
    dns_s: float | None = None
    connect_s: float | None = None
    tls_s: float | None = None
    stamps: StampSource = StampSource.RECORDED
    loop_lag_s: float | None = None

    @property
    def asked(self) -> Mapping[str, Json]:
        """The request by member; a recording may hold one that is no JSON object, and then nothing is known of it."""
        return self.request if isinstance(self.request, dict) else _NOTHING


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """An exchange and the events that its bytes hold, in order. Only for an error status does `end` differ from its."""

    exchange: Exchange
    events: tuple[StreamEvent, ...]
    end: End

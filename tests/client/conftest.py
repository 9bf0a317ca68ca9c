"""One way to ask, and a decoder that keeps what it is given."""

from __future__ import annotations

import gc
import ssl
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import pytest
import trustme

from canary.client.exchange import exchange
from canary.client.reader import Reader, StopRule
from canary.client.target import Limits, Target
from canary.core.observation import Exchange, Head, Read, StampSource
from canary.core.stream import BytesReceived, HeadersReceived, StreamEvent

STARTED_AT = datetime(2026, 1, 2, tzinfo=UTC)
BODY = {"model": "m", "stream": True, "messages": [{"role": "user", "content": "hello"}]}


class EchoDecoder:
    """The smallest decoder there can be."""

    def head(self, head: Head) -> list[StreamEvent]:
        return [HeadersReceived(at=head.at, status=head.status)]

    def feed(self, read: Read) -> list[StreamEvent]:
        return [BytesReceived(at=read.at, size=len(read.data))]

    def close(self, _at: float) -> list[StreamEvent]:
        return []


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    exchange: Exchange
    events: tuple[StreamEvent, ...]

    @property
    def body(self) -> bytes:
        return b"".join(read.data for read in self.exchange.reads)


async def ask(
    url: str,
    *,
    body: Any = BODY,
    limits: Limits | None = None,
    stop: StopRule | None = None,
    stamps: StampSource = StampSource.KERNEL,
    **target: Any,
) -> Asked:
    limits = limits or Limits(deadline_s=20, max_bytes=1_000_000, connect_timeout_s=10)
    reader = Reader(decoder=EchoDecoder, max_bytes=limits.max_bytes, stop=stop)
    where = Target(url=url, protocol="openai-chat", **({"headers": {}} | target))
    raw = await exchange(where, body, reader, limits=limits, started_at=STARTED_AT, stamps=stamps)
    return Asked(exchange=raw, events=tuple(reader.events))


@pytest.fixture(name="ask")
def ask_fixture() -> Callable[..., Any]:
    return ask


@pytest.fixture(autouse=True, scope="session")
def small_heap():
    """What is there before the tests need not be looked through after each of them."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


@pytest.fixture(autouse=True)
def no_leaks():
    """What a test leaves open is a ResourceWarning, and a warning is an error: here, not in a later test."""
    yield
    gc.collect()


@dataclass(frozen=True, slots=True, kw_only=True)
class Authority:
    """A throw-away certificate authority."""

    ca: trustme.CA
    ca_file: str
    cert_file: str
    key_file: str

    def server(self, name: str = "localhost", *, client_cert: bool = False) -> ssl.SSLContext:
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        self.ca.issue_cert(name).configure_cert(context)
        if client_cert:
            context.verify_mode = ssl.CERT_REQUIRED
            self.ca.configure_trust(context)
        return context


@pytest.fixture(scope="session")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    folder = tmp_path_factory.mktemp("tls")
    ca = trustme.CA()
    leaf = ca.issue_cert("canary")
    ca.cert_pem.write_to_path(str(folder / "ca.pem"))
    leaf.private_key_pem.write_to_path(str(folder / "key.pem"))
    for pem in leaf.cert_chain_pems:
        pem.write_to_path(str(folder / "cert.pem"), append=True)
    return Authority(
        ca=ca,
        ca_file=str(folder / "ca.pem"),
        cert_file=str(folder / "cert.pem"),
        key_file=str(folder / "key.pem"),
    )

"""Where one request goes and how far it may go."""

from __future__ import annotations

import re
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from yarl import URL

from canary.core.secret import Secret
from canary.core.spec import Tls

_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")  # a token of RFC 9110
_FRAMING = frozenset({"content-length", "transfer-encoding"})  # they follow from the body


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """One hop's address and what to send with each request.

    Raises ValueError where `url` or `proxy` is not an absolute http(s) URL with a host, where a header cannot be sent
    (line breaks: a key read from a file often ends in one), or where user info meets an Authorization header. The
    message holds neither a URL nor a value.
    """

    url: str
    protocol: str
    headers: Mapping[str, str | Secret]
    accept_encoding: str = "identity"
    tls: Tls | None = None
    proxy: str | None = None

    def __post_init__(self) -> None:
        for name, text in (("url", self.url), ("proxy", self.proxy)):
            if text is not None and not _is_http(text):
                msg = f"{name} must be an absolute http or https URL with a host"  # the URL itself may hold a secret
                raise ValueError(msg)
        for name, value in {**self.headers, "Accept-Encoding": self.accept_encoding}.items():
            text = value.reveal() if isinstance(value, Secret) else value
            if not _HEADER_NAME.fullmatch(name) or not text.isascii() or not text.isprintable():
                msg = f"header {name!r} cannot be sent: it holds line breaks or other characters that no header may"
                raise ValueError(msg)
            if name.lower() in _FRAMING:
                msg = f"header {name!r} cannot be sent: it follows from the body"
                raise ValueError(msg)
        if URL(self.url).user is not None and "authorization" in map(str.lower, self.headers):
            raise ValueError("url holds user info and headers hold Authorization: only one of them can be sent")


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """`deadline_s` covers the whole observation, connecting included; `max_bytes` counts body bytes, inflated."""

    deadline_s: float
    max_bytes: int
    connect_timeout_s: float


def ssl_context(options: Tls) -> ssl.SSLContext:
    """Raises OSError (`ssl.SSLError` is one) where a file cannot be loaded. A replaced file is loaded anew."""
    files = (options.ca_file, options.cert_file, options.key_file)
    return _ssl_context(options, tuple(Path(file).stat().st_mtime_ns for file in files if file))


@lru_cache(maxsize=64)  # loading the system's authorities blocks the loop for some 20 ms
def _ssl_context(options: Tls, _mtimes: tuple[int, ...]) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=options.ca_file)
    context.set_alpn_protocols(["http/1.1"])
    if options.cert_file:
        context.load_cert_chain(
            options.cert_file, options.key_file, password=""
        )  # else an encrypted key asks on the tty
    if not options.verify:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context


def _is_http(text: str) -> bool:
    try:
        url = URL(text)
    except ValueError:
        return False
    return url.scheme in {"http", "https"} and bool(url.host)

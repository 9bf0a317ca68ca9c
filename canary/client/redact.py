"""What of a request and its answer may be kept.

An exchange ends up in files, in a database and in chat rooms, so secrets are taken out at the door, once:

- of a URL, user info and fragment go, and every query value but those of a few keys known to be harmless (an API key
  may travel under any name);
- of the response headers, cookies and whatever is named like a credential go;
- a server that echoes what we sent (error bodies do) gets each secret overwritten by as many `*`, so that sizes stay;
  it may echo it as it stands in a URL, in a JSON text, or in the header that user info becomes.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from yarl import URL

from canary.client.target import Target
from canary.core.observation import ConnectFailed, Disconnected, End, Interrupted, StoppedByUs, Truncated
from canary.core.secret import Secret

_HARMLESS_QUERY = frozenset({"api-version", "alt", "beta", "stream"})
_CREDENTIAL_NAME = re.compile(r"(^|-)(authorization|cookie2?|authentication-info|api-?key|token|secret|password)$")
_SHORTEST_SECRET = 6  # a shorter value would blank out ordinary text


def public_url(text: str) -> str:
    url = URL(text).with_user(None).with_fragment(None)
    kept = [(name, value if name.lower() in _HARMLESS_QUERY else "***") for name, value in url.query.items()]
    return str(url.with_query(kept)) if kept else str(url)


def public_headers(headers: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Lower-case names; repeated ones joined with `, `; credentials dropped."""
    kept: dict[str, str] = {}
    for name, value in headers:
        key = name.lower()
        if not _CREDENTIAL_NAME.search(key):
            kept[key] = f"{kept[key]}, {value}" if key in kept else value
    return kept


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Redaction:
    """The secrets of one target, longest first."""

    secrets: tuple[str, ...]

    def text(self, text: str) -> str:
        for secret in self.secrets:
            text = text.replace(secret, "*" * len(secret))
        return text

    def end(self, end: End) -> End:
        """Details and reasons may quote what the server sent."""
        match end:
            case Truncated() | Disconnected() | ConnectFailed() | Interrupted():
                return replace(end, detail=self.text(end.detail))
            case StoppedByUs():
                return replace(end, reason=self.text(end.reason))
            case _:
                return end

    def data(self, data: bytes) -> bytes:
        for secret in self.secrets:
            raw = secret.encode()
            data = data.replace(raw, b"*" * len(raw))
        return data


def redaction_of(target: Target) -> Redaction:
    found: set[str] = set()
    for value in target.headers.values():
        if isinstance(value, Secret):
            revealed = value.reveal()
            found |= {revealed, *revealed.split()[1:]}  # `Bearer KEY` is often echoed as KEY
    for url in map(URL, filter(None, (target.url, target.proxy))):
        found.update(_secrets_in(url))
    found |= {json.dumps(secret)[1:-1] for secret in found}
    return Redaction(secrets=tuple(sorted((s for s in found if len(s) >= _SHORTEST_SECRET), key=len, reverse=True)))


def _secrets_in(url: URL) -> Iterator[str]:
    if url.password:
        pair = f"{url.user or ''}:{url.password}"
        yield from (url.password, url.raw_password or "", base64.b64encode(pair.encode()).decode())
    raw = dict(part.partition("=")[::2] for part in url.raw_query_string.split("&"))
    for values in (url.query, raw):
        yield from (value for name, value in values.items() if name.lower() not in _HARMLESS_QUERY)


def revealed(headers: Mapping[str, str | Secret]) -> dict[str, str]:
    """For the line that puts them on the wire."""
    return {name: value.reveal() if isinstance(value, Secret) else value for name, value in headers.items()}

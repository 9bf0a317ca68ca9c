"""Who may ask, and from where. Pure: header values in, a reason out; None means that nothing speaks against it.

Three different strangers are kept out:

- Someone on the network: where a token is set, everything but the health routes needs it, as `Authorization: Bearer` or
  as the password of basic auth under any user name, so that a browser can ask for it. A routable address without a
  token answers nobody.
- A web page elsewhere that lets its visitor's browser send a POST to us (it can reach 127.0.0.1, and it would send a
  remembered password along). The rule is that of Go's `http.CrossOriginProtection`: `Sec-Fetch-Site` decides where the
  browser sends it, else `Origin` must be us; programs that are no browser send neither and pass.
- A web page elsewhere whose own name suddenly resolves to 127.0.0.1 (DNS rebinding): it is same-origin to itself and
  could read everything, but its name stands in the Host header.
"""

from __future__ import annotations

import base64
import binascii
import hmac
from dataclasses import dataclass
from urllib.parse import urlsplit

from canary.core.secret import Secret
from canary.core.service import Listen, is_loopback


def missing_token(authorization: str, listen: Listen, token: Secret | None) -> str | None:
    """Why the request is not let in, or None. `token` is the one in force, `listen` the address as bound."""
    if token is None or not token.reveal():
        return None if is_loopback(listen.host) else "no token is set, so nothing is shown on an address open to others"
    given = _credentials(authorization)
    if given is None:
        return "a token is needed: Authorization: Bearer TOKEN, or basic auth with the token as password"
    # Bytes, since compare_digest takes no text beyond ASCII.
    same = hmac.compare_digest(given.password.encode(errors="surrogateescape"), token.reveal().encode())
    return None if same else "the token is wrong"


def cross_site(fetch_site: str, origin: str, host: str, public_url: str | None) -> str | None:
    """Why a request that changes something must not be obeyed, or None. Empty: the header is absent."""
    if fetch_site:
        foreign = fetch_site not in {"same-origin", "none"}
        return f"a page of another site sent this (Sec-Fetch-Site: {fetch_site})" if foreign else None
    if not origin or _netloc(origin) in {host.lower(), _netloc(public_url or "") or None}:
        return None
    return "a page of another site sent this (Origin)"


def foreign_host(host: str, listen: Listen) -> str | None:
    """Why a request under this Host header is not answered, or None. A client of HTTP/1.0 sends none."""
    if not is_loopback(listen.host) or not host:
        return None
    name = _hostname(f"//{host}")
    if name is not None and (is_loopback(name) or name == _hostname(listen.public_url or "")):
        return None
    return "this address answers to localhost and to listen.public_url only"


@dataclass(frozen=True, slots=True, kw_only=True)
class Credentials:
    user: str | None
    password: str


def user_of(authorization: str) -> str | None:
    """The user name of basic auth: anybody may claim any, so it is a name to show and nothing more."""
    given = _credentials(authorization)
    return given.user or None if given else None


def _credentials(authorization: str) -> Credentials | None:
    scheme, _, value = authorization.partition(" ")
    if scheme.lower() == "bearer":
        return Credentials(user=None, password=value.strip())
    if scheme.lower() != "basic":
        return None
    try:
        user, colon, password = base64.b64decode(value.strip(), validate=True).decode().partition(":")
    except (binascii.Error, UnicodeDecodeError, ValueError):
        return None
    return Credentials(user=user, password=password) if colon else None


def _netloc(url: str) -> str:
    try:
        return urlsplit(url).netloc.lower()
    except ValueError:
        return ""


def _hostname(url: str) -> str | None:
    try:
        return urlsplit(url).hostname
    except ValueError:
        return None

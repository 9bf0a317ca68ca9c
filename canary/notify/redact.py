"""What became of a delivery is logged, stored and shown, and a reply may echo what we sent: secrets go here, once."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields, replace
from urllib.parse import quote, unquote, urlsplit

from canary.core.notification import Delivery, Sent
from canary.core.secret import Secret
from canary.notify.tidy import line

_MOST = 300  # characters of a reply: it often names the field that it did not like
_SHORTEST = 6  # a shorter value would blank out ordinary text


def without_secrets(delivery: Delivery, options: object) -> Delivery:
    """Every secret of these options, whole or as the part of a URL that makes it one, becomes `***`.

    What is left is one line that a terminal and a database can bear: it is the word of a stranger.
    """
    said = delivery.note if isinstance(delivery, Sent) else delivery.why
    secrets = sorted(set(_texts(options)), key=len, reverse=True)
    for secret in secrets:
        said = said.replace(secret, "***")
    said = line(_without_stump(said, secrets), most=_MOST)
    return replace(delivery, note=said) if isinstance(delivery, Sent) else replace(delivery, why=said)


def _without_stump(said: str, secrets: Iterable[str]) -> str:
    """A reply is quoted to some length, which may end within a secret: what is left of that one goes too."""
    cut = "…" if said.endswith("…") else ""
    text = said.removesuffix(cut)
    stumps = (secret[:size] for secret in secrets for size in range(_SHORTEST, len(secret)))
    longest = max((stump for stump in stumps if text.endswith(stump)), key=len, default="")
    return f"{text.removesuffix(longest)}***{cut}" if longest else said


def flaw_of_secrets(options: object) -> str | None:
    """No header and no URL can hold a line break, and a secret read from a file may."""
    if all(secret.reveal().isprintable() for secret in _secrets(options)):
        return None
    return "a secret of this receiver holds a line break or another control character"


def _texts(options: object) -> Iterator[str]:
    for secret in _secrets(options):
        value = secret.reveal()
        parts = urlsplit(value) if "://" in value else None
        pieces = [value, *value.split()[1:]]  # `Bearer KEY` is often echoed as KEY
        if parts is not None:
            path = [parts.path, *parts.path.split("/"), parts.query, parts.password, parts.username]
            pieces += [piece for piece in path if piece]
            pieces.append(_as_header(parts.username, parts.password))
        for piece in pieces:
            if len(piece) >= _SHORTEST:
                yield from (piece, quote(piece), quote(piece, safe=""), unquote(piece), json.dumps(piece)[1:-1])


def _as_header(user: str | None, password: str | None) -> str:
    """What a URL's user info becomes on the wire, without its scheme."""
    pair = f"{unquote(user or '')}:{unquote(password or '')}"
    return base64.b64encode(pair.encode()).decode() if password else ""


def _secrets(options: object) -> Iterator[Secret]:
    for field in fields(options):  # type: ignore[arg-type]  # options are dataclasses: a contract test says so
        value = getattr(options, field.name)
        for each in value.values() if isinstance(value, Mapping) else [value]:
            if isinstance(each, Secret):
                yield each

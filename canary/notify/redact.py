"""What became of a delivery is logged, stored and shown, and a reply may echo what we sent: secrets go here, once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields, replace
from urllib.parse import quote, unquote, urlsplit

from canary.core.notification import Delivery, Sent
from canary.core.secret import Secret

_SHORTEST = 6  # a shorter value would blank out ordinary text


def without_secrets(delivery: Delivery, options: object) -> Delivery:
    """Every secret of these options, whole or as the part of a URL that makes it one, becomes `***`."""
    said = delivery.note if isinstance(delivery, Sent) else delivery.why
    for secret in sorted(set(_texts(options)), key=len, reverse=True):
        said = said.replace(secret, "***")
    return replace(delivery, note=said) if isinstance(delivery, Sent) else replace(delivery, why=said)


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
        for piece in pieces:
            if len(piece) >= _SHORTEST:
                yield from (piece, quote(piece), quote(piece, safe=""), unquote(piece))


def _secrets(options: object) -> Iterator[Secret]:
    for field in fields(options):  # type: ignore[arg-type]  # options are dataclasses: a contract test says so
        value = getattr(options, field.name)
        for each in value.values() if isinstance(value, Mapping) else [value]:
            if isinstance(each, Secret):
                yield each

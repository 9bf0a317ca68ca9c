"""A request as a curl command, for the person who wants to see it fail with their own eyes.

No header of the original is in it: what it takes to get in is a shell variable that the reader sets. A prompt of a
whole document is cut, and the command says so.
"""

from __future__ import annotations

import json
import shlex

from canary.core.observation import Exchange, Json

_MOST_CHARS = 4000  # of one text in the body
KEY_VARIABLE = "CANARY_KEY"


def curl(exchange: Exchange) -> str:
    """One line; `-N` shows the stream as it comes."""
    body = json.dumps(_shortened(exchange.request), ensure_ascii=False)
    authorization = f'-H "Authorization: Bearer ${KEY_VARIABLE}"'
    return (
        f"curl -N {shlex.quote(exchange.url)} {authorization} "
        f"-H 'Content-Type: application/json' -d {shlex.quote(body)}"
    )


def _shortened(value: Json) -> Json:
    if isinstance(value, str) and len(value) > _MOST_CHARS:
        return f"{value[:_MOST_CHARS]} [cut: {len(value)} characters in all]"
    if isinstance(value, dict):
        return {key: _shortened(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_shortened(item) for item in value]
    return value

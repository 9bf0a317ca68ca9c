"""Error objects in all the forms in which servers send them, also inside a 200.

OpenAI, vLLM and LiteLLM send `{"error": {…}}`, others `{"error": "text"}`; Anthropic-like servers `{"type": "error"}`;
older vLLM and FastChat `{"object": "error"}`; FastAPI `{"detail": "text" or a list of places}`; OpenRouter and Azure
put `error` beside `choices` or into the choice; Groq into `x_groq`; DashScope and SiliconFlow send `code` and
`message` at the top. Proxies send HTML.
"""

from __future__ import annotations

import html
import re

from canary.core.observation import Json
from canary.core.stream import ServerError
from canary.wire.loose_json import Object, count_of, excerpt, object_of, objects_of, text_of, whole_text_of

_MESSAGE_KEYS = ("message", "msg", "detail", "error_description", "errorText", "error", "Message")
_FINE_CODES = (None, 0, 200, "", "0", "200")
_TAG = re.compile(r"<[^<>]*>")


def server_error(document: Object, *, at: float, raw: str) -> ServerError | None:
    """The error that a JSON object carries, or None. `raw` is its text, quoted where no message is found."""
    found = _error_value(document)
    if not found:
        return None
    parts = object_of(found)
    if found is document:
        parts = document
    whole = parts or {}
    message = _message(found, document)
    code = whole.get("code", whole.get("status", document.get("code")))
    kind = text_of(whole.get("type")) or text_of(whole.get("status"))
    return ServerError(at=at, message=message or excerpt(raw), code=_code(code), kind=kind or None)


def error_body(text: str, *, at: float) -> ServerError:
    """The error that an HTML page or plain text tells: its title, or its first words."""
    lower = text.lower()
    start, end = lower.find("<title"), lower.find("</title")
    title = text[lower.find(">", start) + 1 : end] if 0 <= start < end else ""
    words = title if title.strip() else _TAG.sub(" ", text)
    return ServerError(at=at, message=excerpt(html.unescape(words)))


def _error_value(document: Object) -> Json:
    """Where in `document` the error stands: its value, the document itself, or None."""
    for place in (document, object_of(document.get("x_groq")), *objects_of(document.get("choices"))[:1]):
        error = place.get("error") if place else None
        if error:
            return document if error is True else error
    if "error" in (document.get("type"), document.get("object"), document.get("status")):
        return document
    if "choices" in document:
        return None
    if document.get("detail"):
        return document["detail"]
    coded = _code(document.get("code")) is not None and document.get("code") not in _FINE_CODES
    return document if coded and text_of(document.get("message")) else None


def _message(found: Json, document: Object) -> str:
    """The text for people; where a short `error` stands beside a longer `message`, both."""
    message = _words(found)
    beside = text_of(document.get("message")) if isinstance(found, str) else ""
    return excerpt(f"{message}: {beside}" if beside and beside != message else message)


def _words(value: Json) -> str:
    if isinstance(value, str):
        return whole_text_of(value)
    if isinstance(value, list):
        return "; ".join(filter(None, map(_complaint, objects_of(value)[:10])))
    fields = object_of(value) or {}
    texts = [text_of(fields.get(key)) for key in _MESSAGE_KEYS]
    inner = object_of(fields.get("error")) or object_of(fields.get("detail")) or {}
    return next(filter(None, [*texts, *(text_of(inner.get(key)) for key in _MESSAGE_KEYS)]), "")


def _complaint(item: Object) -> str:
    """One entry of FastAPI's validation list: `body.max_tokens: Input should be greater than 0`."""
    place = item.get("loc")
    names = [str(part) for part in place if isinstance(part, str | int)] if isinstance(place, list) else []
    words = text_of(item.get("msg")) or text_of(item.get("message"))
    return f"{'.'.join(names)}: {words}" if names and words else words


def _code(value: Json) -> str | None:
    if isinstance(value, str):
        return excerpt(value) or None
    number = count_of(value)
    return None if number is None else str(number)

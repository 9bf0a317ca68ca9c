"""What the values of one hop must fulfil together."""

from __future__ import annotations

import re
from collections.abc import Iterator
from urllib.parse import urlsplit

from canary.client.target import ssl_context
from canary.config.errors import Problem, one_of, quoted, shown
from canary.config.fields import opened
from canary.config.presets import UnknownPresetError, preset_named, timeouts_of
from canary.config.source import is_file
from canary.config.view import View
from canary.core.secret import Secret
from canary.core.spec import Tls

# What acts only on requests of ours; at a hop without a url it would be a setting that does nothing.
_OF_PROBED = (
    "protocol", "model", "auth", "headers", "body", "forwards_reasoning", "inline_reasoning", "accept_encoding", "tls",
    "proxy", "metrics_url",
)  # fmt: skip
_WAYS = ("bearer", "basic", "header")
_CREDENTIAL = re.compile(
    r"(^|[-_])(authorization|cookie2?|api[-_]?key|access[-_]?key|token|secret|password)$", re.IGNORECASE
)
_OURS = {"host", "content-length", "transfer-encoding", "connection", "content-type"}
_TLS_FILES = ("ca_file", "cert_file", "key_file")
_LIMITS = ("headers", "idle", "total")
_FREE_ONLY = ("name", "clock", "starts", "outcome")


def hop_problems(hop: View) -> Iterator[Problem]:
    if not hop.has("url"):
        for key in set(hop.names()) & set(_OF_PROBED):
            yield hop.at(key).problem("a setting of probed hops", "it at a hop with a url")
    yield from _auth(hop)
    yield from header_problems(hop.at("headers"))
    yield from url_problems(hop.at("url"), "a user and password go into auth: {basic: …}")
    yield from url_problems(hop.at("proxy"), "a proxy that asks for a password is not supported")
    yield from url_problems(hop.at("metrics_url"), "the hop's auth is sent there too, if it is the same server")
    yield from credentials_in_body(hop.at("body"))
    yield from _timeouts(hop.at("timeouts"))
    yield from _tls(hop.at("tls"))


def header_problems(headers: View) -> Iterator[Problem]:
    """Names that stand twice, credentials in plain text, and headers that are not the config's to set."""
    seen: dict[str, str] = {}
    for name in headers.names():
        place, lower = headers.at(name), name.lower()
        if lower in seen:
            yield place.problem(f"the header {quoted(seen[lower])} a second time", "it once: case does not matter")
        elif lower == "accept-encoding":
            yield place.problem("a header with a key of its own", "accept_encoding of the hop instead")
        elif lower in _OURS:
            yield place.problem("a header that the request sets itself", "another one")
        elif _CREDENTIAL.search(lower) and isinstance(place.data, str):
            hint = "write ${env:NAME} or ${file:PATH}"
            yield place.problem("plain text", "a secret that stands outside of the config", hint)
        seen.setdefault(lower, name)


def _auth(hop: View) -> Iterator[Problem]:
    auth = hop.at("auth")
    ways = [way for way in _WAYS if auth.has(way)]
    if len(ways) > 1 or auth.data == {}:
        yield auth.problem(one_of(ways, "and") if ways else "nothing in it", f"one of {one_of(_WAYS)}")
    bearer = auth.at("bearer")
    if bearer.refers and str(opened(bearer.data)).lower().startswith("bearer "):
        yield bearer.problem('a secret that starts with "Bearer "', "the token alone: the word is added")
    sent = auth.at("header").text("name") if auth.has("header") else "Authorization"
    if len(ways) == 1 and sent:
        for name in hop.at("headers").names():
            if name.lower() == sent.lower():
                place = hop.at("headers").at(name)
                yield place.problem(f"the header {quoted(name)} a second time", "it once: auth sets it too")
    user = auth.at("basic").text("username") or ""
    if ":" in user:
        yield auth.at("basic").at("username").problem("a colon in a user's name", "none: it ends the name")


def url_problems(url: View, instead: str) -> Iterator[Problem]:
    """A URL is shown on pages and kept in transcripts, so no secret may stand in it."""
    text = opened(url.data)
    if not isinstance(text, str):
        return
    try:
        parts = urlsplit(text)
    except ValueError:
        return
    if "@" in parts.netloc:
        yield url.problem("a URL with a user in it", "the URL alone", instead)
    written = str(url.written())
    if url.refers and "${" in written.partition("?")[2]:
        yield url.problem("a reference in the query of a URL", "no secret there", "send it in auth or headers")


def credentials_in_body(body: View) -> Iterator[Problem]:
    """Bodies are kept in transcripts."""
    for item in body.items():
        yield from credentials_in_body(item)
    for key, value in body.data.items() if isinstance(body.data, dict) else ():
        place = body.at(key)
        if isinstance(value, dict | list):
            yield from credentials_in_body(place)
        elif isinstance(value, str | Secret) and _CREDENTIAL.search(key):
            hint = "send it in auth or headers"
            yield place.problem("a credential in the body", "none: bodies are kept with the results", hint)


def _timeouts(timeouts: View) -> Iterator[Problem]:
    """Verdicts and series are told apart by their timer's name, and by the hop's."""
    taken: set[str] = set()
    for timeout in timeouts.items():
        yield from _preset(timeout) if timeout.has("preset") else _free_timer(timeout)
        key = "preset" if timeout.has("preset") else "name"
        names = _names(timeout)
        if names & taken:
            yield timeout.at(key).problem(f"a second timer of this {key}", f"each {key} once at a hop")
        taken |= names


def _names(timeout: View) -> set[str]:
    """What its timers are called. A preset has several names, and as many timers as its component."""
    if not timeout.has("preset"):
        return {name} if (name := timeout.text("name")) else set()
    try:
        preset = preset_named(timeout.text("preset") or "")
    except UnknownPresetError:
        return set()
    return {preset.id, *(timer.name for timer in timeouts_of(preset.id))}


def _preset(timeout: View) -> Iterator[Problem]:
    for key in _FREE_ONLY:
        if timeout.has(key):
            yield timeout.at(key).problem(f"{key} beside a preset", f"only limits there: {one_of(_LIMITS)}")


def _free_timer(timeout: View) -> Iterator[Problem]:
    limits = [key for key in _LIMITS if timeout.has(key)]
    if len(limits) != 1:
        found = one_of(limits, "and") if limits else "a timer without a limit"
        yield timeout.problem(found, f"one of {one_of(_LIMITS)}, or a preset")
    if not timeout.has("name"):
        yield timeout.problem("a timer without a name", "a name, or a preset")
    if timeout.has("clock") and "idle" not in limits:
        yield timeout.at("clock").problem("a clock beside a limit that nothing restarts", "it beside idle only")
    for key in limits:
        if timeout.at(key).data == "off":
            yield timeout.at(key).problem('"off"', "a duration: only a timer of a preset can be switched off")


def _tls(tls: View) -> Iterator[Problem]:
    if tls.has("key_file") and not tls.has("cert_file"):
        yield tls.at("key_file").problem("a key without a certificate", "cert_file beside it")
    named = {key: tls.document.folder / name for key in _TLS_FILES if (name := tls.text(key))}
    files = {key: str(file) for key, file in named.items() if is_file(file)}
    for key in [key for key in named if key not in files]:
        yield tls.at(key).problem(shown((), tls.at(key).written()), "a file that exists")
    if "ca_file" in files and not _loads(Tls(ca_file=files["ca_file"])):
        yield tls.at("ca_file").problem("a file without certificates", "PEM certificates of authorities")
    if "cert_file" in files and named.keys() - {"ca_file"} <= files.keys():
        pair = Tls(cert_file=files["cert_file"], key_file=files.get("key_file"))
        if not _loads(pair):
            yield tls.at("cert_file").problem(
                "a file that cannot be used", "a PEM certificate, with its key without a passphrase here or in key_file"
            )


def _loads(tls: Tls) -> bool:
    try:
        ssl_context(tls)
    except OSError:
        return False
    return True

"""What the keys about the daemon itself must fulfil: said in one file, no password in plain text, no open door."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from canary.config.errors import Problem, shown
from canary.config.extras import extra_problems
from canary.config.hop_rules import url_problems
from canary.config.service_fields import parse_address
from canary.config.view import View
from canary.core.secret import Secret
from canary.core.service import Listen, bind_refusal

SERVICE_KEYS = (
    "listen", "status_page", "storage", "heartbeat", "own_network", "shutdown_grace", "concurrent_runs", "log",
    "include_content",
)  # fmt: skip
_PASSWORD = re.compile(
    r"://[^/@:]*:(?P<userinfo>[^/@]+)@|[?&](?:password|passwd|sslpassword)=(?P<query>[^&]+)", re.IGNORECASE
)
_REFERENCES = re.compile(r"(\$\{(env|file):[^}]*\})+")


def service_problems(views: Sequence[View]) -> Iterator[Problem]:
    """Over all files."""
    for key in SERVICE_KEYS:
        yield from _said_once(views, key)
    for view in views:
        yield from _listen(view.at("listen"))
        yield from url_problems(view.at("listen").at("public_url"), "links are for everybody")
        yield from _storage(view.at("storage"))
    yield from _public(views)


def storage_problems(views: Sequence[View]) -> Iterator[Problem]:
    """Over all files."""
    yield from _said_once(views, "storage")
    for view in views:
        yield from _storage(view.at("storage"))


def _said_once(views: Sequence[View], key: str) -> Iterator[Problem]:
    """The same words in two files are no contradiction."""
    said = [view.at(key) for view in views if view.has(key)]
    for view in said[1:]:
        first = said[0]
        if view.data != first.data:
            where = f"{first.document.file}:{first.document.key_lines[first.path]}"
            yield view.problem(f"another {key}", f"it in one file only; the first is in {where}")


def _listen(listen: View) -> Iterator[Problem]:
    try:
        host, port = parse_address(listen.text("address") or "")
    except ValueError:
        return
    token = listen.text("token")
    if bind_refusal(Listen(host=host, port=port, token=Secret(token) if token else None)):
        found = f"{shown((), listen.at('address').written())}, which others can reach"
        yield listen.at("address").problem(found, "a token beside it, or a loopback address like 127.0.0.1")


def _public(views: Sequence[View]) -> Iterator[Problem]:
    """Where no token is set whoever reaches a loopback address sees all, and a public page has a proxy before it."""
    if any(view.at("listen").text("token") for view in views):
        return
    for view in views:
        public = view.at("status_page").at("public")
        if public.data is True:
            expected = "listen.token, which keeps the rest private"
            yield public.problem("a public status page without a token", expected)


def _storage(storage: View) -> Iterator[Problem]:
    yield from _password(storage.at("url"))
    if (storage.text("url") or "").startswith("postgresql://"):
        yield from extra_problems(storage.at("url"), "postgres", module="asyncpg")


def _password(url: View) -> Iterator[Problem]:
    """Of what stands in the file: a reference in a URL makes a secret of all of it, also of a password beside it."""
    written = url.written() if url.data is not None else None
    for match in _PASSWORD.finditer(written if isinstance(written, str) else ""):
        if not _REFERENCES.fullmatch(match["userinfo"] or match["query"]):
            hint = "write ${env:NAME} or ${file:PATH} in its place"
            yield url.problem("a password in plain text", "a secret that stands outside of the config", hint)

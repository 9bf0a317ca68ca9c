"""What receivers must fulfil: one way each, and what that way needs to be installed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from canary.config.errors import Problem, one_of
from canary.config.extras import extra_problems
from canary.config.hop_rules import header_problems, url_problems
from canary.config.receivers import public_urls
from canary.config.view import View, repeated
from canary.notify import NOTIFIERS


def receiver_problems(views: Sequence[View]) -> Iterator[Problem]:
    """Over all files."""
    yield from listener_problems(views)
    for receiver in _receivers(views):
        yield from _options(receiver)


def listener_problems(views: Sequence[View]) -> Iterator[Problem]:
    """Over all files: names are unique in all of them together, and everybody is reached in one way."""
    receivers = _receivers(views)
    names = ((receiver.at("name"), receiver.text("name")) for receiver in receivers)
    yield from repeated(names, "a second receiver of this name", "a name of its own for each receiver")
    for receiver in receivers:
        ways = _ways(receiver)
        if len(ways) != 1:
            found = f"{one_of(ways, 'and')} in one receiver" if ways else "a receiver without a way to reach it"
            yield receiver.problem(found, f"one of {one_of(sorted(NOTIFIERS))}")


def receiver_names(views: Sequence[View]) -> list[str]:
    return [name for receiver in _receivers(views) if (name := receiver.text("name"))]


def _receivers(views: Sequence[View]) -> list[View]:
    return [receiver for view in views for receiver in view.at("receivers").items()]


def _ways(receiver: View) -> list[str]:
    return [kind for kind in NOTIFIERS if receiver.has(kind)]


def _options(receiver: View) -> Iterator[Problem]:
    for kind in _ways(receiver):
        yield from header_problems(receiver.at(kind).at("headers"))
        for key in public_urls(kind):
            yield from url_problems(receiver.at(kind).at(key), "credentials go into headers")
        if extra := NOTIFIERS[kind].extra:
            yield from extra_problems(receiver.at(kind), extra, module=extra)

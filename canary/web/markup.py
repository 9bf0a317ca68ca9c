"""Pages from templates, and the few files that go with them. Everything is escaped that is not marked as ours."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from types import MappingProxyType
from urllib.parse import quote, urlencode

from jinja2 import Environment, PackageLoader, StrictUndefined

from canary import __version__
from canary.web import figures, sayings
from canary.web.words import NAMES, Words


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """How a page was asked for. `root`: the way to our first page; `query`: what links carry on, like a language."""

    words: Words
    root: str = ""
    query: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))

    def link(self, *path: str, **more: str | None) -> str:
        """Relative, so that it holds behind a proxy that puts us below a path of its own."""
        place = self.root + "/".join(quote(part, safe="") for part in path)
        given = {name: value for name, value in {**self.query, **more}.items() if value is not None}
        return (place or "./") + (f"?{urlencode(given)}" if given else "")


def render(template: str, asked: Asked, **shown: object) -> str:
    return _ENVIRONMENT.get_template(template).render(
        t=asked.words, link=asked.link, root=asked.root, version=__version__, marks=MARKS, languages=NAMES, **shown
    )


def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("canary.web"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    for each in (figures.plain, figures.prose, figures.seconds, figures.percent, figures.moment):
        environment.filters[each.__name__] = each
    environment.globals.update(clock=figures.clock, length=figures.length)
    for said in (sayings.headline, sayings.check_name, sayings.named, sayings.title_of, sayings.told):
        environment.globals[said.__name__] = said
    return environment


_ENVIRONMENT = _environment()
_TYPES = {"style.css": "text/css", "canary.js": "text/javascript", "icon.svg": "image/svg+xml"}
FILES: Mapping[str, tuple[str, str]] = MappingProxyType(  # by name: type and text
    {name: (kind, _ENVIRONMENT.get_template(name).render()) for name, kind in _TYPES.items()}
)
# In their addresses, so that browsers may keep them and still get new ones.
MARKS: Mapping[str, str] = MappingProxyType(
    {name: sha256(text.encode()).hexdigest()[:8] for name, (_, text) in FILES.items()}
)

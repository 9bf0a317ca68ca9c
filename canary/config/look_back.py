"""What a config says to the commands that look back, and no more of it.

Whoever looks back at three in the morning has a shell without the secrets that the service manager holds, and perhaps
not the right to read their files. So what such a command does not need is cut out of the files before references are
resolved and certificates are opened: whether it is there, and whether it holds, is for the daemon to say.

- To find the store: `storage`.
- To explain who is told: routes, windows, the names of receivers, and of pipelines all that routes, pages and schedules
  look at. The URL of a hop is among it, because pipelines that share a hop share its page. How a hop is asked, and how
  somebody is told, is not.
"""

# ruff: noqa: RUF012  # pydantic copies defaults, and ruff does not see that an imported base is a model

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path as File

from pydantic import ConfigDict

from canary.config.build_service import storage_of
from canary.config.fields import Name
from canary.config.load import Scope, files_of, loaded, plan_of, same_names
from canary.config.receiver_rules import listener_problems
from canary.config.route_rules import route_problems
from canary.config.rules import watching_problems
from canary.config.schema import ConfigFile
from canary.config.section import Section
from canary.config.service_rules import storage_problems
from canary.core.observation import Json
from canary.core.route import Receiver
from canary.core.service import Storage
from canary.core.spec import Plan
from canary.notify import NOTIFIERS

_FILE_KEYS = ("include", "routes", "maintenance")
_PIPELINE_KEYS = ("name", "labels")
_HOP_KEYS = ("name", "url")
_SCHEDULE_KEYS = ("every", "cron", "timezone", "jitter", "first_visible", "deadline")
_PROBE_KEYS = ("use", "max_tokens", "checks", *_SCHEDULE_KEYS)


class Listener(Section):
    """A receiver by its name; of the way to reach it only the key stands beside."""

    model_config = ConfigDict(extra="allow")

    name: Name
    """What routes call it."""


class TellingFile(ConfigFile):
    """A config file as far as it says who is told."""

    receivers: list[Listener] = []
    """Whom to tell."""


def load_storage(paths: Sequence[File], *, env: Mapping[str, str]) -> Storage:
    """Where the daemon that has this config keeps what it finds. Raises ConfigError."""
    return storage_of(files_of(loaded(paths, env, _STORAGE)))


def load_telling(paths: Sequence[File], *, env: Mapping[str, str]) -> Plan:
    """The plan as far as it decides who is told of what. Its receivers have no options. Raises ConfigError."""
    checked = loaded(paths, env, _TELLING)
    nobody = [(view, config and config.model_copy(update={"receivers": []})) for view, config in checked]
    receivers = (_receiver(each) for _, config in files_of(checked) for each in config.receivers)
    return replace(plan_of(nobody), receivers=tuple(receivers))


def _receiver(listener: Listener) -> Receiver:
    kind = next(kind for kind in NOTIFIERS if kind in (listener.model_extra or {}))  # receiver_rules saw to it
    return Receiver(name=listener.name, kind=kind, options=None, edits=NOTIFIERS[kind].edits)


def _storage(data: Mapping[str, Json]) -> dict[str, Json]:
    return {key: data[key] for key in ("include", "storage") if key in data}


def _telling(data: Mapping[str, Json]) -> dict[str, Json]:
    kept = {key: data[key] for key in _FILE_KEYS if key in data}
    cut = {"pipelines": _pipeline, "receivers": _named}
    return kept | {key: _each(data[key], of_one) for key, of_one in cut.items() if key in data}


def _pipeline(pipeline: Mapping[str, Json]) -> dict[str, Json]:
    kept = {key: pipeline[key] for key in _PIPELINE_KEYS if key in pipeline}
    lists = {"hops": _HOP_KEYS, "probes": _PROBE_KEYS}
    kept |= {key: _each(pipeline[key], _only(keys)) for key, keys in lists.items() if key in pipeline}
    defaults = pipeline.get("defaults")
    return kept | ({"defaults": _only(_SCHEDULE_KEYS)(defaults)} if isinstance(defaults, dict) else {})


def _named(receiver: Mapping[str, Json]) -> dict[str, Json]:
    ways: dict[str, Json] = {kind: {} for kind in NOTIFIERS if receiver.get(kind) is not None}
    return _only(("name",))(receiver) | ways


def _only(keys: Sequence[str]) -> Callable[[Mapping[str, Json]], dict[str, Json]]:
    return lambda mapping: {key: mapping[key] for key in keys if key in mapping}


def _each(value: Json, cut: Callable[[Mapping[str, Json]], dict[str, Json]]) -> Json:
    """Of a list, its mappings cut; what has another shape is the schema's business."""
    return [cut(item) if isinstance(item, dict) else item for item in value] if isinstance(value, list) else value


_STORAGE = Scope(keep=_storage, of_file=lambda _: (), of_all=storage_problems)
_TELLING = Scope(
    keep=_telling,
    of_file=watching_problems,
    of_all=lambda views: (*same_names(views), *listener_problems(views), *route_problems(views)),
    model=TellingFile,
)

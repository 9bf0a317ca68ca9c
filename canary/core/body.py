"""Request bodies are JSON objects that several hands add to: probe, defaults of the pipeline, hop, parameter."""

from __future__ import annotations

from collections.abc import Mapping

from canary.core.observation import Json


def merged(base: Mapping[str, Json], over: Mapping[str, Json]) -> dict[str, Json]:
    """Two request bodies in one: `over` into `base`, object by object; neither is changed."""
    result = dict(base)
    for key, value in over.items():
        mine = result.get(key)
        result[key] = merged(mine, value) if isinstance(mine, Mapping) and isinstance(value, Mapping) else value
    return result

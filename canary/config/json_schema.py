"""The JSON Schema of a config file, for editors. It is a little milder than the loader: it cannot see across values."""

from __future__ import annotations

from canary.config.schema import ConfigFile
from canary.core.observation import Json


def json_schema() -> Json:
    schema = ConfigFile.model_json_schema(mode="validation")
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema, "title": "reasoning-canary config"}

"""A mapping of the config: unknown keys are errors, values are of the very type, and a key's docstring is its help."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class Section(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, use_attribute_docstrings=True)

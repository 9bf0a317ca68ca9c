"""The five kinds of hop of the demo pipeline, named from the user down. A hop's name is its kind."""

from __future__ import annotations

from enum import StrEnum


class HopKind(StrEnum):
    UI = "ui"
    EDGE = "edge"
    AGENT = "agent"
    GATEWAY = "gateway"
    ENGINE = "engine"

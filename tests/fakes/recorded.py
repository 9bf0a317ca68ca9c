"""Recorded streams of real servers, as chunks; and the shape of chunks, to compare ours with theirs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

RECORDED = Path(__file__).parent.parent / "transcripts" / "recorded"


def chunks_of(name: str) -> list[dict]:
    path = RECORDED / f"{name}.jsonl"
    if not path.exists():
        pytest.skip(f"{name} is not recorded here")
    data = "".join(json.loads(line).get("data", "") for line in path.read_text(encoding="utf-8").splitlines())
    return [json.loads(block[5:]) for block in data.split("\n\n") if block.startswith("data: {")]


def shapes(chunks: list[dict]) -> set[tuple]:
    """The keys of each chunk, of its choices, of their deltas and of its usage."""
    return {
        (
            frozenset(chunk),
            *((frozenset(choice), frozenset(choice["delta"])) for choice in chunk["choices"]),
            frozenset(chunk.get("usage") or ()),
        )
        for chunk in chunks
    }

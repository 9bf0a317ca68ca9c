"""How the demo engine "solves" the questions of a probe: by knowing all of them."""

from __future__ import annotations

from collections.abc import Iterator

from canary.core.spec import Probe
from canary.demo.engine import AnswerFor
from canary.prompts.compose import Composed, compose


def answers(probe: Probe, seed: int) -> AnswerFor:
    """The right answer to each question of `probe` in the run of this seed, under whatever nonce; None to any other."""
    known = {_question(composed.text): composed.answer for composed in _all(probe, seed)}
    return lambda prompt: known.get(_question(prompt))


def _all(probe: Probe, seed: int) -> Iterator[Composed]:
    return (compose(probe, seed=seed, nonce="", index=index) for index in range(len(probe.questions)))


def _question(prompt: str) -> str:
    """Without the first line, which holds the nonce."""
    return prompt.partition("\n")[2]

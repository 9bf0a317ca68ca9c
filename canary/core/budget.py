"""What is known of one parameter that caps, sets or switches reasoning. `wire.budgets.BUDGETS` holds the rows."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType

from canary.core.observation import Json


class BudgetKind(StrEnum):
    """How a parameter can be proved: what it promises decides what may be asked of it."""

    HARD_CAP = "hard_cap"  # tokens, enforced at the sampler: an absolute limit holds in every run
    SOFT_CAP = "soft_cap"  # tokens, a target: only more or less over repeats means anything
    SWITCH = "switch"  # off means no reasoning at all
    LEVEL = "level"  # a word; only the order of the words means anything


class BudgetUnit(StrEnum):
    TOKENS = "tokens"
    SWITCH = "switch"
    LEVEL = "level"


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """`path` is the value's place in the body; `beside` are members that it needs, by path, unless the body has them.

    `minimum`: the least value in tokens that targets take or can act on. `allowance`: how many tokens more than the cap
    an obedient engine may show (forced end text, newline, speculative width, slack); `allowance_share` adds a part of
    the cap. `per_block`: each block of reasoning has the cap, not their sum. `off`: the value that asks for no
    reasoning; None = there is none. `on`: a switch's other value. `levels`: least reasoning first.
    """

    name: str
    path: tuple[str, ...]
    kind: BudgetKind
    protocols: tuple[str, ...]
    source: str
    minimum: int = 0
    allowance: int = 16
    allowance_share: float = 0.0
    per_block: bool = False
    off: str | bool | int | None = None
    on: str | bool | None = None
    levels: tuple[str, ...] = ()
    beside: Mapping[tuple[str, ...], Json] = field(default_factory=lambda: MappingProxyType({}))

    @property
    def unit(self) -> BudgetUnit:
        return _UNITS[self.kind]

    def allowed_excess(self, tokens: int) -> int:
        """E of the budget test: tokens over a cap of `tokens` that are still obedience."""
        return self.allowance + math.ceil(self.allowance_share * tokens)

    def twice(self, tokens: int) -> int:
        """2 B + E: whatever reasons beyond it has not obeyed a cap of `tokens`."""
        return 2 * tokens + self.allowed_excess(tokens)

    def switches_off(self, value: str | bool | int | None) -> bool:
        """Whether `value` asks for no reasoning; 0 is not False here."""
        return self.off is not None and type(value) is type(self.off) and value == self.off


_UNITS: Mapping[BudgetKind, BudgetUnit] = MappingProxyType(
    {
        BudgetKind.HARD_CAP: BudgetUnit.TOKENS,
        BudgetKind.SOFT_CAP: BudgetUnit.TOKENS,
        BudgetKind.SWITCH: BudgetUnit.SWITCH,
        BudgetKind.LEVEL: BudgetUnit.LEVEL,
    }
)

"""Does a parameter with a tiny budget B shorten reasoning at this hop? Status 200 says nothing: most take any key.

Two arms with the same prompt: the control without the parameter, the treatment with it; optionally a third with the
key misspelt. An error in place of the answer is the business of `budget_refusal`; caps that hold in every answer, of
`budget_cap`; what asks for no reasoning at all, of `budget_switch`. Soft caps and levels are judged by order alone
(`budget_order`), since a single pair proves nothing of them.

Counts are ranges (`reasoning_count`); only the end of the range that cannot be wrong decides.
"""

from __future__ import annotations

from dataclasses import replace

from canary.checks.budget_arms import Arms, Reading, Ruling, answers, read, unclear, verdict
from canary.checks.budget_cap import Cap
from canary.checks.budget_refusal import refusal
from canary.checks.budget_switch import off, on
from canary.core.budget import Budget, BudgetKind
from canary.core.spec import BudgetTest
from canary.core.verdict import Verdict


def judge_budget(test: BudgetTest, budget: Budget, arms: Arms, *, hop: str) -> Verdict:
    """The verdict on one parameter at one hop, from one pair of answers."""
    return verdict(test, hop, refusal(arms, budget) or _judge_answer(test, budget, arms))


def _judge_answer(test: BudgetTest, budget: Budget, arms: Arms) -> Ruling:
    control = read(arms.control, budget, arms.chars_per_token) if arms.control and answers(arms.control) else None
    arms = replace(arms, chars_per_token=arms.chars_per_token or _ratio_of(control))
    treatment = read(arms.treatment, budget, arms.chars_per_token)
    if elsewhere := _other_model(treatment, control):
        return unclear(elsewhere)
    if budget.switches_off(test.asked):
        return off(treatment, control, separates=arms.separates)
    if budget.kind is BudgetKind.SWITCH:
        return on(treatment, control)
    if budget.kind is BudgetKind.HARD_CAP and test.tokens is not None:
        return Cap(budget, test.tokens, treatment, control).ruling(arms)
    return unclear("it sets no absolute limit, so only the order of several values over repeats can be judged")


def _ratio_of(control: Reading | None) -> float | None:
    """Characters per token where the control tells both: the same question to the same model."""
    if control is None or control.count is None or not control.count.low or control.blocks != 1:
        return None
    return control.chars / control.count.low if control.count.exact else None


def _other_model(treatment: Reading, control: Reading | None) -> str | None:
    """A gateway may hide a refusal behind another model's answer."""
    head = treatment.evidence.observation.exchange.head
    fallbacks = head.headers.get("x-litellm-attempted-fallbacks", "0") if head else "0"
    if fallbacks not in ("", "0", "None"):
        return f"the gateway fell back to another model ({fallbacks} fallbacks)"
    answered = treatment.evidence.measurement.fingerprint.model
    expected = control.evidence.measurement.fingerprint.model if control else None
    if answered and expected and answered != expected:
        return f"{answered} answered with it, and {expected} without it"
    return None

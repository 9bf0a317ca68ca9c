"""The budget tests of one hop: which arms to send, when to stop each, and when a harder question is needed.

The rules of the verdict are in `checks.budget`; here is only the order of things:

1. One control per question, shared by all parameters. It is the plain answer where the probe needs that whole anyway.
2. Per parameter a treatment, and a nonsense arm if asked for. An overshoot is tried once more.
3. A parameter that is inconclusive because the model thought too little is asked again with the next harder question,
   at most three times.
4. Soft caps and levels are judged by order: two values, three times each.

A control that was stopped early has not shown whether this hop tells answers from reasoning, and without that a passed
cap proves nothing. What is expected to be honoured is asked first, since its first words show it. Where no answer has
shown it by the time a cap is passed, a short question is asked, once, with that cap: it has an end, or none that could
be an answer's. A hop that does not answer the control is not asked again: every further request would wait as long for
nothing.
"""

from __future__ import annotations

from dataclasses import replace

from canary.analysis.tokens import TokenCounts, chars_per_token
from canary.checks import judge
from canary.checks.budget import judge_budget
from canary.checks.budget_arms import Arms, Outcome, Ruling, answers, runs_on, tells_apart, verdict
from canary.checks.budget_cap import ControlLength, control_length, needs_witness
from canary.checks.budget_order import LEAST_REPEATS, Level, judge_order, needs_order, values_in_order
from canary.checks.budget_stop import ANSWERED
from canary.checks.evidence import Evidence
from canary.core.observation import ConnectFailed, DeadlineExceeded, HttpRejected, StoppedByUs
from canary.core.run import HopResult
from canary.core.spec import BudgetTest, Expectation
from canary.core.verdict import Status, Verdict
from canary.engine.arms import ask_control, ask_level, misspell, short_answer, treat, variant_name
from canary.engine.visit import Visit
from canary.wire.budgets import BUDGETS

MOST_QUESTIONS = 3
_SIDE_EFFECTS = ("visible_content", "reasoning_leak")


async def prove_budgets(visit: Visit, control: Evidence) -> list[HopResult]:
    """A result per parameter, with the last treatment as its observation. `control` answers the first question."""
    by_order = [test for test in visit.assignment.budgets if needs_order(test, BUDGETS[test.parameter])]
    pending = [test for test in visit.assignment.budgets if not needs_order(test, BUDGETS[test.parameter])]
    pending.sort(key=lambda test: test.expected_at(visit.hop.name) is not Expectation.HONOURED)
    proved: dict[str, HopResult] = {}
    for index in range(MOST_QUESTIONS):
        if index and pending:
            control = await ask_control(visit, pending, index=index)
        visit = _wiser(visit, control)
        for test in tuple(pending):
            result, visit = await _prove(visit, test, control, index=index)
            proved[result.variant] = result
            if not _wants_harder(result.verdicts[0], test, control, visit):
                pending.remove(test)
    for test in by_order:
        result = await _prove_order(visit, test, control)
        proved[result.variant] = result
    for result in proved.values():
        visit.occasion.watch(result)
    return list(proved.values())


async def _prove(visit: Visit, test: BudgetTest, control: Evidence, *, index: int) -> tuple[HopResult, Visit]:
    """The result, and what is known of the hop by then."""
    budget = BUDGETS[test.parameter]
    if _gave_nothing(control):
        return _not_asked(visit, test, control), visit
    nonsense = await misspell(visit, test, budget, index=index) if test.nonsense else None
    visit = _aware(visit, nonsense) if nonsense else visit
    for attempt in range(2):
        treatment = await treat(visit, test, budget, index=index, again=bool(attempt))
        visit = await _witnessed(visit, test, treatment)
        arms = Arms(
            treatment=treatment,
            control=control,
            nonsense=nonsense,
            chars_per_token=visit.chars_per_token,
            separates=visit.separates,
        )
        found = judge_budget(test, budget, arms, hop=visit.hop.name)
        if found.reason != Outcome.OVERSHOOT:
            break
    return _result(visit, test, treatment, found), visit


async def _witnessed(visit: Visit, test: BudgetTest, treatment: Evidence) -> Visit:
    """With whether this hop tells answers from reasoning, where that is to be known."""
    if tells_apart(treatment):
        return replace(visit, separates=True)
    budget, known = BUDGETS[test.parameter], visit.separates is not None
    if known or not needs_witness(test, budget, treatment, visit.chars_per_token):
        return visit
    witness = await short_answer(visit, test, budget)
    return replace(visit, separates=bool(tells_apart(witness)) or runs_on(witness))


async def _prove_order(visit: Visit, test: BudgetTest, control: Evidence) -> HopResult:
    budget = BUDGETS[test.parameter]
    levels, last = [], control
    if _gave_nothing(control):
        return _not_asked(visit, test, control)
    for value in values_in_order(test, budget):
        repeats = [await ask_level(visit, test, value, repeat=number + 1) for number in range(LEAST_REPEATS)]
        levels.append(Level(value=str(value), repeats=tuple(repeats)))
        last = repeats[-1]
    found = judge_order(test, budget, levels, hop=visit.hop.name, control=control)
    return _result(visit, test, last, found)


def _gave_nothing(control: Evidence) -> bool:
    """Not even the beginning of an answer; one that broke off in the middle may have a shorter one beside it."""
    end = control.measurement.end
    return isinstance(end, ConnectFailed | DeadlineExceeded | HttpRejected) and not answers(control)


def _not_asked(visit: Visit, test: BudgetTest, control: Evidence) -> HopResult:
    because = "not asked, since the request without it got no usable answer"
    return _result(
        visit, test, control, verdict(test, visit.hop.name, Ruling(outcome=Outcome.INCONCLUSIVE, because=because))
    )


def _wiser(visit: Visit, control: Evidence) -> Visit:
    """With what this hop's own control teaches: characters per token, and whether it tells answers from reasoning."""
    counts = TokenCounts(reasoning=control.measurement.reasoning_tokens)
    learned = chars_per_token(counts, control.measurement.reasoning_chars)
    return replace(_aware(visit, control), chars_per_token=learned or visit.chars_per_token)


def _aware(visit: Visit, answer: Evidence) -> Visit:
    """With whether this hop tells answers from reasoning, as an answer without the parameter shows it; yes is yes."""
    shown = tells_apart(answer)
    return visit if shown is None or visit.separates else replace(visit, separates=shown)


def _wants_harder(found: Verdict, test: BudgetTest, control: Evidence, visit: Visit) -> bool:
    if found.reason not in (Outcome.INCONCLUSIVE, Outcome.NO_REASONING) or test.tokens is None:
        return False
    length = control_length(BUDGETS[test.parameter], test.tokens, control, visit.chars_per_token)
    return length is ControlLength.TOO_SHORT


def _result(visit: Visit, test: BudgetTest, treatment: Evidence, found: Verdict) -> HopResult:
    """The side effects of a cap that acts are verdicts of their own: nothing visible, a stray mark in the content.

    So is an answer that came to its end with nothing visible, whatever the cap did. Only where it is expected to act:
    elsewhere arms are stopped before they could show that this is over.
    """
    acts = found.reason in (Outcome.HONOURED, Outcome.OVERSHOOT)
    hoped = test.expected_at(visit.hop.name) is Expectation.HONOURED
    effects = judge(treatment, only=_SIDE_EFFECTS) if acts or (hoped and _mute(treatment)) else ()
    told = (_of_first_words(effect, treatment) for effect in effects)
    return HopResult(
        hop=visit.hop.name,
        variant=variant_name(test),
        observation=treatment.observation,
        measurement=treatment.measurement,
        verdicts=(found, *(effect for effect in told if effect.status is not Status.UNKNOWN)),
        load=treatment.load,
    )


def _mute(treatment: Evidence) -> bool:
    """Nothing visible, and it was not the little room that we gave it."""
    (seen,) = judge(treatment, only=("visible_content",))
    return seen.status is Status.FAIL and seen.reason != "budget_exhausted"


def _of_first_words(effect: Verdict, treatment: Evidence) -> Verdict:
    """Side effects show in the first words of the answer: an arm that we stopped after those has none."""
    end = treatment.measurement.end
    if effect.status is not Status.UNKNOWN or not isinstance(end, StoppedByUs) or not end.reason.startswith(ANSWERED):
        return effect
    return replace(effect, status=Status.PASS, reason="clean", message=f"nothing before we stopped ({end.reason})")

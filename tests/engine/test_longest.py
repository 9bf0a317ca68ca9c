"""How long a run may take at the most."""

from dataclasses import replace

import pytest

from canary.core.spec import Assignment, BudgetTest, Hop, Pipeline, Probe, QuestionTemplate
from canary.engine.longest import longest_s

ASK = Assignment(probe=Probe(name="ask", summary="", questions=(QuestionTemplate(text="?"),)), deadline_s=100.0)
HOPS = (Hop(name="browser"), Hop(name="edge", url="http://e/"), Hop(name="vllm", url="http://v/"))


@pytest.mark.parametrize(
    ("budgets", "requests"),
    [
        pytest.param((), 1, id="plain"),
        pytest.param((BudgetTest(parameter="thinking_token_budget", tokens=64),), 3 + 6, id="a cap"),
        pytest.param((BudgetTest(parameter="thinking_token_budget", tokens=64, nonsense=True),), 3 + 9, id="misspelt"),
        pytest.param((BudgetTest(parameter="reasoning_effort", value="low"),), 1 + 6, id="levels"),
    ],
)
def test_every_request_may_take_its_whole_deadline(budgets, requests):
    pipeline = Pipeline(name="p", hops=HOPS)
    assert longest_s(pipeline, replace(ASK, budgets=budgets)) >= 2 * requests * 100.0

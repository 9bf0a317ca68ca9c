"""Which ends are ours: what had not come by then might have."""

from dataclasses import replace

import pytest

from canary.analysis.remember import ended_by_us, never_visible, values_of
from canary.core.observation import Interrupted, StoppedByUs
from canary.core.run import CONTROL, PLAIN
from tests.fakes.stored import result_of

NOTHING_VISIBLE = "vllm-chat-ignored"


@pytest.mark.parametrize(
    ("variant", "ours"),
    [
        pytest.param(PLAIN, False, id="the cap of the probe, which people have too"),
        pytest.param(CONTROL, False, id="a control has the room of its probe"),
        pytest.param("thinking_token_budget=32", True, id="the little room of an arm"),
    ],
)
def test_an_answer_that_our_own_cap_cut_is_not_called_invisible(variant, ours):
    result = replace(result_of(NOTHING_VISIBLE), variant=variant)
    assert result.measurement.finish_reason == "length"
    assert result.measurement.time_to_first_visible_content_s is None
    assert ended_by_us(result.measurement, variant) is ours
    values = values_of(result.measurement, variant)
    assert ("zero_visible" in values, "total_s" in values, never_visible([result])) == (
        not ours,
        not ours,
        int(not ours),
    )


@pytest.mark.parametrize("end", [StoppedByUs(at=9.0, reason="answered"), Interrupted(at=9.0)])
def test_what_we_broke_off_is_ours_in_every_variant(end):
    measurement = replace(result_of(NOTHING_VISIBLE).measurement, end=end)
    assert ended_by_us(measurement, PLAIN)
    assert ended_by_us(measurement, "thinking_token_budget=32")

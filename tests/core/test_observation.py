from datetime import UTC, datetime

import pytest

from canary.core.observation import Completed, Exchange


@pytest.mark.parametrize(
    ("request_body", "asked"),
    [
        pytest.param({"model": "m", "stream": True}, {"model": "m", "stream": True}, id="an object"),
        pytest.param([{"model": "m"}], {}, id="a list"),
        pytest.param("model", {}, id="a text"),
        pytest.param(None, {}, id="nothing was recorded"),
    ],
)
def test_of_a_request_that_is_no_object_nothing_is_known(request_body, asked):
    exchange = Exchange(
        protocol="openai-chat",
        url="http://127.0.0.1/",
        started_at=datetime(2026, 1, 1, tzinfo=UTC),
        request=request_body,
        end=Completed(at=1.0),
    )
    assert exchange.asked == asked

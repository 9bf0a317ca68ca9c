from dataclasses import replace

import pytest

from canary.core.notification import Reason, Rejected, RetryLater, Sent
from canary.core.route import Receiver
from canary.core.secret import Secret
from canary.notify import deliver, notify_test
from canary.notify.kind import Beside
from canary.notify.statuspage import StatuspageOptions
from tests.fakes.boards import DOWN, SLOW, UNFELT, page_of
from tests.fakes.messages import NOW, notification
from tests.fakes.statuspage_server import KEY, PAGE, StatuspageServer

MAPPED = {"chat": "group", "chat/edge": "cedge", "chat/vllm": "cvllm", "other": "cother"}


@pytest.fixture
async def statuspage():
    async with StatuspageServer("group", "cedge", "cvllm", "cother").running() as server:
        yield server


def about(reason=Reason.OPENED, pipelines=("chat",)):
    sent = notification(reason)
    return replace(sent, message=replace(sent.message, pipelines=pipelines))


@pytest.fixture
def tell(statuspage, session):
    async def send(sent=None, *, key=KEY, page=PAGE, components=MAPPED, now=()):
        options = StatuspageOptions(api_key=Secret(key), page_id=page, components=components, url=statuspage.url)
        receiver = Receiver(name="page", kind="statuspage", options=options)
        beside = Beside(pages=tuple(page_of(each, page_id=each.id) for each in now), incidents=tuple(now))
        return await deliver(receiver, sent or about(), session=session, now=NOW, beside=beside)

    return send


def called(name, made):
    return replace(made, id=name)


@pytest.mark.parametrize(
    ("now", "expected"),
    [
        pytest.param([DOWN], ("major_outage",) * 3, id="down"),
        pytest.param([SLOW], ("partial_outage",) * 3, id="slow"),
        pytest.param([UNFELT], ("degraded_performance", "operational", "degraded_performance"), id="not felt"),
        pytest.param([], ("operational",) * 3, id="over"),
        pytest.param([called("a", SLOW), called("b", UNFELT)], ("partial_outage",) * 3, id="the worst of two"),
    ],
)
async def test_components_are_as_all_open_pages_say(statuspage, tell, now, expected):
    assert await tell(now=now) == Sent()
    assert tuple(statuspage.components[name] for name in ("group", "cedge", "cvllm")) == expected
    assert "cother" not in dict(statuspage.set)


async def test_one_page_is_over_and_another_is_not(statuspage, tell):
    """A resolution must not paint green what still fails."""
    await tell(now=[called("a", DOWN), called("b", SLOW)])
    await tell(about(Reason.RESOLVED), now=[called("b", SLOW)])
    assert statuspage.components["group"] == "partial_outage"
    await tell(about(Reason.RESOLVED), now=[])
    assert set(statuspage.components.values()) == {"operational"}


async def test_a_message_that_comes_late_tells_what_is(statuspage, tell):
    await tell(about(Reason.OPENED), now=[])
    assert set(statuspage.components.values()) == {"operational"}


async def test_a_pipeline_that_is_not_mapped(statuspage, tell):
    assert await tell(about(pipelines=("nobody",)), now=[DOWN]) == Sent()
    assert statuspage.set == []


async def test_twice_is_no_harm(statuspage, tell):
    assert [await tell(now=[DOWN]), await tell(now=[DOWN])] == [Sent(), Sent()]
    assert statuspage.components["group"] == "major_outage"


@pytest.mark.parametrize(
    ("given", "expected", "said"),
    [
        pytest.param({"key": "another-key-0123456789"}, Rejected, "the API key is not taken", id="401"),
        pytest.param({"page": "nothing"}, Rejected, "HTTP 404", id="404, the page"),
        pytest.param({"components": {"chat": "nothing"}}, Rejected, "Component not found", id="404, a component"),
        pytest.param({"components": {"chat": "../../x"}}, Rejected, "HTTP 404", id="an id that leaves its place"),
    ],
)
async def test_what_it_refuses(tell, given, expected, said):
    outcome = await tell(now=[DOWN], **given)
    assert isinstance(outcome, expected)
    assert said in outcome.why


async def test_beyond_its_rate_the_rest_waits(statuspage, tell):
    statuspage.rate = 2
    outcome = await tell(now=[DOWN])
    assert isinstance(outcome, RetryLater)
    assert outcome.after_s == 60.0
    assert len(statuspage.set) == 2
    statuspage.rate = 60
    assert await tell(now=[DOWN]) == Sent()
    assert statuspage.components["cvllm"] == "major_outage"


@pytest.mark.parametrize(("key", "expected"), [(KEY, Sent), ("another-key-0123456789", Rejected)])
async def test_a_test_shows_nothing_to_anybody(statuspage, session, key, expected):
    options = StatuspageOptions(api_key=Secret(key), page_id=PAGE, components=MAPPED, url=statuspage.url)
    receiver = Receiver(name="page", kind="statuspage", options=options)
    assert isinstance(await notify_test(receiver, session=session, now=NOW), expected)
    assert statuspage.set == []

import pytest

from canary.core.notification import Rejected, Sent
from canary.core.route import Receiver
from canary.core.secret import Secret
from canary.notify import deliver
from canary.notify.slack_webhook import SlackWebhookOptions
from tests.fakes.llm_server import Cut, LlmServer, whole
from tests.fakes.messages import NOW, notification


def answer(status, body):
    return [(0.0, whole(body, status, connection="close")), (0.0, Cut.FIN)]


async def told(session, *answers):
    left = [answer(*each) for each in answers]
    async with LlmServer(lambda _: left.pop(0)) as server:
        options = SlackWebhookOptions(url=Secret(f"{server.url}/services/T0/B0/secret0secret"))
        receiver = Receiver(name="on-call", kind="slack_webhook", options=options)
        outcome = await deliver(receiver, notification(), session=session, now=NOW)
    return outcome, [request.json for request in server.requests]


async def test_a_page_is_blocks_and_text(session):
    outcome, (body,) = await told(session, (200, b"ok"))
    assert outcome == Sent()
    assert set(body) == {"text", "blocks", "unfurl_links", "unfurl_media"}


@pytest.mark.parametrize("error", [b"invalid_blocks", b"invalid_payload", b"msg_blocks_too_long"])
async def test_a_page_is_not_lost_for_its_looks(session, error):
    outcome, (_, plain) = await told(session, (400, error), (200, b"ok"))
    assert outcome == Sent()
    assert set(plain) == {"text", "unfurl_links", "unfurl_media"}
    assert "edge/nginx would cut the stream of agent" in plain["text"]


@pytest.mark.parametrize(
    ("status", "error"), [(403, b"action_prohibited"), (404, b"no_team"), (410, b"channel_is_archived")]
)
async def test_what_no_look_would_mend_is_rejected_at_once(session, status, error):
    outcome, bodies = await told(session, (status, error))
    assert outcome == Rejected(why=f"HTTP {status}: {error.decode()}")
    assert len(bodies) == 1

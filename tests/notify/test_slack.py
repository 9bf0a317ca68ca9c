import json
from dataclasses import replace

import pytest

from canary.core.notification import Reason, Rejected, RetryLater, Sent
from canary.core.route import Receiver
from canary.core.secret import Secret
from canary.notify import deliver
from canary.notify.kind import Beside
from canary.notify.slack import SlackOptions, classify
from canary.notify.slack_blocks import FORM_REFUSED
from tests.fakes.messages import NOW, TOLD, hostile, notification
from tests.fakes.runs import drawn_run
from tests.fakes.slack_server import TOKEN, SlackServer, mentions


@pytest.fixture
async def slack():
    async with SlackServer().running() as server:
        yield server


@pytest.fixture
def tell(slack, session):
    async def send(sent, *, token=TOKEN, channel="#llm-oncall", run=None, **more):
        options = SlackOptions(token=Secret(token), channel=channel, api_url=slack.api_url, timeout_s=2.0)
        receiver = Receiver(name="on-call", kind="slack", options=options)
        return await deliver(receiver, sent, session=session, now=NOW, beside=Beside(run=run), **more)

    return send


async def test_a_page_is_one_message_with_its_history_in_the_thread(slack, tell):
    handle, story = None, [reason for reason in TOLD if reason is not Reason.TEST]
    for reason in story:
        outcome = await tell(notification(reason), handle=handle)
        assert isinstance(outcome, Sent), outcome
        handle = outcome.handle
    (root,) = slack.posted
    assert [each.body["metadata"]["event_payload"]["reason"] for each in root.thread] == [
        reason for reason in story[1:] if reason is not Reason.CHANGED
    ]
    assert root.now["blocks"][0]["text"]["text"].startswith("\N{WHITE HEAVY CHECK MARK} [RESOLVED after 12 min 5 s]")
    assert root.channel == "C0ONCALL"


@pytest.mark.parametrize("reason", [Reason.OPENED, Reason.FLAPPING, Reason.ESCALATED])
async def test_a_page_that_opens_again_is_a_new_message(slack, tell, reason):
    """An edit of what was over would be seen by nobody: it stands where people have scrolled past."""
    first = await tell(notification())
    over = await tell(notification(Reason.RESOLVED), handle=first.handle)
    again = await tell(notification(reason), handle=over.handle)
    await tell(notification(Reason.REMINDER), handle=again.handle)
    old, new = slack.posted
    assert old.now["metadata"]["event_payload"]["reason"] == Reason.RESOLVED
    assert [each.body["metadata"]["event_payload"]["reason"] for each in old.thread] == [Reason.RESOLVED]
    assert new.body["metadata"]["event_payload"]["reason"] == reason
    assert [each.body["metadata"]["event_payload"]["reason"] for each in new.thread] == [Reason.REMINDER]


async def test_a_handle_from_before_it_said_how_it_ended(slack, tell):
    handle = (await tell(notification())).handle
    older = json.loads(handle.removeprefix("slack "))
    del older["over"]
    await tell(notification(Reason.WORSE), handle=f"slack {json.dumps(older)}")
    assert len(slack.posted) == 1


async def test_fifty_edits_are_one_message(slack, tell):
    handle = first = (await tell(notification())).handle
    for _ in range(50):
        handle = (await tell(notification(Reason.REMINDER), handle=handle)).handle
    (root,) = slack.posted
    assert handle == first
    assert (len(root.edits), len(root.thread)) == (50, 50)


async def test_what_must_be_seen_now_is_in_the_channel_too(slack, tell):
    handle = (await tell(notification())).handle
    for reason in TOLD:
        await tell(notification(reason), handle=handle)
    shown = {
        each.body["metadata"]["event_payload"]["reason"]: each.body["reply_broadcast"]
        for each in slack.posted[0].thread
    }
    assert {reason for reason, broadcast in shown.items() if not broadcast} == {Reason.BETTER, Reason.ACKNOWLEDGED}


async def test_another_reason_is_an_edit_and_nothing_else(slack, tell):
    handle = (await tell(notification())).handle
    outcome = await tell(notification(Reason.CHANGED, cause="404: model not found"), handle=handle)
    (root,) = slack.posted
    assert isinstance(outcome, Sent)
    assert outcome.handle == handle
    assert (len(root.edits), root.thread) == (1, [])
    assert "404: model not found" in str(root.now["blocks"])
    assert "[CHANGED, still CRITICAL]" in str(root.now["blocks"])


async def test_the_same_notification_has_the_same_identity(slack, tell):
    await tell(notification())
    await tell(notification())
    await tell(notification(page="p2"))
    first, second, other = slack.posted
    assert first.body["client_msg_id"] == second.body["client_msg_id"] != other.body["client_msg_id"]
    assert first.body["metadata"]["event_payload"]["id"] == "p1-on-call-opened"


async def test_a_lost_reply_is_tried_again(slack, tell):
    """It was taken: the second message can be told to be the first by its identity."""
    slack.lost = 1
    assert isinstance(await tell(notification()), RetryLater)
    assert isinstance(await tell(notification()), Sent)
    assert len({each.body["client_msg_id"] for each in slack.posted}) == 1


async def test_a_message_that_is_gone_is_posted_anew(slack, tell):
    handle = (await tell(notification())).handle
    slack.posted.clear()
    outcome = await tell(notification(Reason.WORSE), handle=handle)
    assert isinstance(outcome, Sent)
    assert outcome.handle != handle
    assert len(slack.posted) == 1


NO_LONGER = ["channel_not_found", "is_archived", "not_in_channel", "edit_window_closed", "cant_update_message"]
NO_THREADS = ["restricted_action_non_threadable_channel", "restricted_action_thread_locked", "cannot_reply_to_message"]


def refusal(error):
    return 200, json.dumps({"ok": False, "error": error}), {"Content-Type": "application/json"}


@pytest.mark.parametrize("error", NO_LONGER)
async def test_what_cannot_be_edited_is_posted_anew(slack, tell, error):
    """A channel that was made anew under its old name has another id."""
    handle = (await tell(notification())).handle
    slack.answers.append(refusal(error))
    outcome = await tell(notification(Reason.WORSE), handle=handle)
    assert isinstance(outcome, Sent)
    assert outcome.handle != handle
    assert [each.body["metadata"]["event_payload"]["reason"] for each in slack.posted] == ["opened", "worse"]


@pytest.mark.parametrize("error", NO_THREADS)
async def test_where_threads_are_not_allowed_each_change_is_a_message(slack, tell, error):
    """An edit notifies nobody: without the reply nobody would see that it got worse."""
    handle = (await tell(notification())).handle
    slack.answers += [None, refusal(error)]
    assert isinstance(await tell(notification(Reason.WORSE), handle=handle), Sent)
    assert [each.body["metadata"]["event_payload"]["reason"] for each in slack.posted] == ["opened", "worse"]


@pytest.mark.parametrize("error", sorted(FORM_REFUSED))
@pytest.mark.parametrize("reason", [Reason.OPENED, Reason.WORSE])
async def test_a_page_is_not_lost_for_its_looks(slack, tell, error, reason):
    handle = None if reason is Reason.OPENED else (await tell(notification())).handle
    slack.answers += [refusal(error)] * (1 if handle is None else 2)
    outcome = await tell(notification(reason), handle=handle)
    assert isinstance(outcome, Sent)
    assert outcome.note == f"as plain text, since {error}"
    assert set(slack.posted[-1].body) == {"channel", "text", "client_msg_id", "unfurl_links", "unfurl_media"}
    assert "edge/nginx would cut the stream of agent" in slack.posted[-1].body["text"]


async def test_looks_and_text_that_are_both_refused_are_rejected(slack, tell):
    slack.answers += [refusal("invalid_blocks"), refusal("invalid_arguments")]
    assert await tell(notification()) == Rejected(why="invalid_arguments")


async def test_a_channel_that_the_config_changed_gets_a_message_of_its_own(slack, tell):
    handle = (await tell(notification(), channel="#llm-oncall")).handle
    outcome = await tell(notification(Reason.WORSE), channel="C0ONCALL", handle=handle)
    assert json.loads(outcome.handle.removeprefix("slack "))["asked"] == "C0ONCALL"
    assert len(slack.posted) == 2


async def test_a_failed_reply_is_made_good_by_the_next_attempt(slack, tell):
    handle = (await tell(notification())).handle
    slack.answers += [None, (503, "", {})]
    assert isinstance(await tell(notification(Reason.WORSE), handle=handle), RetryLater)
    assert isinstance(await tell(notification(Reason.WORSE), handle=handle), Sent)
    assert len(slack.posted[0].thread) == 1


@pytest.mark.parametrize(
    ("change", "why"),
    [
        pytest.param({"channel": "#nowhere"}, "channel_not_found", id="no such channel"),
        pytest.param({"channel": "#archived"}, "is_archived", id="archived"),
        pytest.param({"channel": "#private"}, "not_in_channel", id="not in the channel"),
        pytest.param({"channel": "#locked"}, "restricted_action", id="not allowed to post"),
        pytest.param({"token": "xoxb-wrong-token"}, "invalid_auth", id="wrong token"),
    ],
)
async def test_what_only_a_person_can_put_right_is_rejected(tell, change, why):
    assert await tell(notification(), **change) == Rejected(why=why)


@pytest.mark.parametrize(
    ("status", "body", "expected"),
    [
        pytest.param(200, '{"ok":false,"error":"token_revoked"}', Rejected(why="token_revoked"), id="token revoked"),
        pytest.param(200, '{"ok":false,"error":"account_inactive"}', Rejected(why="account_inactive"), id="inactive"),
        pytest.param(200, '{"ok":false,"error":"internal_error"}', RetryLater(why="internal_error"), id="internal"),
        pytest.param(
            429, '{"ok":false,"error":"ratelimited"}', RetryLater(why="ratelimited", after_s=7.0), id="rate limit"
        ),
        pytest.param(
            200, '{"ok":false,"error":"ratelimited"}', RetryLater(why="ratelimited", after_s=7.0), id="limit as 200"
        ),
        pytest.param(503, "", RetryLater(why="HTTP 503", after_s=7.0), id="503"),
        pytest.param(200, "<html>log in</html>", RetryLater(why="HTTP 200", after_s=7.0), id="a captive portal"),
        pytest.param(200, "[1]", RetryLater(why="the answer is not Slack's"), id="a list"),
        pytest.param(200, '"yes"', RetryLater(why="the answer is not Slack's"), id="a text"),
        pytest.param(200, "[" * 100_000, RetryLater(why="the answer is not Slack's"), id="nested too deeply"),
        pytest.param(200, "9" * 5000, RetryLater(why="the answer is not Slack's"), id="a number without an end"),
        pytest.param(200, "{", RetryLater(why="HTTP 200", after_s=7.0), id="half an object"),
        pytest.param(200, "null", RetryLater(why="HTTP 200", after_s=7.0), id="null"),
    ],
)
async def test_what_slack_says(slack, tell, status, body, expected):
    slack.answers.append((status, body, {"Content-Type": "application/json", "Retry-After": "7"}))
    outcome = await tell(notification())
    if isinstance(expected, RetryLater) and expected.after_s is None:
        outcome = replace(outcome, after_s=None)
    assert outcome == expected


TIME_HEALS = """accesslimited external_channel_migrating fatal_error internal_error message_limit_exceeded
    org_login_required rate_limited ratelimited request_timeout rollup_error service_unavailable team_added_to_org
    update_failed"""
A_PERSON_HEALS = """access_denied account_inactive as_user_not_supported attachment_payload_limit_exceeded
    block_mismatch cannot_reply_to_message cant_broadcast_message cant_update_message channel_not_found
    deprecated_endpoint duplicate_channel_not_found duplicate_message_not_found edit_window_closed ekm_access_denied
    enterprise_is_restricted invalid_arg_name invalid_arguments invalid_array_arg invalid_attachments invalid_auth
    invalid_blocks invalid_blocks_format invalid_charset invalid_form_data invalid_metadata_format
    invalid_metadata_schema invalid_post_type is_archived is_bot is_inactive message_not_found messages_tab_disabled
    metadata_must_be_sent_from_app metadata_too_large method_deprecated missing_post_type missing_scope
    msg_blocks_too_long msg_too_long no_permission no_text not_allowed_token_type not_authed not_in_channel
    restricted_action restricted_action_non_threadable_channel restricted_action_read_only_channel
    restricted_action_thread_locked restricted_action_thread_only_channel slack_connect_file_link_sharing_blocked
    team_access_not_granted team_not_found token_expired token_revoked too_many_attachments too_many_contact_cards
    two_factor_setup_required"""


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        *((error, RetryLater) for error in TIME_HEALS.split()),
        *((error, Rejected) for error in A_PERSON_HEALS.split()),
    ],
)
def test_every_documented_error(error, kind):
    """https://docs.slack.dev/reference/methods/chat.postMessage and chat.update"""
    assert isinstance(classify(200, error, {}), kind)


def test_an_error_that_nobody_knows_is_rejected():
    """Retried for a day it would be heard of a day late."""
    assert classify(200, "brand_new_error", {}) == Rejected(why="brand_new_error")


async def test_the_picture_is_in_the_thread(slack, tell):
    outcome = await tell(notification(), run=drawn_run())
    assert outcome.note == ""
    (root,) = slack.posted
    assert [each[:8] for each in root.files] == [b"\x89PNG\r\n\x1a\n"]


async def test_no_second_picture_for_a_change(slack, tell):
    handle = (await tell(notification(), run=drawn_run())).handle
    await tell(notification(Reason.REMINDER), run=drawn_run(), handle=handle)
    assert len(slack.posted[0].files) == 1


async def test_a_page_is_told_without_its_picture(slack, tell):
    slack.scopes.remove("files:write")
    outcome = await tell(notification(), run=drawn_run())
    assert isinstance(outcome, Sent)
    assert outcome.note == "the picture was not attached: missing_scope"


async def test_an_upload_that_fails_is_no_failure(slack, tell):
    slack.full = True
    outcome = await tell(notification(), run=drawn_run())
    assert isinstance(outcome, Sent)
    assert outcome.note == "the picture was not attached: the file could not be uploaded"


async def test_content_is_in_the_thread_only(slack, tell):
    await tell(notification(content="the prompt ``` <!here>"))
    (root,) = slack.posted
    assert "the prompt" not in json.dumps(root.body)
    assert root.thread[0].body["blocks"][0]["text"]["text"] == "```the prompt ''' &lt;!here&gt;```"


@pytest.mark.parametrize("reason", [Reason.OPENED, Reason.RESOLVED])
async def test_hostile_text_is_taken_and_does_nothing(slack, tell, reason):
    handle = (await tell(hostile(times=300, items=60))).handle
    outcome = await tell(hostile(reason, times=300, items=60), handle=handle)
    assert isinstance(outcome, Sent), outcome
    (root,) = slack.posted
    assert [mentions(each) for each in (root.body, root.now, root.thread[-1].body)] == [[], [], []]

import base64
import json
from datetime import timedelta
from importlib.resources import files

import jsonschema
import pytest

from canary.core.notification import Reason, Rejected, Sent
from canary.core.route import Receiver
from canary.core.secret import Secret
from canary.notify import deliver
from canary.notify.webhook import WebhookOptions, signature
from tests.fakes.messages import NOW, TOLD, hostile, notification
from tests.fakes.webhook_receiver import SECRET, WebhookReceiver

SCHEMA = json.loads(files("canary.notify").joinpath("webhook.schema.json").read_text(encoding="utf-8"))


@pytest.fixture
async def hook():
    async with WebhookReceiver(now=NOW).running() as server:
        yield server


@pytest.fixture
def tell(hook, session):
    async def send(sent, *, secret=SECRET, now=NOW, headers=()):
        options = WebhookOptions(url=Secret(hook.url), secret=secret and Secret(secret), headers=dict(headers))
        receiver = Receiver(name="hook", kind="webhook", options=options)
        return await deliver(receiver, sent, session=session, now=now)

    return send


def test_the_schema_is_one():
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    assert SCHEMA["properties"]["data"]["properties"]["reason"]["enum"] == [reason.value for reason in TOLD]


@pytest.mark.parametrize("reason", TOLD)
@pytest.mark.parametrize("bad", [False, True], ids=["ordinary", "hostile"])
async def test_it_is_what_the_schema_says(hook, tell, reason, bad):
    sent = hostile(reason, times=300, items=60) if bad else notification(reason)
    assert await tell(sent) == Sent()
    (body,) = hook.taken.values()
    jsonschema.Draft202012Validator(SCHEMA).validate(body)
    assert body["type"] == f"page.{reason.value}"


async def test_a_retry_is_signed_anew_and_taken_once(hook, tell):
    hook.now = NOW + timedelta(hours=2)
    assert isinstance(await tell(notification()), Rejected)  # an old message that somebody plays again
    assert await tell(notification(), now=hook.now) == Sent()
    assert await tell(notification(), now=hook.now) == Sent()
    assert list(hook.taken) == ["p1-on-call-opened"]


@pytest.mark.parametrize(
    ("secret", "key"),
    [
        pytest.param("whsec_" + base64.b64encode(b"k" * 24).decode(), b"k" * 24, id="Standard Webhooks"),
        pytest.param("a plain secret", b"a plain secret", id="plain"),
        pytest.param("whsec_not base64!", b"whsec_not base64!", id="looks like one and is none"),
    ],
)
async def test_secrets(hook, tell, secret, key):
    hook.key = key
    assert await tell(notification(), secret=secret) == Sent()


@pytest.mark.parametrize("secret", [None, "wrong"], ids=["unsigned", "wrong secret"])
async def test_a_careful_receiver_refuses(tell, secret):
    assert await tell(notification(), secret=secret) == Rejected(why="HTTP 401: bad signature")


async def test_custom_headers(hook, tell):
    await tell(notification(), headers={"X-Key": Secret("k3y"), "X-Plain": "p"})
    assert (hook.headers[0]["X-Key"], hook.headers[0]["X-Plain"]) == ("k3y", "p")


async def test_custom_headers_do_not_replace_the_signature(tell):
    assert await tell(notification(), headers={"webhook-signature": "v1,bm8="}) == Sent()


def test_a_known_signature():
    """The example of the Standard Webhooks documentation's libraries."""
    key = Secret("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
    signed = signature(b'{"test": 2432232314}', key=key, identity="msg_p5jXN8AQM9LWM0D4loKWxJek", timestamp=1614265330)
    assert signed == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


def test_the_reason_for_silence_is_no_type_of_ours():
    assert Reason.SILENCED.value not in SCHEMA["properties"]["data"]["properties"]["reason"]["enum"]

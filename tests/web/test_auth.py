import base64

import pytest

from canary.core.secret import Secret
from canary.core.service import Listen
from canary.web.auth import cross_site, foreign_host, missing_token, user_of

LOOPBACK = Listen()
ROUTABLE = Listen(host="0.0.0.0", token=Secret("correct-horse"))


def basic(text):
    return "Basic " + base64.b64encode(text.encode("utf-8", "surrogateescape")).decode()


def test_an_empty_token_is_no_token():
    assert missing_token("Bearer ", Listen(host="0.0.0.0"), Secret("")) is not None


@pytest.mark.parametrize(
    ("authorization", "in_"),
    [
        pytest.param("Bearer correct-horse", True, id="bearer"),
        pytest.param("bearer  correct-horse ", True, id="bearer, other case and spaces"),
        pytest.param(basic("anna:correct-horse"), True, id="basic"),
        pytest.param(basic(":correct-horse"), True, id="basic without a user"),
        pytest.param("", False, id="nothing"),
        pytest.param("Bearer", False, id="bearer of nothing"),
        pytest.param("Bearer correct-hors", False, id="a part"),
        pytest.param("Bearer correct-horse2", False, id="more"),
        pytest.param("Bearer CORRECT-HORSE", False, id="another case"),
        pytest.param("Bearer *" + "**", False, id="how the secret prints"),
        pytest.param("Bearer ü\udcff", False, id="beyond ASCII"),
        pytest.param("Token correct-horse", False, id="another scheme"),
        pytest.param("correct-horse", False, id="no scheme"),
        pytest.param(basic("correct-horse"), False, id="basic without a colon"),
        pytest.param(basic("correct-horse:"), False, id="the token as user"),
        pytest.param("Basic !!!", False, id="basic, no base64"),
        pytest.param("Basic " + base64.b64encode(b"\xff:\xff").decode(), False, id="basic, no UTF-8"),
    ],
)
@pytest.mark.parametrize("listen", [LOOPBACK, ROUTABLE], ids=["loopback", "routable"])
def test_a_token_where_one_is_set(authorization, in_, listen):
    assert (missing_token(authorization, listen, Secret("correct-horse")) is None) is in_


def test_without_a_token_only_loopback_is_open():
    assert missing_token("", LOOPBACK, None) is None
    assert missing_token("Bearer x", ROUTABLE, None) is not None  # a reload took the token away


@pytest.mark.parametrize(
    ("fetch_site", "origin", "public_url", "refused"),
    [
        pytest.param("", "", None, False, id="no browser"),
        pytest.param("same-origin", "http://localhost:9469", None, False, id="our own page"),
        pytest.param("none", "", None, False, id="typed by a person"),
        pytest.param("cross-site", "https://evil.example", None, True, id="another site"),
        pytest.param("same-site", "http://localhost:3000", None, True, id="another port of this host"),
        pytest.param("cross-site", "", None, True, id="another site that hides its origin"),
        pytest.param("", "http://localhost:9469", None, False, id="old browser, our page"),
        pytest.param("", "HTTP://LOCALHOST:9469", None, False, id="old browser, our page, loud"),
        pytest.param("", "https://evil.example", None, True, id="old browser, another site"),
        pytest.param("", "http://localhost:3000", None, True, id="old browser, another port"),
        pytest.param("", "null", None, True, id="old browser, a sandboxed page"),
        pytest.param("", "http://[", None, True, id="no URL"),
        pytest.param("", "https://canary.example", "https://canary.example/", False, id="behind a proxy"),
        pytest.param("", "null", "", True, id="an empty public URL"),
    ],
)
def test_a_page_elsewhere_cannot_act(fetch_site, origin, public_url, refused):
    assert (cross_site(fetch_site, origin, "localhost:9469", public_url) is not None) is refused


@pytest.mark.parametrize(
    ("host", "refused"),
    [
        pytest.param("localhost:9469", False, id="localhost"),
        pytest.param("127.0.0.1:9469", False, id="v4"),
        pytest.param("[::1]:9469", False, id="v6"),
        pytest.param("localhost:8080", False, id="through a tunnel"),
        pytest.param("canary.example", False, id="the public name"),
        pytest.param("", False, id="HTTP/1.0"),
        pytest.param("evil.example:9469", True, id="a name that was rebound"),
        pytest.param("localhost.evil.example", True, id="a name that begins like ours"),
        pytest.param("127.0.0.1@evil.example", True, id="a user that looks like us"),
        pytest.param("[::1", True, id="no host"),
    ],
)
def test_a_rebound_name_is_not_answered(host, refused):
    listen = Listen(public_url="https://canary.example/")
    assert (foreign_host(host, listen) is not None) is refused
    assert foreign_host(host, ROUTABLE) is None  # there the token keeps strangers out


@pytest.mark.parametrize(
    ("authorization", "user"),
    [
        pytest.param(basic("anna:t"), "anna", id="basic"),
        pytest.param(basic(":t"), None, id="basic, nobody"),
        pytest.param("Bearer t", None, id="bearer"),
        pytest.param("", None, id="nothing"),
    ],
)
def test_who_says_to_act(authorization, user):
    assert user_of(authorization) == user

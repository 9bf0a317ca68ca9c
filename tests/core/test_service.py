import pytest

from canary.core.secret import Secret
from canary.core.service import Listen, bind_refusal, is_loopback


@pytest.mark.parametrize(
    ("host", "loopback"),
    [
        pytest.param("127.0.0.1", True, id="v4"),
        pytest.param("127.8.9.10", True, id="all of 127"),
        pytest.param("::1", True, id="v6"),
        pytest.param("[::1]", True, id="v6 in brackets"),
        pytest.param("localhost", True, id="by name"),
        pytest.param("LOCALHOST", True, id="by loud name"),
        pytest.param("0.0.0.0", False, id="every address"),
        pytest.param("::", False, id="every address, v6"),
        pytest.param("", False, id="nothing is every address"),
        pytest.param("10.0.0.1", False, id="private is not loopback"),
        pytest.param("localhost.example.com", False, id="a name that only begins so"),
        pytest.param("127.0.0.1.example.com", False, id="an address that only begins so"),
        pytest.param("2130706433", False, id="a number"),
    ],
)
def test_loopback(host, loopback):
    assert is_loopback(host) is loopback
    assert (bind_refusal(Listen(host=host)) is None) is loopback
    assert bind_refusal(Listen(host=host, token=Secret("t"))) is None


def test_an_empty_token_is_no_token():
    assert bind_refusal(Listen(host="0.0.0.0", token=Secret(""))) is not None

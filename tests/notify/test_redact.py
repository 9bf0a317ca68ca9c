from dataclasses import dataclass

import pytest

from canary.core.notification import Rejected, RetryLater, Sent
from canary.core.secret import Secret
from canary.notify.redact import without_secrets


@dataclass(frozen=True, kw_only=True)
class Options:
    token: Secret
    none: Secret | None
    headers: dict
    url: Secret
    short: Secret
    odd: Secret


OPTIONS = Options(
    token=Secret("t0k3n-abcdef"),
    none=None,
    headers={"A": Secret("Bearer h3ader-key"), "B": "plain-text"},
    url=Secret("https://user:p4ss%2Fword@hooks.example.com/services/T000/s3cr3t-path?key=qu3ry-key"),
    short=Secret("abc"),
    odd=Secret(r'q"uot\ed'),
)


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        pytest.param("bad t0k3n-abcdef here", "bad *** here", id="as it is"),
        pytest.param("Bearer h3ader-key", "***", id="a header"),
        pytest.param("key h3ader-key", "key ***", id="a header without its scheme"),
        pytest.param("no /services/T000/s3cr3t-path", "no ***", id="the path of a URL"),
        pytest.param("no s3cr3t-path", "no ***", id="a part of the path"),
        pytest.param("key=qu3ry-key", "***", id="the query"),
        pytest.param("p4ss/word and p4ss%2Fword", "*** and ***", id="a password, both ways"),
        pytest.param("Basic dXNlcjpwNHNzL3dvcmQ=", "Basic ***", id="a URL's user info, as the header that it becomes"),
        pytest.param(r'{"got": "q\"uot\\ed"}', '{"got": "***"}', id="as JSON writes it"),
        pytest.param("said: Bearer h3ader…", "said: ***…", id="a quote that ends within a secret"),
        pytest.param("said: t0k3n-abcde", "said: ***", id="a reply that broke off within a secret"),
        pytest.param("said: t0k3…", "said: t0k3…", id="a quote that ends within its first signs"),
        pytest.param("x" * 10**6, "x" * 299 + "…", id="without an end"),
        pytest.param("a\x1b[31m\n\ud800b", "a [31m b", id="what no terminal and no database takes"),
        pytest.param("abc plain-text", "abc plain-text", id="ordinary words are left alone"),
    ],
)
def test_without_secrets(said, expected):
    assert without_secrets(Rejected(why=said), OPTIONS) == Rejected(why=expected)
    assert without_secrets(RetryLater(why=said, after_s=1.0), OPTIONS) == RetryLater(why=expected, after_s=1.0)
    assert without_secrets(Sent(handle="h", note=said), OPTIONS) == Sent(handle="h", note=expected)

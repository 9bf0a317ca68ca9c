import re
from pathlib import Path
from string import Formatter

import pytest

import canary.web
from canary.alerting.published import Phase
from canary.analysis.lane import Sign
from canary.core.finding import Severity
from canary.core.incident import State
from canary.core.notification import Reason
from canary.core.run import CutShort
from canary.core.span import RANGES
from canary.core.status import Level
from canary.core.timeout import Clock
from canary.core.verdict import Status
from canary.web.run_view import CHANNELS
from canary.web.words import DEFAULT, MESSAGES, NAMES, Words, language_of

FOLDER = Path(canary.web.__file__).parent
SOURCES = [*FOLDER.glob("*.py"), *FOLDER.glob("templates/*.html")]
# Keys that a page puts together from a value.
MADE = {
    *(f"state_{status}" for status in Status),
    *(f"severity_{severity}" for severity in Severity),
    *(f"level_{level}" for level in Level),
    *(f"status_{summary}" for summary in ("all", "incidents", "troubled", "unknown", "waiting")),
    *(f"turn_{state}" for state in State),
    *(f"told_{reason}" for reason in Reason),
    *(f"phase_{phase}" for phase in Phase),
    *(f"range_{name}" for name in RANGES),
    *(f"clock_{clock}" for clock in Clock),
    *(f"cut_short_{why}" for why in CutShort),
    *(f"channel_{channel}" for channel in CHANNELS.values()),
    *(f"sign_{sign.name.lower()}" for sign in Sign),
    *(f"unit_{unit}" for unit in ("ms", "s", "min", "h", "d")),
    "level_untold",
    "incident_open",
    "incident_over",
    "recovering",
    "incident",
    "deploy",
    "version",
}


def asked():
    text = "\n".join(path.read_text("utf-8") for path in SOURCES)
    return set(re.findall(r"""\bt\(\s*["'](\w*[a-zA-Z])["']""", text)) | MADE


def places(text):
    return {name for _, name, _, _ in Formatter().parse(text) if name is not None}


def test_every_key_that_a_page_asks_for_is_there():
    assert asked() - set(MESSAGES[DEFAULT]) == set()


def test_no_key_is_there_that_nobody_asks_for():
    assert set(MESSAGES[DEFAULT]) - asked() == set()


@pytest.mark.parametrize("language", MESSAGES)
def test_every_language_says_the_same(language):
    assert set(MESSAGES[language]) == set(MESSAGES[DEFAULT])
    assert language in NAMES
    for key, text in MESSAGES[language].items():
        assert text.strip(), key
        assert places(text) == places(MESSAGES[DEFAULT][key]), key


HANGUL = re.compile("[가-힣]")
THE_SAME = {"canary", "keepalive", "ms", "{number}%", "{pipeline}, {probe}: {before} → {after}", "{title} ({place})"}
THE_SAME |= {"{check}: {reason}", "{name} {value}"}


def test_nothing_in_korean_was_left_in_english():
    assert {text for text in MESSAGES["ko"].values() if not HANGUL.search(text)} <= THE_SAME


def test_a_message_with_its_places():
    assert Words(language="ko")("left", share="98 %") == "98 % 남음"


@pytest.mark.parametrize(
    ("said", "accept", "language"),
    [
        pytest.param("ko", "en", "ko", id="asked for"),
        pytest.param("xx", "ko", "ko", id="asked for what is not there"),
        pytest.param(None, "ko-KR,ko;q=0.9,en;q=0.8", "ko", id="a browser in Seoul"),
        pytest.param(None, "de,en;q=0.5,ko;q=0.7", "ko", id="the best that is there"),
        pytest.param(None, "ko;q=0,en;q=0.1", "en", id="refused"),
        pytest.param(None, "de", "en", id="none that is there"),
        pytest.param(None, "", "en", id="nothing said"),
        pytest.param(None, "ko;q=abc,;;,=", "en", id="nonsense"),
    ],
)
def test_language(said, accept, language):
    assert language_of(said, accept) == language

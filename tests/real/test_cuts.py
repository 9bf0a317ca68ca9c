"""What the forecast says of a stream, and what a real proxy then does to it: same answer, same moment.

The agent streams nothing while the model thinks, about three seconds here. Its own stream is observed once; the
`idle_timeout` verdict on it is the forecast for a proxy in front of it. Then the same request goes through that proxy.
"""

import subprocess
import sys
from dataclasses import dataclass

import pytest

from tests.real.conftest import Edge
from tests.real.lab.command import Printed, probe
from tests.real.lab.hop import Hop
from tests.real.lab.proxies import READ_TIMEOUTS_S

pytestmark = pytest.mark.real

SILENCE_S = 3.0
FAR_ENOUGH_S = (2.4, 3.6)  # from the timers of 2 and 4 s on either side, so that one run's luck does not decide
CALIBRATION_TOKENS = 600
TOLERANCE_S = 0.1
LATENESS = """\
import time
worst = 0.0
for _ in range(150):
    start = time.monotonic()
    time.sleep(0.02)
    worst = max(worst, time.monotonic() - start - 0.02)
print(worst)
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Observed:
    """The agent's own stream, judged for each timer; and the request that makes it."""

    printed: Printed
    request: tuple[str, ...]


def request_of(budget: int) -> tuple[str, ...]:
    return ("--max-tokens", str(budget + 60), "--param", f"thinking_token_budget={budget}")


def timer(limit_s: int) -> tuple[str, ...]:
    return ("--timeout", f"edge{limit_s}:idle:byte:{limit_s}")


def ask(hop: Hop, *more: str) -> Printed:
    return probe(hop, "tiny", "--deadline", "60s", *more)


def silence_of(printed: Printed) -> float:
    longest: float = printed.measurement["silence"]["byte"]["longest_s"]
    return longest


@pytest.fixture(scope="module")
def observed(agent: Hop) -> Observed:
    """Finds the budget that makes about SILENCE_S on this machine, today; three tries."""
    budget = CALIBRATION_TOKENS
    timers = [word for limit_s in READ_TIMEOUTS_S for word in timer(limit_s)]
    seen = []
    for _ in range(4):
        printed = ask(agent, *request_of(budget), *timers)
        seen.append((budget, round(silence_of(printed), 2)))
        if FAR_ENOUGH_S[0] < silence_of(printed) < FAR_ENOUGH_S[1]:
            return Observed(printed=printed, request=request_of(budget))
        budget = min(7000, max(50, round(budget * SILENCE_S / silence_of(printed))))
    pytest.fail(f"no thinking budget gives a silence of about {SILENCE_S} s here: (budget, silence) {seen}")


def lateness_s() -> float:
    """How late this machine wakes a sleeper at worst, right now, in 3 s: nobody's timer can do better."""
    run = subprocess.run((sys.executable, "-c", LATENESS), capture_output=True, text=True, check=True, timeout=120)
    return float(run.stdout)


@pytest.mark.parametrize("limit_s", READ_TIMEOUTS_S)
@pytest.mark.parametrize("kind", ["nginx", "haproxy", "caddy"])
def test_the_proxy_does_what_the_forecast_says(kind: str, limit_s: int, observed: Observed, edge: Edge):
    forecast = observed.printed.verdict("idle_timeout", f"edge{limit_s}")
    assert limit_s == forecast["limit"]
    assert silence_of(observed.printed) == pytest.approx(forecast["observed"], abs=0.001)
    fires = forecast["status"] == "FAIL"
    assert fires == (limit_s < SILENCE_S), forecast

    through = ask(edge(kind, limit_s), *observed.request, *timer(limit_s))
    complete = through.verdict("complete")
    assert ("FAIL" if fires else "PASS") == complete["status"], complete
    if fires:
        assert_cut(through, complete, f"edge{limit_s}")
        silence = observed.printed.measurement["silence"]["byte"]
        predicted_s = silence["began_at"] + limit_s
        cut_s = through.measurement["total_s"]
        print(f"\n{kind} {limit_s} s: predicted {predicted_s:.3f} s, cut at {cut_s:.3f} s")
        assert abs(cut_s - predicted_s) <= max(TOLERANCE_S, lateness_s())
    else:
        assert through.measurement["visible_chars"] > 0
        assert through.measurement["terminator_seen"]


def assert_cut(through: Printed, complete: dict[str, object], name: str) -> None:
    """Known as cut, whatever HTTP says of it, and by which timer."""
    assert complete["reason"] == "cut", complete
    assert name in str(complete["subject"])
    assert name in str(complete["message"])
    assert not through.measurement["terminator_seen"]
    assert through.verdict("visible_content")["status"] == "UNKNOWN"
    assert through.code == 1


@pytest.mark.parametrize(
    ("kind", "end"),
    [
        pytest.param("nginx", "truncated", id="nginx"),
        pytest.param("haproxy", "truncated", id="haproxy"),
        pytest.param("caddy", "completed", id="caddy calls it complete"),
    ],
)
def test_how_the_cut_looks(kind: str, end: str, observed: Observed, edge: Edge):
    through = ask(edge(kind, 1), *observed.request)
    assert end == through.measurement["end"]["kind"]
    assert through.verdict("complete")["status"] == "FAIL"


def test_nginx_with_its_default_buffering_holds_even_the_status_line(observed: Observed, edge: Edge):
    """The agent's headers come at once; through this proxy they come with the first buffer that is full or last."""
    through = ask(edge("nginx-buffering", 4), *observed.request)
    headers_s = through.measurement["time_to_headers_s"]
    assert headers_s > observed.printed.measurement["time_to_headers_s"] + 2
    assert (through.verdict("complete")["status"], through.verdict("visible_content")["status"]) == ("PASS", "PASS")

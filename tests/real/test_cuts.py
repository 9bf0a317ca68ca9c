"""What the forecast says of a stream, and what a real proxy then does to it: same answer, same moment.

The agent streams nothing while the model thinks, two to four seconds here. Its own stream is observed; the
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

# The silence to aim at for each read timeout, twice or half of it or more: 1 and 2 s fire, 4 s does not.
SILENCE_S = {1: 2.5, 2: 4.0, 4: 2.0}
CLEAR_OF_LIMIT = 0.15  # a silence nearer to a limit than this share of it may fall on either side the next time
TRIES = 4
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
class Pair:
    """The same request at the agent, with the timer held against it, and through the proxy that has the timer."""

    direct: Printed
    through: Printed


def request_of(budget: int) -> tuple[str, ...]:
    return ("--max-tokens", str(budget + 60), "--param", f"thinking_token_budget={budget}")


def timer(limit_s: int) -> tuple[str, ...]:
    return ("--timeout", f"edge:idle:byte:{limit_s}")


def ask(hop: Hop, *more: str) -> Printed:
    return probe(hop, "tiny", "--deadline", "60s", *more)


def silence_of(printed: Printed) -> float:
    longest: float = printed.measurement["silence"]["byte"]["longest_s"]
    return longest


def clear_of(limit_s: float, silence_s: float) -> bool:
    return abs(silence_s - limit_s) > CLEAR_OF_LIMIT * limit_s


@pytest.fixture(scope="module")
def tokens_per_s(agent: Hop) -> float:
    """How fast the whole pipeline thinks, on this machine and now."""
    return CALIBRATION_TOKENS / silence_of(ask(agent, *request_of(CALIBRATION_TOKENS)))


def pair_of(agent: Hop, proxy: Hop, limit_s: int, tokens_per_s: float) -> Pair:
    """Direct, through the proxy, and direct again: a pair only if the machine was as fast before as after, else a skip.

    Whether it was does not depend on what the proxy did, so trying again hides nothing.
    """
    seen = []
    for _ in range(TRIES):
        budget = min(7000, max(50, round(tokens_per_s * SILENCE_S[limit_s])))
        request = (*request_of(budget), *timer(limit_s))
        direct, through, again = ask(agent, *request), ask(proxy, *request), ask(agent, *request)
        silences = (silence_of(direct), silence_of(again))
        seen.append(silences)
        same_side = len({silence_s > limit_s for silence_s in (*silences, SILENCE_S[limit_s])}) == 1
        if same_side and all(clear_of(limit_s, silence_s) for silence_s in silences):
            return Pair(direct=direct, through=through)
        tokens_per_s = budget / silences[-1]
    # No failure of the program's, and no pass either: nothing was compared.
    pytest.skip(f"this machine is too unsteady to compare anything with a timer of {limit_s} s: silences {seen}")


def lateness_s() -> float:
    """How late this machine wakes a sleeper at worst, right now, in 3 s: nobody's timer can do better."""
    run = subprocess.run((sys.executable, "-c", LATENESS), capture_output=True, text=True, check=True, timeout=120)
    return float(run.stdout)


@pytest.mark.parametrize("limit_s", READ_TIMEOUTS_S)
@pytest.mark.parametrize("kind", ["nginx", "haproxy", "caddy"])
def test_the_proxy_does_what_the_forecast_says(kind: str, limit_s: int, tokens_per_s: float, agent: Hop, edge: Edge):
    pair = pair_of(agent, edge(kind, limit_s), limit_s, tokens_per_s)
    forecast, complete = pair.direct.verdict("idle_timeout", "edge"), pair.through.verdict("complete")
    assert limit_s == forecast["limit"]
    assert silence_of(pair.direct) == pytest.approx(forecast["observed"], abs=0.001)
    fires = limit_s < SILENCE_S[limit_s]
    assert fires == (forecast["status"] == "FAIL"), forecast
    assert ("FAIL" if fires else "PASS") == complete["status"], complete
    if fires:
        assert_cut(pair.through, complete)
        predicted_s = pair.direct.measurement["silence"]["byte"]["began_at"] + limit_s
        cut_s = pair.through.measurement["total_s"]
        print(f"\n{kind} {limit_s} s: predicted {predicted_s:.3f} s, cut at {cut_s:.3f} s")
        assert abs(cut_s - predicted_s) <= max(TOLERANCE_S, lateness_s())
    else:
        assert pair.through.measurement["visible_chars"] > 0
        assert pair.through.measurement["terminator_seen"]


def assert_cut(through: Printed, complete: dict[str, object]) -> None:
    """Known as cut, whatever HTTP says of it, and by which timer."""
    assert complete["reason"] == "cut", complete
    assert "edge" in str(complete["subject"])
    assert "edge" in str(complete["message"])
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
def test_how_the_cut_looks(kind: str, end: str, tokens_per_s: float, edge: Edge):
    through = ask(edge(kind, 1), *request_of(round(4 * tokens_per_s)))
    assert end == through.measurement["end"]["kind"]
    assert through.verdict("complete")["status"] == "FAIL"


def test_nginx_with_its_default_buffering_holds_even_the_status_line(tokens_per_s: float, agent: Hop, edge: Edge):
    """The agent's headers come at once; through this proxy they come with the first buffer that is full or last."""
    pair = pair_of(agent, edge("nginx-buffering", 4), 4, tokens_per_s)
    held_s = pair.through.measurement["time_to_headers_s"] - pair.direct.measurement["time_to_headers_s"]
    assert held_s > silence_of(pair.direct) / 2
    assert pair.through.verdict("complete")["status"] == "PASS"
    assert pair.through.verdict("visible_content")["status"] == "PASS"

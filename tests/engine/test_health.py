"""Is it us? Own network and own loop."""

import asyncio
import socket
from dataclasses import replace

import pytest

from canary.core.finding import Finding, Severity
from canary.core.observation import Completed, ConnectFailed, DeadlineExceeded, Phase
from canary.core.run import Run
from canary.core.service import OwnNetwork
from canary.core.verdict import Status
from canary.engine.health import LoopLag, answers, cut_off, guarded
from tests.fakes.stored import NOON, result_of

ELSEWHERE, HERE = "https://llm.example.com/v1/chat/completions", "http://127.0.0.1:4000/v1/chat/completions"
DOWN = ConnectFailed(at=1.0, phase=Phase.DNS, detail="no address")


def result(hop, url, end, status=Status.FAIL):
    plain = result_of(hop=hop, status=status)
    exchange = replace(plain.observation.exchange, url=url, end=end)
    observation = replace(plain.observation, exchange=exchange, end=end)
    return replace(plain, observation=observation, measurement=replace(plain.measurement, end=end))


def run_of(*results, findings=()):
    return Run(id="r", pipeline="p", probe="x", started_at=NOON, results=results, findings=findings)


def finding(origin, affected=()):
    return Finding(
        check="reachable",
        reason="dns",
        origin=origin,
        severity=Severity.CRITICAL,
        message="",
        variant="plain",
        affected=affected,
    )


@pytest.mark.parametrize(
    ("results", "blamed"),
    [
        pytest.param([("a", ELSEWHERE, DOWN), ("b", ELSEWHERE, DOWN)], "ab", id="no hop elsewhere answers"),
        pytest.param(
            [("a", ELSEWHERE, DOWN), ("b", ELSEWHERE, Completed(at=1.0))], "", id="one does: the network works"
        ),
        pytest.param([("a", ELSEWHERE, DOWN), ("b", HERE, Completed(at=1.0))], "a", id="one here proves nothing"),
        pytest.param([("a", HERE, DOWN)], "", id="one here needs no network"),
        pytest.param([("a", ELSEWHERE, Completed(at=1.0))], "", id="all is well"),
        pytest.param([], "", id="nothing was asked"),
    ],
)
def test_when_our_own_network_is_looked_at(results, blamed):
    assert cut_off(run_of(*(result(*each) for each in results))) == frozenset(blamed)


@pytest.fixture
async def somebody():
    """`host:port` of a listener."""
    server = await asyncio.start_server(lambda _, writer: writer.close(), "127.0.0.1", 0)
    async with server:
        yield f"127.0.0.1:{server.sockets[0].getsockname()[1]}"


async def test_what_failed_while_our_network_was_down_is_nobodys_fault(unused_tcp_port):
    own = OwnNetwork(address=f"127.0.0.1:{unused_tcp_port}")
    run = run_of(
        result("a", ELSEWHERE, DOWN),
        result("b", HERE, Completed(at=1.0)),
        findings=(finding("a"), finding("b", affected=("a", "top"))),
    )
    judged = await guarded(run, own)
    assert [(r.hop, v.status, v.reason) for r in judged.results for v in r.verdicts] == [
        ("a", Status.UNKNOWN, "prober_fault"),
        ("b", Status.FAIL, "r"),
    ]
    assert own.address in judged.results[0].verdicts[0].message
    assert [(each.origin, each.affected) for each in judged.findings] == [("b", ("top",))]


async def test_while_our_network_works_the_target_is_to_blame(somebody):
    run = run_of(result("a", ELSEWHERE, DOWN), findings=(finding("a"),))
    assert await guarded(run, OwnNetwork(address=somebody)) is run


def late(run_result, lag_s):
    return replace(run_result, measurement=replace(run_result.measurement, loop_lag_s=lag_s))


@pytest.mark.parametrize(
    ("end", "lag_s", "reason"),
    [
        pytest.param(DeadlineExceeded(at=20.0, phase=Phase.BODY), 15.0, "prober_fault", id="stopped for most of it"),
        pytest.param(DeadlineExceeded(at=20.0, phase=Phase.BODY), 1.5, "r", id="a moment too late changes nothing"),
        pytest.param(ConnectFailed(at=20.0, phase=Phase.CONNECT), 15.0, "prober_fault", id="no connection in time"),
        pytest.param(ConnectFailed(at=0.01, phase=Phase.CONNECT), 0.02, "r", id="refused at once, on a busy machine"),
        pytest.param(Completed(at=20.0), 15.0, "r", id="it ended by itself"),
    ],
)
async def test_what_ended_by_time_while_we_were_away_is_nobodys_fault(end, lag_s, reason):
    run = run_of(late(result("a", HERE, end), lag_s), findings=(finding("a"),))
    judged = await guarded(run, None)
    assert [v.reason for r in judged.results for v in r.verdicts] == [reason]
    assert len(judged.findings) == (reason == "r")


async def test_of_a_run_during_which_the_machine_was_suspended_nothing_is_known():
    """Its silences are shorter than they were, so that it passed says as little."""
    passed = result("a", HERE, Completed(at=1.0), Status.PASS)
    run = run_of(passed, result("b", HERE, DOWN), findings=(finding("b"),))
    judged = await guarded(run, None, slept_s=7200.0)
    assert {(v.status, v.reason) for r in judged.results for v in r.verdicts} == {(Status.UNKNOWN, "prober_fault")}
    assert judged.results[0].verdicts[0].message == "this machine was suspended for 2 h during the run"
    assert judged.findings == ()


async def test_without_an_address_it_is_trusted():
    run = run_of(result("a", ELSEWHERE, DOWN), findings=(finding("a"),))
    assert await guarded(run, None) is run


@pytest.mark.parametrize("address", ["[::1]:{port}", "127.0.0.1:{port}", "localhost:{port}"])
async def test_nobody_at_the_address(unused_tcp_port, address):
    assert not await answers(OwnNetwork(address=address.format(port=unused_tcp_port)))


async def test_an_address_that_says_nothing_is_given_up():
    """A full backlog: the handshake never ends."""
    with socket.socket() as full:
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        port = full.getsockname()[1]
        waiting = []
        for _ in range(4):
            client = socket.socket()
            client.setblocking(False)
            client.connect_ex(("127.0.0.1", port))
            waiting.append(client)
        assert not await answers(OwnNetwork(address=f"127.0.0.1:{port}", timeout_s=0.05))
        for client in waiting:
            client.close()


def test_the_loop_lag_is_the_worst_of_the_last_minute():
    lag = LoopLag(steady=lambda: 0.0)
    assert lag.worst_s == 0.0
    lag.note(0.4)
    lag.note(-0.1)
    assert lag.worst_s == 0.4
    for _ in range(240):
        lag.note(0.01)
    assert lag.worst_s == 0.01


async def test_a_busy_loop_is_seen(time):
    """The sampler's clock is passed in: half a second goes by while it sleeps for a quarter."""
    woken = asyncio.Event()

    def steady():
        time.steady_s += 0.5
        woken.set()
        return time.steady_s

    lag = LoopLag(steady=steady)
    watching = asyncio.create_task(lag.watch())
    async with asyncio.timeout(10):
        while not lag.worst_s:
            woken.clear()
            await woken.wait()
    watching.cancel()
    assert lag.worst_s == pytest.approx(0.25)

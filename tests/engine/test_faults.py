"""Every fault of the demo at every hop: the one root cause, at the right hop, and nothing else.

The table says what is true for a user of the pipeline. All runs of this file are made at once, by the first test that
needs one, because almost all of their time is waiting.
"""

import asyncio
from dataclasses import dataclass

import pytest

from canary.core.finding import Severity
from canary.core.verdict import Status
from canary.demo.faults import FAULTS
from canary.demo.hop_kind import HopKind
from tests.fakes.demo_runs import SHORT_DEADLINE_S, Asked, runs_of

pytestmark = pytest.mark.alone

UI, EDGE, AGENT, GATEWAY, ENGINE = HOPS = tuple(kind.value for kind in HopKind)
WORKERS = 10
NEVER_ANSWERS = {"hang", "freeze"}
SLOW = NEVER_ANSWERS | {"hold_open", "slow_headers"}
BUDGET_FAULTS = {"drop_parameter", "rename_parameter", "ignore_budget", "clamp_budget", "reject_late"}


@dataclass(frozen=True, kw_only=True)
class Shows:
    """What a fault shows as, at a hop that has it.

    `finding`: check and reason. `spreads`: the hops above fail by it too. `warns`: the WARN verdicts of the hop itself.
    `warns_above`: the same at the hops above it. `origin`: where it becomes a failure, if not where the fault is.
    """

    finding: str | None = None
    spreads: bool = True
    warns: frozenset[str] = frozenset()
    warns_above: bool = True
    origin: str | None = None


def finds(finding, **more):
    return Shows(finding=finding, **more)


def warns(*verdicts, **more):
    return Shows(warns=frozenset(verdicts), **more)


NOTHING = Shows()
LUMP = frozenset({"streaming coalesced"})  # what is held back comes in one lump, which shows or not with its size

SHOWS = {
    # Only a budget test can see these.
    "drop_parameter": finds("budget ignored"),
    "rename_parameter": finds("budget ignored"),
    "ignore_budget": finds("budget ignored"),
    "clamp_budget": finds("budget ignored"),  # 1024 tokens are no better than no cap to who asks for 32
    "reject_late": finds("budget rejected"),
    # The answer is worthless, or something stands in it that should not.
    "starve": finds("visible_content budget_exhausted"),
    "all_in_reasoning": finds("visible_content stripped"),
    "merge_tags": finds("reasoning_leak tags_in_content"),
    "copy_reasoning": finds("reasoning_leak copy_of_reasoning"),
    "leak": finds("reasoning_leak tags_in_content"),  # the channel marks of gpt-oss enclose reasoning
    "stray_closer": finds("reasoning_leak stray_closer"),
    "canned_answer": finds("answer no_answer"),
    # Reasoning does not arrive where it should; hops above have none to pass on, and nobody is cut for it here.
    "strip_reasoning": finds("streaming reasoning_stripped", spreads=False),
    "rename_reasoning": finds("streaming reasoning_stripped", spreads=False),
    "swap_reasoning_field": NOTHING,  # clients read both
    "buffer": finds("streaming buffered"),
    # It does not end, does not begin, or is refused.
    "freeze": finds("complete hung"),
    "down": finds("reachable no_response"),
    "hang": finds("reachable deadline"),
    "cut_fin": finds("complete truncated"),
    "cut_rst": finds("complete truncated"),
    "cut_clean": finds("complete truncated"),
    "error_in_stream": finds("complete error_in_stream"),
    "auth": finds("reachable auth"),
    "html_502": finds("reachable server_error"),
    "too_many_requests": NOTHING,  # we may not ask now: UNKNOWN
    # Flaws that break some clients and lie to some bookkeepers; nobody is to be paged for them.
    "wrong_model": warns("served_model other_model", warns_above=False),
    "no_usage": warns("usage missing"),
    "zero_reasoning_usage": warns("usage contradicted"),
    "fabricated_usage": warns("usage made_by_gateway"),
    "wrapped_keepalives": warns("protocol keepalive_as_data"),
    "no_done": warns("complete no_terminator"),
    "no_finish": warns("complete unterminated"),
    "hold_open": warns("complete held_open"),
    # Legal, and harmless to who has the time.
    "gzip": NOTHING,
    "ping_flood": NOTHING,
    "slow_headers": NOTHING,
}

# What the gateway makes of a fault at the engine, and what an engine has nobody below it for.
AT_ENGINE = {
    "all_in_reasoning": finds("visible_content all_in_reasoning"),
    "wrapped_keepalives": warns("protocol keepalive_as_data", warns_above=False),  # it swallows them
    "no_usage": warns("usage missing", warns_above=False),  # it makes some up
    "no_done": warns("complete no_terminator", warns_above=False),  # it writes its own
    "hold_open": warns("complete held_open", warns_above=False),  # it waits, and then says [DONE]
    # To the engine's own clients a flaw; the gateway makes an error of it, and says why.
    "no_finish": finds("complete error_in_stream", warns=frozenset({"complete unterminated"}), origin=GATEWAY),
}


def shows(fault, hop):
    return AT_ENGINE.get(fault, SHOWS[fault]) if hop == ENGINE else SHOWS[fault]


def found(origin, finding, *, spreads=True):
    """A finding as the tests compare it: the edge is the hop and the one below, all hops above are affected."""
    at = HOPS.index(origin)
    affected = HOPS[:at][::-1] if spreads else ()
    return {
        "finding": finding,
        "origin": origin,
        "edge": (origin, HOPS[at + 1]) if origin != ENGINE else None,
        "affected": affected,
        "severity": Severity.CRITICAL if UI in (origin, *affected) else Severity.WARNING,
        "at_or_below": False,
    }


def said(run):
    return [
        {
            "finding": f"{finding.check} {finding.reason}",
            "origin": finding.origin,
            "edge": finding.edge,
            "affected": finding.affected,
            "severity": finding.severity,
            "at_or_below": finding.at_or_below,
        }
        for finding in run.findings
    ]


def verdicts(run, hop, *statuses):
    return {
        f"{verdict.check} {verdict.reason}"
        for result in run.results
        for verdict in result.verdicts
        if result.hop == hop and verdict.status in statuses
    }


CELLS = [(fault, kind.value) for fault, row in FAULTS.items() for kind in HopKind if kind in row.kinds]


def asked_for(*faults_at, budgets=False):
    """The run that shows `fault@hop`, each at a hop of its own."""
    faults = tuple((hop, (fault,)) for fault, hop in (text.split("@") for text in faults_at))
    names = {name for _, rows in faults for name in rows}
    deadline = {"deadline_s": SHORT_DEADLINE_S} if names & NEVER_ANSWERS else {}
    return Asked(faults=faults, budgets=budgets or bool(names & BUDGET_FAULTS), **deadline)


# What the budget probe, which asks only whether a hop is reachable, finds of each fault besides. Where a stream is
# stopped as soon as it told what it can, what would have come later is not seen.
IN_A_BUDGET_RUN = {
    "merge_tags": "reasoning_leak tags_in_content",
    "leak": "reasoning_leak tags_in_content",
    "stray_closer": "reasoning_leak stray_closer",
    "auth": "reachable auth",
    "html_502": "reachable server_error",
    "down": "reachable no_response",
    "hang": "reachable deadline",
}
BUDGET_RUNS = [
    fault
    for fault, row in FAULTS.items()
    if HopKind.GATEWAY in row.kinds
    and fault not in BUDGET_FAULTS
    and fault != "canned_answer"  # a cache is told by its speed, and a control that is stopped early is fast too
]


# What a hop that honours one cap and ignores another says of them where it has another fault.
BOTH_TOLD = ["PASS honoured", "PASS ignored"]
NOT_TOLD = ["UNKNOWN inconclusive"] * 2
SAYS_OF_CAPS = {
    "all_in_reasoning": NOT_TOLD,  # however long the field: the answer may be in it
    # It gave nothing to judge.
    "freeze": NOT_TOLD,
    "down": ["UNKNOWN no_response"] * 2,
    "hang": NOT_TOLD,
    "too_many_requests": NOT_TOLD,
    "auth": NOT_TOLD,
    "html_502": NOT_TOLD,
}
OF_A_BUDGET_FAULT = {
    "drop_parameter": ["FAIL ignored", "PASS ignored"],
    "rename_parameter": ["FAIL ignored", "PASS ignored"],
    "ignore_budget": ["FAIL ignored", "PASS ignored"],
    "clamp_budget": ["FAIL ignored", "PASS ignored"],  # stopped long before the value that it was raised to
    "reject_late": ["FAIL rejected", "PASS ignored"],
}


@dataclass(frozen=True, kw_only=True)
class Pair:
    """Two faults and their findings, from the engine up. `seen_up_to`: the topmost hop that still shows the first."""

    first: str
    second: str
    seen_up_to: str = UI

    @property
    def name(self):
        return f"{self.first} and {self.second}"


PAIRS = [
    Pair(first="leak@engine", second="buffer@edge"),
    Pair(first="stray_closer@gateway", second="strip_reasoning@ui"),
    Pair(first="copy_reasoning@engine", second="cut_fin@ui"),  # it was copied before the cut
    Pair(first="copy_reasoning@gateway", second="error_in_stream@agent"),
    Pair(first="canned_answer@gateway", second="leak@ui"),
    Pair(first="starve@engine", second="hang@ui", seen_up_to=EDGE),
    Pair(first="all_in_reasoning@gateway", second="html_502@ui", seen_up_to=EDGE),
    Pair(first="buffer@agent", second="auth@ui", seen_up_to=EDGE),
    Pair(first="leak@gateway", second="freeze@ui", seen_up_to=EDGE),
    Pair(first="copy_reasoning@gateway", second="canned_answer@edge", seen_up_to=AGENT),
    Pair(first="strip_reasoning@gateway", second="starve@ui"),
    Pair(first="strip_reasoning@agent", second="canned_answer@ui"),
    Pair(first="strip_reasoning@gateway", second="cut_rst@edge"),
    Pair(first="drop_parameter@gateway", second="auth@agent", seen_up_to=GATEWAY),
    Pair(first="drop_parameter@gateway", second="html_502@ui", seen_up_to=EDGE),
    Pair(first="ignore_budget@engine", second="auth@agent", seen_up_to=GATEWAY),
]


@pytest.fixture(scope="module")
def runs(request):
    """The runs that the selected tests of this file ask for, made at once."""
    asked = [
        item.callspec.params["asked"]
        for item in request.session.items
        if item.path == request.path and "asked" in getattr(item, "fixturenames", ())
    ]
    longest_first = sorted(asked, key=lambda each: not {name for _, names in each.faults for name in names} & SLOW)
    return asyncio.run(runs_of(longest_first, workers=WORKERS))


@pytest.mark.parametrize("asked", [Asked(), Asked(budgets=True)], ids=["reasoning-heavy", "tiny-budget"])
def test_a_healthy_pipeline_passes_in_every_point(runs, asked):
    assert runs[asked].findings == ()
    assert {hop: verdicts(runs[asked], hop, *set(Status) - {Status.PASS}) for hop in HOPS} == {
        hop: set() for hop in HOPS
    }
    assert all(verdicts(runs[asked], hop, Status.PASS) for hop in HOPS)


def test_every_fault_has_its_row():
    assert set(SHOWS) == set(FAULTS)
    assert set(IN_A_BUDGET_RUN) <= set(BUDGET_RUNS)


@pytest.mark.parametrize(
    ("fault", "hop", "asked"),
    [pytest.param(fault, hop, asked_for(f"{fault}@{hop}"), id=f"{fault}@{hop}") for fault, hop in CELLS],
)
def test_a_fault_is_found_where_it_is_and_nothing_else(runs, fault, hop, asked):
    run, expected = runs[asked], shows(fault, hop)
    findings = [found(expected.origin or hop, expected.finding, spreads=expected.spreads)] if expected.finding else []
    assert said(run) == findings
    below = HOPS[HOPS.index(hop) + 1 :]
    assert {each: verdicts(run, each, *set(Status) - {Status.PASS}) for each in below} == {
        each: set() for each in below
    }
    assert verdicts(run, hop, Status.WARN) - LUMP == expected.warns
    for above in HOPS[: HOPS.index(hop)]:
        seen = verdicts(run, above, Status.WARN) - LUMP
        assert seen == expected.warns if expected.warns_above and not expected.origin else not seen & expected.warns


@pytest.mark.parametrize(
    ("hop", "asked"), [pytest.param(hop, asked_for(f"too_many_requests@{hop}"), id=hop) for hop in HOPS]
)
def test_a_rate_limit_is_unknown_and_not_a_failure(runs, hop, asked):
    run = runs[asked]
    for each in HOPS[: HOPS.index(hop) + 1]:
        assert "reachable rate_limited" in verdicts(run, each, Status.UNKNOWN)
        assert not verdicts(run, each, Status.FAIL)


@pytest.mark.parametrize(
    ("fault", "asked"),
    [pytest.param(fault, asked_for(f"{fault}@gateway", budgets=True), id=fault) for fault in BUDGET_RUNS],
)
def test_a_budget_run_invents_nothing_of_other_faults(runs, fault, asked):
    found_here = [(f"{finding.check} {finding.reason}", finding.origin) for finding in runs[asked].findings]
    assert found_here == ([(IN_A_BUDGET_RUN[fault], GATEWAY)] if fault in IN_A_BUDGET_RUN else [])


def said_of_caps(run, hop):
    return [
        f"{verdict.status} {verdict.reason}"
        for result in run.results
        for verdict in result.verdicts
        if (result.hop, verdict.check) == (hop, "budget")
    ]


@pytest.mark.parametrize(
    ("fault", "asked"),
    [pytest.param(fault, asked_for(f"{fault}@gateway", budgets=True), id=fault) for fault in BUDGET_RUNS],
)
def test_another_fault_hides_or_fakes_no_budget(runs, fault, asked):
    assert said_of_caps(runs[asked], GATEWAY) == SAYS_OF_CAPS.get(fault, BOTH_TOLD)


@pytest.mark.parametrize(
    ("fault", "hop", "asked"),
    [
        pytest.param(fault, hop, asked_for(f"{fault}@{hop}"), id=f"{fault}@{hop}")
        for fault, hop in CELLS
        if fault in BUDGET_FAULTS
    ],
)
def test_a_budget_fault_is_called_by_its_name_at_each_hop_that_it_reaches(runs, fault, hop, asked):
    at = HOPS.index(hop)
    for each in HOPS:
        expected = OF_A_BUDGET_FAULT[fault] if HOPS.index(each) <= at else BOTH_TOLD
        assert said_of_caps(runs[asked], each) == expected


@pytest.mark.parametrize(
    ("pair", "asked"), [pytest.param(pair, asked_for(pair.first, pair.second), id=pair.name) for pair in PAIRS]
)
def test_two_faults_are_two_findings(runs, pair, asked):
    expected = []
    for fault, hop in (pair.first.split("@"), pair.second.split("@")):
        row = shows(fault, hop)
        expected.append(found(hop, row.finding, spreads=row.spreads))
    affected = tuple(hop for hop in expected[0]["affected"] if HOPS.index(hop) >= HOPS.index(pair.seen_up_to))
    critical = UI in (expected[0]["origin"], *affected)
    expected[0] |= {"affected": affected, "severity": Severity.CRITICAL if critical else Severity.WARNING}
    assert said(runs[asked]) == expected


@pytest.mark.parametrize(
    ("words", "asked"),
    [
        pytest.param(
            ["`thinking_token_budget` is lost between gateway and engine", "at engine: ", "is honoured: 32 reasoning"],
            asked_for("drop_parameter@gateway"),
            id="a lost budget",
        ),
        pytest.param(
            ["finish_reason was received", "at engine: a terminator came, but no finish reason"],
            asked_for("no_finish@engine"),
            id="a flaw that the gateway makes an error of",
        ),
        pytest.param(
            ["no reasoning is shown here", "characters at the hop below", "at gateway: "],
            asked_for("strip_reasoning@agent"),
            id="reasoning that is left out",
        ),
        pytest.param(
            ["no engine writes that fast", "at agent: visible text over"], asked_for("buffer@edge"), id="held back"
        ),
    ],
)
def test_a_finding_says_what_was_seen_on_both_sides_of_its_edge(runs, words, asked):
    (finding,) = runs[asked].findings
    assert [word for word in words if word not in finding.message] == []

"""Chains are written from the user down: `ui F | agent F | litellm P | vllm P`. A hop left out was not judged."""

from itertools import product

import pytest

from canary.checks.localise import localise
from canary.core.finding import HopVerdict, Severity
from canary.core.verdict import Status, Verdict

HOPS = ("browser", "ui", "edge", "agent", "litellm", "vllm")  # the browser is not probed
PROBED = HOPS[1:]
LETTERS = {"P": Status.PASS, "W": Status.WARN, "F": Status.FAIL, "U": Status.UNKNOWN}


def verdicts(chain, *, check="visible_content", subject=None, variant="plain", reasons=None, limit=None):
    """`reasons`: by hop, the reason of its verdict."""
    found = []
    for part in filter(None, (part.strip() for part in chain.split("|"))):
        hop, letter = part.split()
        verdict = Verdict(
            check=check,
            status=LETTERS[letter],
            reason=(reasons or {}).get(hop, letter.lower()),
            message=f"{check} {letter} with its numbers",
            subject=subject,
            limit=limit,
        )
        found.append(HopVerdict(hop=hop, variant=variant, verdict=verdict))
    return found


def found_in(*groups, probed=PROBED, hops=HOPS, unasked=()):
    return localise([verdict for group in groups for verdict in group], hops, probed=probed, unasked=unasked)


def brief(finding):
    """check@origin, `~` where the fault may lie below; then what is affected."""
    return f"{finding.check}@{finding.origin}{'~' if finding.at_or_below else ''} {','.join(finding.affected)}".strip()


ONE_CHECK = [
    # nothing fails
    ("ui P | edge P | agent P | litellm P | vllm P", []),
    ("ui W | edge W | agent W | litellm W | vllm W", []),
    ("ui U | edge U | agent U | litellm U | vllm U", []),
    ("ui U | agent W | litellm P | vllm U", []),
    ("", []),
    # one fault
    ("ui F | edge F | agent F | litellm F | vllm F", ["@vllm litellm,agent,edge,ui"]),
    ("ui F | edge F | agent F | litellm F | vllm P", ["@litellm agent,edge,ui"]),
    ("ui F | edge F | agent F | litellm P | vllm P", ["@agent edge,ui"]),
    ("ui F | edge F | agent P | litellm P | vllm P", ["@edge ui"]),
    ("ui F | edge P | agent P | litellm P | vllm P", ["@ui"]),
    ("ui P | edge P | agent P | litellm P | vllm F", ["@vllm"]),
    ("ui P | edge P | agent F | litellm P | vllm P", ["@agent"]),
    ("ui P | edge F | agent F | litellm P | vllm P", ["@agent edge"]),
    # WARN is no failure, and ends one
    ("ui F | agent W | litellm P | vllm P", ["@ui"]),
    ("ui W | agent F | litellm W | vllm P", ["@agent"]),
    ("ui W | agent W | litellm W | vllm F", ["@vllm"]),
    ("ui F | agent F | litellm W | vllm F", ["@vllm", "@agent ui"]),
    # two faults
    ("ui F | edge P | agent F | litellm P | vllm P", ["@agent", "@ui"]),
    ("ui F | edge F | agent P | litellm F | vllm F", ["@vllm litellm", "@edge ui"]),
    ("ui F | edge P | agent F | litellm P | vllm F", ["@vllm", "@agent", "@ui"]),
    ("ui P | edge F | agent P | litellm F | vllm P", ["@litellm", "@edge"]),
    # UNKNOWN below the origin
    ("ui F | edge F | agent F | litellm U | vllm P", ["@agent~ edge,ui"]),
    ("ui F | edge F | agent F | litellm U | vllm U", ["@agent~ edge,ui"]),
    ("ui F | edge F | agent F | litellm F | vllm U", ["@litellm~ agent,edge,ui"]),
    ("ui F | edge U | agent U | litellm U | vllm U", ["@ui~"]),
    ("ui P | edge P | agent P | litellm F | vllm U", ["@litellm~"]),
    # UNKNOWN farther down, or above
    ("ui F | edge F | agent F | litellm P | vllm U", ["@agent edge,ui"]),
    ("ui U | edge U | agent F | litellm P | vllm P", ["@agent"]),
    ("ui U | edge F | agent F | litellm F | vllm F", ["@vllm litellm,agent,edge"]),
    # UNKNOWN within a fault interrupts nothing
    ("ui F | edge U | agent F | litellm P | vllm P", ["@agent ui"]),
    ("ui F | edge U | agent U | litellm U | vllm F", ["@vllm ui"]),
    ("ui F | edge U | agent F | litellm U | vllm P", ["@agent~ ui"]),
    ("ui F | edge U | agent P | litellm U | vllm F", ["@vllm", "@ui~"]),
    # hops without a verdict: neither good nor bad
    ("ui F | agent F", ["@agent ui"]),
    ("ui F | agent P", ["@ui"]),
    ("vllm F", ["@vllm"]),
    ("ui F", ["@ui"]),
    ("litellm F | agent P", ["@litellm"]),
    ("ui F | vllm F", ["@vllm ui"]),
    ("ui F | vllm P", ["@ui"]),
]


@pytest.mark.parametrize(("chain", "expected"), ONE_CHECK, ids=[chain or "no verdicts" for chain, _ in ONE_CHECK])
@pytest.mark.parametrize("check", ["visible_content", "reachable", "complete", "idle_timeout", "budget", "unheard_of"])
def test_one_check(check, chain, expected):
    findings = found_in(verdicts(chain, check=check, subject="x"))
    assert [brief(finding) for finding in findings] == [f"{check}{line}" for line in expected]


@pytest.mark.parametrize(
    ("chain", "edge"),
    [
        ("ui F | edge F | agent F | litellm P | vllm P", ("agent", "litellm")),
        ("agent P | litellm F | vllm P", ("litellm", "vllm")),
        ("agent F | litellm W | vllm P", ("agent", "litellm")),
        ("agent F | litellm F | vllm F", None),
        ("agent F | litellm U | vllm P", None),
        ("agent F | litellm U | vllm U", None),
        ("ui F | agent P", ("ui", "agent")),
        ("ui F", None),
    ],
)
def test_the_edge_is_where_good_turns_bad(chain, edge):
    (finding,) = found_in(verdicts(chain))
    assert finding.edge == edge


@pytest.mark.parametrize(
    ("chain", "probed", "severity"),
    [
        ("ui F | edge F | agent F | litellm F | vllm F", PROBED, "critical"),
        ("ui F | edge P | agent P | litellm P | vllm P", PROBED, "critical"),
        ("ui P | edge F | agent F | litellm F | vllm F", PROBED, "warning"),
        ("ui U | edge F | agent F | litellm F | vllm F", PROBED, "warning"),
        ("agent F | litellm F | vllm F", ("agent", "litellm", "vllm"), "critical"),
        ("agent P | litellm F | vllm F", ("agent", "litellm", "vllm"), "warning"),
        ("vllm F", ("vllm",), "critical"),
        ("vllm F", ("litellm", "vllm"), "warning"),
        ("ui F | vllm F", ("vllm", "ui"), "critical"),
    ],
)
def test_it_is_critical_where_the_topmost_probed_hop_is_affected(chain, probed, severity):
    (finding,) = found_in(verdicts(chain), probed=probed)
    assert finding.severity is Severity(severity)


# one root cause seen through several checks

SEVERAL = [
    pytest.param(
        [
            verdicts("ui F | agent F | litellm F | vllm F"),
            verdicts("ui F | agent F | litellm F | vllm F", check="first_visible"),
        ],
        ["visible_content@vllm litellm,agent,ui"],
        id="all tokens go into reasoning: nothing visible, and so never in time",
    ),
    pytest.param(
        [
            verdicts("ui F | agent F | litellm F | vllm F"),
            verdicts("ui F | agent F | litellm F | vllm F", check="idle_timeout", subject="browser/ui-idle"),
            verdicts("ui F | agent F | litellm F | vllm F", check="first_visible"),
            verdicts("ui F | agent F | litellm F | vllm F", check="answer"),
        ],
        ["visible_content@vllm litellm,agent,ui"],
        id="and the same through every other check",
    ),
    pytest.param(
        [
            verdicts("ui F | edge F | agent F | litellm P | vllm P", check="idle_timeout", subject="browser/ui-idle"),
            verdicts("agent W | litellm P", check="streaming", subject="reasoning"),
        ],
        ["idle_timeout@agent edge,ui"],
        id="the agent strips reasoning: silence is born there",
    ),
    pytest.param(
        [
            verdicts("ui F | edge F | agent F | litellm P | vllm P", check="idle_timeout", subject="browser/ui-idle"),
            verdicts("edge P | agent F | litellm P", check="streaming", subject="reasoning"),
        ],
        ["streaming@agent edge,ui"],
        id="against its word: stripping is the cause of the silence",
    ),
    pytest.param(
        [
            verdicts("ui F | edge F | agent P | litellm P | vllm P", check="complete", subject="edge/nginx"),
            verdicts("ui U | edge U | agent P | litellm P | vllm P"),
        ],
        ["complete@edge ui"],
        id="cut at the edge",
    ),
    pytest.param(
        [
            verdicts("ui F | edge F | agent P | litellm P | vllm P", check="complete", subject="edge/nginx"),
            verdicts("agent F | litellm P | vllm P", check="idle_timeout", subject="edge/nginx"),
        ],
        ["idle_timeout@agent edge,ui"],
        id="the silence of the agent explains the cut by the timer above it",
    ),
    pytest.param(
        [
            verdicts("ui F | edge F | agent P | litellm P | vllm P", check="complete", subject="edge/nginx"),
            verdicts("agent F | litellm P | vllm P", check="idle_timeout", subject="edge/other"),
        ],
        ["idle_timeout@agent", "complete@edge ui"],
        id="another timer explains nothing",
    ),
    pytest.param(
        [
            verdicts("ui F | edge F | agent P | litellm P | vllm P", check="complete", subject="edge/nginx"),
            verdicts(
                "ui F | edge F | agent F | litellm P | vllm P", check="idle_timeout", subject="browser/ui", limit=30.0
            ),
            verdicts("agent F | litellm P | vllm P", check="idle_timeout", subject="edge/nginx", limit=60.0),
        ],
        ["idle_timeout@agent edge,ui"],
        id="one silence, two timers and a cut",
    ),
    pytest.param(
        [
            verdicts("ui F | agent F | litellm F | vllm F", check="reachable"),
            verdicts("ui U | agent U | litellm U | vllm U"),
        ],
        ["reachable@vllm litellm,agent,ui"],
        id="the engine is down",
    ),
    pytest.param(
        [
            verdicts("ui P | agent P | litellm F | vllm F", check="reachable"),
            verdicts("ui F | agent F | litellm U | vllm U"),
        ],
        ["reachable@vllm litellm,agent,ui"],
        id="the agent hides it behind an empty answer",
    ),
    pytest.param(
        [
            verdicts("ui P | agent P | litellm P | vllm F", check="complete"),
            verdicts("ui F | agent F | litellm U | vllm U"),
            verdicts("agent F | litellm U", check="streaming", subject="visible"),
            verdicts("ui F", check="reasoning_leak"),
        ],
        ["complete@vllm agent,ui"],
        id="a break explains failures of any check above it",
    ),
    pytest.param(
        [
            verdicts("agent P | litellm F | vllm P", check="reachable"),
            verdicts("agent F | litellm U | vllm P"),
        ],
        ["reachable@litellm agent"],
        id="what is fine below the break does not matter",
    ),
    pytest.param(
        [
            verdicts("edge P | agent F | litellm P", check="streaming", subject="reasoning"),
            verdicts("agent F | litellm P", check="idle_timeout", subject="edge/nginx"),
            verdicts("ui F | edge F | agent P", check="complete", subject="edge/nginx"),
        ],
        ["streaming@agent edge,ui"],
        id="stripped, so silent, so cut",
    ),
    pytest.param(
        [
            verdicts("ui P | agent P | litellm P | vllm F", check="reachable"),
            verdicts("ui F | agent F | litellm P | vllm U"),
        ],
        ["reachable@vllm", "visible_content@agent ui"],
        id="but not past a hop that is fine: we may not reach the engine, others do",
    ),
    pytest.param(
        [
            verdicts("ui P | agent F | litellm P | vllm P", check="complete"),
            verdicts("ui P | agent F | litellm F | vllm F"),
        ],
        ["visible_content@vllm litellm,agent", "complete@agent"],
        id="nor what began below it",
    ),
    pytest.param(
        [
            verdicts("agent F | litellm P", check="complete"),
            verdicts("agent F | litellm P", check="first_visible"),
            verdicts("agent F | litellm P", check="reasoning_leak"),
            verdicts("agent F | litellm P", check="unheard_of"),
        ],
        ["complete@agent"],
        id="a break explains every failure of the same answer",
    ),
    pytest.param(
        [verdicts("agent F | litellm P", check="reachable"), verdicts("agent F | litellm P", check="complete")],
        ["reachable@agent"],
        id="no answer at all is no cut",
    ),
    pytest.param(
        [
            verdicts("agent F | litellm P", check="idle_timeout", subject="a", limit=60.0),
            verdicts("agent F | litellm P", check="idle_timeout", subject="b", limit=30.0),
        ],
        ["idle_timeout@agent"],
        id="several timers, one silence",
    ),
    pytest.param(
        [
            verdicts("agent F | litellm P", check="idle_timeout", subject="a"),
            verdicts("agent F | litellm F | vllm F", check="idle_timeout", subject="b"),
        ],
        ["idle_timeout@vllm litellm,agent", "idle_timeout@agent"],
        id="two silences",
    ),
    pytest.param(
        [
            verdicts("litellm F | vllm P", check="budget", subject="thinking_token_budget"),
            verdicts("litellm F | vllm F", check="budget", subject="thinking_budget"),
        ],
        ["budget@vllm litellm", "budget@litellm"],
        id="two parameters are two causes",
    ),
    pytest.param(
        [
            verdicts("agent F | litellm F | vllm P", check="budget", subject="thinking_token_budget"),
            verdicts("agent F | litellm F | vllm P"),
        ],
        ["budget@litellm agent"],
        id="an ignored budget explains that nothing visible was left",
    ),
    pytest.param(
        [verdicts("agent F | litellm P", check="reasoning_leak"), verdicts("agent F | litellm P", check="answer")],
        ["answer@agent", "reasoning_leak@agent"],
        id="what explains nothing stands alone",
    ),
    pytest.param(
        [
            verdicts("agent F | litellm P", check="idle_timeout", subject="a"),
            verdicts("agent F | litellm P", check="first_visible"),
            verdicts("vllm F", check="first_visible", variant="long"),
        ],
        ["first_visible@vllm", "idle_timeout@agent"],
        id="each variant for itself",
    ),
]


@pytest.mark.parametrize(("groups", "expected"), SEVERAL)
def test_several_checks(groups, expected):
    assert [brief(finding) for finding in found_in(*groups)] == expected


@pytest.mark.parametrize(("groups", "expected"), SEVERAL)
def test_the_order_of_the_verdicts_does_not_matter(groups, expected):
    assert sorted(brief(finding) for finding in found_in(*reversed(groups))) == sorted(expected)


@pytest.mark.parametrize(
    ("groups", "expected"),
    [
        pytest.param([("streaming", "ui F | edge F | agent P")], [], id="explains nothing"),
        pytest.param(
            [("streaming", "edge F | agent P"), ("idle_timeout", "edge F | agent P")], [], id="explains what is unasked"
        ),
        pytest.param(
            [("streaming", "edge F | agent P"), ("budget", "litellm F | vllm P")],
            ["budget@litellm"],
            id="something else fails",
        ),
        pytest.param(
            [("streaming", "edge F | agent P"), ("baseline", "edge F | agent P")],
            ["streaming@edge"],
            id="explains what was asked",
        ),
    ],
)
def test_what_was_not_asked_is_found_only_where_it_explains(groups, expected):
    given = [verdicts(chain, check=check) for check, chain in groups]
    found = found_in(*given, unasked=("streaming", "idle_timeout"))
    assert [f"{each.check}@{each.origin}" for each in found] == expected
    assert found_in(*given) != (), "where all is asked for"


def test_of_several_timers_the_first_to_cut_speaks_whatever_their_limits():
    """An idle timer of 20 s over a silence that begins late cuts after a person who waits for 30 s from the start."""
    (finding,) = found_in(
        verdicts(
            "agent F | litellm P",
            check="idle_timeout",
            subject="edge/nginx",
            limit=20.0,
            reasons={"agent": "would_fire_later"},
        ),
        verdicts("agent F | litellm P", check="idle_timeout", subject="browser/ui", limit=30.0),
    )
    assert finding.subject == "browser/ui"


def test_of_several_timers_the_first_to_fire_speaks():
    (finding,) = found_in(
        verdicts("agent F | litellm P", check="idle_timeout", subject="edge/nginx", limit=60.0),
        verdicts("agent F | litellm P", check="idle_timeout", subject="browser/ui", limit=30.0),
    )
    assert finding.subject == "browser/ui"
    assert "explains idle_timeout (edge/nginx) too" in finding.message


def test_a_cut_keeps_the_subject_of_its_origin():
    """Who cut it is a suspicion of each hop's own, not a second thing that was looked at."""
    (finding,) = found_in(
        verdicts("ui F | agent P", check="complete"), verdicts("edge F", check="complete", subject="edge/nginx")
    )
    assert (finding.edge, finding.affected, finding.subject) == (("edge", "agent"), ("ui",), "edge/nginx")


# variants


def test_the_same_fault_in_several_variants_is_one_finding():
    (finding,) = found_in(
        verdicts("agent F | litellm P", variant="plain"),
        verdicts("agent P | litellm P", variant="budget"),
        verdicts("ui F | agent F | litellm P", variant="long"),
    )
    assert brief(finding) == "visible_content@agent ui"
    assert finding.variant == "plain"
    assert finding.message.endswith("Seen in 2 of 3 variants.")
    assert finding.severity is Severity.CRITICAL


def test_the_variant_that_locates_it_better_speaks():
    (finding,) = found_in(
        verdicts("agent F | litellm U", variant="plain"), verdicts("agent F | litellm P", variant="long")
    )
    assert (finding.at_or_below, finding.edge, finding.variant) == (False, ("agent", "litellm"), "long")


def test_one_silence_in_several_variants_is_one_finding_whatever_timer_hears_it():
    (finding,) = found_in(
        verdicts("agent F | litellm P", check="idle_timeout", subject="edge/nginx", limit=60.0, variant="plain"),
        verdicts("agent F | litellm P", check="idle_timeout", subject="browser/ui", limit=30.0, variant="long"),
    )
    assert finding.subject == "browser/ui"
    assert "Seen in 2 of 2 variants." in finding.message


def test_different_origins_in_different_variants_are_two_findings():
    found = found_in(verdicts("agent F | litellm P", variant="plain"), verdicts("litellm F | vllm P", variant="long"))
    assert [brief(finding) for finding in found] == ["visible_content@litellm", "visible_content@agent"]


def test_one_variant_is_not_counted():
    (finding,) = found_in(verdicts("agent F | litellm P"))
    assert "variant" not in finding.message


def test_the_worst_of_several_verdicts_on_one_thing_counts():
    both = [*verdicts("agent P | litellm P"), *verdicts("agent F")]
    assert [brief(finding) for finding in found_in(both)] == ["visible_content@agent"]
    assert [brief(finding) for finding in found_in(reversed(both))] == ["visible_content@agent"]


# evidence and words


def test_evidence_holds_both_sides_of_the_edge_and_what_follows():
    (finding,) = found_in(
        verdicts("ui F | agent F | litellm P | vllm P"), verdicts("agent F | litellm P", check="first_visible")
    )
    seen = [(found.hop, found.verdict.check, found.verdict.status.value) for found in finding.evidence]
    assert seen == [
        ("agent", "visible_content", "FAIL"),
        ("litellm", "visible_content", "PASS"),
        ("ui", "visible_content", "FAIL"),
        ("agent", "first_visible", "FAIL"),
    ]


MESSAGES = [
    pytest.param(
        verdicts("ui F | agent F | litellm P | vllm P"),
        "Nothing visible comes from agent: visible_content F with its numbers; at litellm: visible_content P with its"
        " numbers. ui is affected.",
        id="edge",
    ),
    pytest.param(
        verdicts("ui F | edge F | agent F | litellm F | vllm F", check="reachable"),
        "vllm gives no usable answer: reachable F with its numbers. litellm, agent, edge and ui are affected.",
        id="engine",
    ),
    pytest.param(
        verdicts("agent F | litellm U | vllm U", check="complete"),
        "The stream of agent or a hop below it does not end as it should: complete F with its numbers; vllm and litellm"
        " could not be judged (complete U with its numbers).",
        id="at or below",
    ),
    pytest.param(
        verdicts("litellm F | vllm P", check="budget", subject="p", reasons={"litellm": "ignored", "vllm": "honoured"}),
        "`p` is lost between litellm and vllm: budget F with its numbers; at vllm: budget P with its numbers.",
        id="a budget that gets lost",
    ),
    pytest.param(
        verdicts(
            "litellm F | vllm P", check="budget", subject="p", reasons={"litellm": "rejected", "vllm": "honoured"}
        ),
        "`p` is rejected at litellm and honoured at vllm: budget F with its numbers; at vllm: budget P with its"
        " numbers.",
        id="a budget that is refused",
    ),
    pytest.param(
        verdicts("litellm F | vllm P", check="budget", subject="p", reasons={"litellm": "ignored", "vllm": "ignored"}),
        "`p` does not do at litellm what is expected: budget F with its numbers; at vllm: budget P with its numbers.",
        id="a budget that the engine is expected to ignore is lost nowhere",
    ),
    pytest.param(
        verdicts("litellm F | vllm F", check="budget", subject="p", reasons={"litellm": "ignored", "vllm": "ignored"}),
        "`p` does not do at vllm what is expected: budget F with its numbers. litellm is affected.",
        id="a budget that the engine ignores",
    ),
    pytest.param(
        verdicts("agent F | litellm P", check="idle_timeout", subject="browser/ui-idle"),
        "browser/ui-idle would cut the stream of agent: idle_timeout F with its numbers; at litellm: idle_timeout P"
        " with its numbers.",
        id="timer",
    ),
    pytest.param(
        verdicts("agent F", check="unheard_of"),
        "unheard_of fails at agent: unheard_of F with its numbers.",
        id="any check",
    ),
]


@pytest.mark.parametrize(
    ("groups", "said"),
    [
        pytest.param(
            [verdicts("ui F | edge F | litellm F | vllm P", check="reachable", reasons={"litellm": "not_found"})],
            "edge and ui are affected.",
            id="what relays it",
        ),
        pytest.param(
            [verdicts("ui F | edge F | litellm F | vllm P", check="reachable", reasons={"edge": "connect"})],
            "edge and ui are affected. edge cannot be reached either, which this does not explain.",
            id="two are down",
        ),
        pytest.param(
            [
                verdicts("litellm F | vllm P", check="complete"),
                verdicts("ui F | edge F | litellm P | vllm P", check="reachable", reasons={"ui": "tls", "edge": "dns"}),
            ],
            "edge and ui are affected. edge and ui cannot be reached either, which this does not explain. This explains"
            " reachable too.",
            id="and the one below is not down",
        ),
    ],
)
def test_what_is_down_by_itself_is_said(groups, said):
    """It is on one page, or a host that is lost would be a page for each hop; but mending the origin is not enough."""
    (finding,) = found_in(*groups)
    assert finding.message.endswith(f" {said}")


@pytest.mark.parametrize(("chain", "message"), MESSAGES)
def test_messages(chain, message):
    (finding,) = found_in(chain)
    assert finding.message == message


def test_a_budget_lost_at_the_gateway():
    (finding,) = found_in(
        verdicts("litellm F | vllm P", check="budget", subject="p", reasons={"litellm": "ignored", "vllm": "honoured"})
    )
    assert (finding.edge, finding.reason, finding.subject) == (("litellm", "vllm"), "ignored", "p")


def test_a_budget_honoured_through_the_gateway_and_ignored_by_the_engine_blames_the_engine():
    (finding,) = found_in(verdicts("agent P | litellm P | vllm F", check="budget", subject="extra_body.p"))
    assert (finding.origin, finding.affected, finding.severity) == ("vllm", (), Severity.WARNING)


# every combination

THREE = ("agent", "litellm", "vllm")
ALL_CHAINS = [
    " | ".join(f"{hop} {letter}" for hop, letter in zip(THREE, letters, strict=True))
    for letters in product("PWFU", repeat=3)
]


def failing(chain):
    return [part.split()[0] for part in chain.split(" | ") if part.endswith(" F")]


@pytest.mark.parametrize("check", ["visible_content", "complete", "idle_timeout"])
@pytest.mark.parametrize("chain", ALL_CHAINS)
def test_every_failure_belongs_to_exactly_one_finding(chain, check):
    findings = found_in(verdicts(chain, check=check), probed=THREE)
    claimed = [hop for finding in findings for hop in (finding.origin, *finding.affected)]
    assert sorted(claimed) == sorted(failing(chain))


@pytest.mark.parametrize("chain", ALL_CHAINS)
def test_an_origin_has_no_failure_below_it_before_the_next_hop_that_does_not_fail(chain):
    letters = dict(part.split() for part in chain.split(" | "))
    for finding in found_in(verdicts(chain), probed=THREE):
        below = [letters[hop] for hop in THREE[THREE.index(finding.origin) + 1 :]]
        until = next((index for index, letter in enumerate(below) if letter in "PW"), len(below))
        assert set(below[:until]) <= {"U"}
        assert finding.at_or_below is bool(below[:until])
        assert (finding.edge is None) is (until == len(below) or until > 0)


@pytest.mark.parametrize("first", ALL_CHAINS[::3])
@pytest.mark.parametrize("second", ["reachable", "complete", "first_visible", "answer"])
def test_every_failing_hop_is_claimed_through_two_checks_too(first, second):
    """Two checks over all chains: no failing hop is lost, whatever explains whatever."""
    for other in ALL_CHAINS:
        findings = found_in(verdicts(first), verdicts(other, check=second), probed=THREE)
        claimed = {hop for finding in findings for hop in (finding.origin, *finding.affected)}
        assert claimed == set(failing(first)) | set(failing(other))
        keys = [(finding.check, finding.origin) for finding in findings]
        assert len(keys) == len(set(keys))
        proofs = [
            (f.hop, f.verdict.check)
            for finding in findings
            for f in finding.evidence
            if f.verdict.status is Status.FAIL
        ]
        expected = [(hop, "visible_content") for hop in failing(first)] + [(hop, second) for hop in failing(other)]
        assert sorted(proofs) == sorted(expected)

"""A world in which runs happen and time passes; nothing is decided in it but by `canary.alerting`.

Chains are written from the user down, as in the tests of localise: `ui F | agent F | litellm P | vllm P`.
"""

from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

from canary.alerting import Known, Rules, acknowledge, after, conclude, retire, tick
from canary.checks.localise import localise
from canary.core.finding import HopVerdict
from canary.core.incident import State
from canary.core.route import Match as Matched
from canary.core.route import Policy, Receiver, Route
from canary.core.run import HopResult, Run
from canary.core.spec import Assignment, BudgetTest, Hop, Pipeline, Probe, QuestionTemplate
from canary.core.timeout import Clock, Timeout, TimerPhase
from canary.core.verdict import Status, Verdict
from tests.fakes.evidence import evidence

NOW = datetime(2026, 3, 2, 12, tzinfo=UTC)
LETTERS = {"P": Status.PASS, "W": Status.WARN, "F": Status.FAIL, "U": Status.UNKNOWN}
HOPS = ("browser", "ui", "agent", "litellm", "vllm")  # the browser is not probed
PROBES = ("heavy", "tiny", "long")
SEEN = evidence()
UI_IDLE = Timeout(name="idle", phase=TimerPhase.IDLE, clock=Clock.EVENT, limit_s=30.0, hop="browser")


def hop(name, *, pipeline="chat", shared=("litellm", "vllm"), timeouts=()):
    """Hops named in `shared` have the same URL in every pipeline."""
    host = name if name in shared else f"{name}.{pipeline}"
    return Hop(name=name, url=None if name == "browser" else f"http://{host}:8000/v1/x", timeouts=timeouts)


def pipeline(name="chat", *, hops=HOPS, shared=("litellm", "vllm"), probes=PROBES, **labels):
    return Pipeline(
        name=name,
        hops=tuple(hop(h, pipeline=name, shared=shared, timeouts=(UI_IDLE,) if h == "browser" else ()) for h in hops),
        labels=labels or {"env": "prod"},
        assignments=tuple(assignment(probe) for probe in probes),
    )


def assignment(name="heavy", *, checks=None, first_visible_s=20.0, budgets=("thinking_token_budget",), solver="add"):
    question = QuestionTemplate(text="", solver=solver)
    return Assignment(
        probe=Probe(name=name, summary="", questions=(question,), checks=checks),
        first_visible_s=first_visible_s,
        budgets=tuple(BudgetTest(parameter=each, tokens=64) for each in budgets),
    )


def receiver(name="on-call", *, edits=True):
    return Receiver(name=name, kind="webhook", options=None, edits=edits)


def rules(*pipelines, receivers=("on-call",), policy=None, **more):
    """With a `policy`, one route to the first receiver for everything."""
    routes = (Route(match=Matched(), receiver=receivers[0], policy=policy),) if policy else ()
    return Rules(
        pipelines=pipelines or (pipeline(),),
        receivers=tuple(receiver(name) for name in receivers),
        routes=more.pop("routes", routes),
        **more,
    )


def verdicts(chain, check="visible_content", *, subject=None, variant="plain", reasons=None, **numbers):
    found = []
    for part in filter(None, (part.strip() for part in chain.split("|"))):
        name, letter = part.split()
        reason = (reasons or {}).get(name, f"reason_{letter.lower()}")
        verdict = Verdict(
            check=check, status=LETTERS[letter], reason=reason, message=f"{check} {letter}", subject=subject, **numbers
        )
        found.append(HopVerdict(hop=name, variant=variant, verdict=verdict))
    return found


def run(*groups, run_id="r1", pipeline="chat", probe="heavy", hops=HOPS, at=NOW, cut_short=None, measured=SEEN):
    """Each group: a chain of `visible_content`, or what `verdicts` made of another check."""
    found = [each for group in groups for each in (verdicts(group) if isinstance(group, str) else group)]
    results = {}
    for each in found:
        results.setdefault((each.hop, each.variant), []).append(each.verdict)
    order = [name for name in reversed(hops) if any(hop == name for hop, _ in results)]
    return Run(
        id=run_id,
        pipeline=pipeline,
        probe=probe,
        started_at=at,
        results=tuple(
            HopResult(
                hop=name,
                variant=variant,
                observation=measured.observation,
                measurement=measured.measurement,
                verdicts=tuple(results[name, variant]),
            )
            for name in order
            for variant in dict.fromkeys(v for h, v in results if h == name)
        ),
        findings=() if cut_short else localise(found, hops, probed=[h for h in hops if h != "browser"]),
        cut_short=cut_short,
    )


@dataclass(kw_only=True)
class World:
    """`known` is what a store would give back; everything else is a record."""

    rules: Rules = field(default_factory=rules)
    known: Known = field(default_factory=Known)
    now: datetime = NOW
    runs: int = 0
    conclusions: list = field(default_factory=list)

    def see(self, *groups, **more):
        self.runs += 1
        return self.conclude(run(*groups, run_id=f"run-{self.runs}", at=self.now, **more))

    def conclude(self, seen, **more):
        return self._keep(conclude(seen, self.known, self.rules, self.now, **more))

    def tick(self, seconds=0.0):
        self.now += timedelta(seconds=seconds)
        return self._keep(tick(self.known, self.rules, self.now))

    def reload(self, new_rules):
        self.rules = new_rules
        return self._keep(retire(self.known, self.rules, self.now))

    def ack(self, page, who="kim"):
        return self._keep(acknowledge(page, who, self.known, self.rules, self.now))

    def restart(self):
        """What a store keeps: incidents that are not OK; pages that are open or were resolved within the hour."""
        self.known = Known(incidents=self.known.incidents, pages=tuple(p for p in self.known.pages if self._kept(p)))

    def _kept(self, page):
        return page.resolved_at is None or self.now - page.resolved_at < timedelta(hours=1)

    def _keep(self, conclusion):
        self.known = after(self.known, conclusion)
        self.conclusions.append(conclusion)
        return conclusion

    @property
    def told(self):
        """`receiver reason` of every message, in order."""
        return [f"{each.receiver} {each.reason}" for made in self.conclusions for each in made.notifications]

    @property
    def withheld(self):
        return [f"{each.receiver} {each.reason}" for made in self.conclusions for each in made.withheld]

    @property
    def messages(self):
        return [each.message for made in self.conclusions for each in made.notifications]

    @property
    def transitions(self):
        return [each for made in self.conclusions for each in made.transitions]

    @property
    def states(self):
        return {f"{each.key.check}@{each.key.origin}": each.state for each in self.known.incidents}

    @property
    def page(self):
        """The only page that there is."""
        (page,) = self.known.pages
        return page

    def open_pages(self):
        return [page for page in self.known.pages if page.resolved_at is None]


def often(world, pattern, *, every_s=60.0, **more):
    """One run after another, with a tick before each: `F`, `P` or `U` of visible_content at all hops."""
    for letter in pattern:
        world.tick(every_s)
        world.see(" | ".join(f"{name} {letter}" for name in HOPS[1:]), **more)


def policy(**more):
    return replace(Policy(), **more)


FIRING = State.FIRING

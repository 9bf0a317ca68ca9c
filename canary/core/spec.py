"""What to probe and what to expect: the frozen form of a config, and of the one-hop target of a command line.

Hops stand in the order of the path, from the user down to the engine, everywhere in this program.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType

from canary.core.observation import Json
from canary.core.route import Maintenance, Receiver, Route
from canary.core.schedule import Schedule
from canary.core.secret import Secret
from canary.core.service import Service
from canary.core.timeout import Timeout

DEFAULT_DEADLINE_S = 300.0  # of one request; the longest default of the timers that usually stand above an engine
_EMPTY: Mapping[str, Json] = MappingProxyType({})


class Expectation(StrEnum):
    """What a budget parameter is expected to do at a hop; a difference from it is a failure."""

    HONOURED = "honoured"
    IGNORED = "ignored"
    REJECTED = "rejected"


@dataclass(frozen=True, slots=True, kw_only=True)
class Tls:
    """How a hop's certificate is checked, and with which certificate we answer. Paths of PEM files.

    `ca_file` replaces the system's authorities; `server_name` is what the certificate must say, if not the host.
    """

    ca_file: str | None = None
    cert_file: str | None = None
    key_file: str | None = None
    verify: bool = True
    server_name: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Hop:
    """One member of the chain. Without a `url` it is not probed and only its timeouts count, like a browser.

    `timeouts` are the timers that it holds over the stream of the hop below it. `forwards_reasoning` None = unsaid.
    `keepalive_s`: the interval of the comments that it puts into its own stream while it has nothing to say.
    """

    name: str
    url: str | None = None
    protocol: str = "openai-chat"
    model: str | None = None
    headers: Mapping[str, str | Secret] = field(default_factory=lambda: MappingProxyType({}))
    body: Mapping[str, Json] = field(default_factory=lambda: _EMPTY)
    timeouts: tuple[Timeout, ...] = ()
    forwards_reasoning: bool | None = None
    inline_reasoning: bool = False
    keepalive_s: float | None = None
    stream: bool = True
    accept_encoding: str = "identity"
    tls: Tls | None = None
    proxy: str | None = None
    metrics_url: str | None = None  # where the engine or gateway shows its own numbers, in Prometheus' text format


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetTest:
    """One budget parameter to prove. `tokens` for caps; `value` for switches and levels.

    `expect_at` overrides `expect` for single hops by name.
    """

    parameter: str
    tokens: int | None = None
    value: str | bool | None = None
    expect: Expectation = Expectation.HONOURED
    expect_at: Mapping[str, Expectation] = field(default_factory=lambda: MappingProxyType({}))
    nonsense: bool = False  # also send a misspelt key, to learn whether the hop validates at all

    @property
    def asked(self) -> str | bool | int | None:
        """What is put in the parameter's place."""
        return self.tokens if self.tokens is not None else self.value

    def expected_at(self, hop: str) -> Expectation:
        return self.expect_at.get(hop, self.expect)


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionTemplate:
    """A question with parameters drawn anew in each run, so that no cache and no canned reply passes.

    `text` holds `{name}` places. `draws` gives each name's inclusive range. `solver` names a row of `prompts.SOLVERS`,
    `arguments` the names it takes, in order; without a solver the answer is not checked. `needle` is a sentence with
    `{name}` places too, hidden in the document that the question is about.
    """

    text: str
    language: str = "en"
    draws: Mapping[str, tuple[int, int]] = field(default_factory=lambda: MappingProxyType({}))
    solver: str | None = None
    arguments: tuple[str, ...] = ()
    needle: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe:
    """A canned probe: what to ask and with which settings. Lengths in tokens, times in seconds."""

    name: str
    summary: str
    questions: tuple[QuestionTemplate, ...]
    max_tokens: int = 4096
    temperature: float | None = None
    context_tokens: int = 0
    tool_call: bool = False
    checks: tuple[str, ...] | None = None  # None: all that apply
    body: Mapping[str, Json] = field(default_factory=lambda: _EMPTY)

    @property
    def needs_whole_answer(self) -> bool:
        """Whether its checks need the plain answer to its end: its beginning shows whether a hop is reachable."""
        return self.checks is None or not set(self.checks) <= {"reachable"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Assignment:
    """One probe in use by one pipeline."""

    probe: Probe
    schedule: Schedule | None = None  # None: only when asked for
    first_visible_s: float | None = None
    deadline_s: float = DEFAULT_DEADLINE_S
    budgets: tuple[BudgetTest, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Prices:
    """Money per million tokens, in `currency`, as the operator gives it."""

    input: float
    output: float
    currency: str = "USD"


@dataclass(frozen=True, slots=True, kw_only=True)
class Pipeline:
    """The ordered chain of hops and what is asked of it. `tokens_per_*`: the most that its probes may use."""

    name: str
    hops: tuple[Hop, ...]
    labels: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    assignments: tuple[Assignment, ...] = ()
    parallel: bool = False
    prices: Prices | None = None
    tokens_per_run: int | None = None
    tokens_per_day: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """All that a config says, checked and built."""

    pipelines: tuple[Pipeline, ...]
    receivers: tuple[Receiver, ...] = ()
    routes: tuple[Route, ...] = ()
    maintenance: tuple[Maintenance, ...] = ()
    service: Service = field(default_factory=Service)

import os
from pathlib import Path

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from canary.config.errors import ConfigError, one_of
from canary.config.load import load_plan
from canary.config.schema import ConfigFile
from canary.config.show import describe
from canary.config.source import read
from canary.core.jsonable import as_json
from canary.core.schedule import Every
from canary.core.secret import Secret
from canary.core.spec import BudgetTest, Expectation, Plan
from canary.core.timeout import Clock, Outcome, StartsAt, Timeout, TimerPhase
from tests.config.conftest import SECRET

HERE = Path(__file__).parent
GOOD = HERE / "good"
EXAMPLE = HERE.parent.parent / "config" / "canary.example.yaml"
ONE = """
pipelines:
  - name: {name}
    hops: [{{name: a, url: "http://a/v1", model: m}}]
    probes: [{{use: quick}}]
"""


@pytest.fixture
def corners(env: dict[str, str]) -> Plan:
    return load_plan([GOOD / "corners.yaml"], env=env)


def problems(paths: list[Path], env: dict[str, str]) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        load_plan(paths, env=env)
    return [str(problem) for problem in caught.value.problems]


@pytest.mark.parametrize("path", sorted(GOOD.glob("*.yaml")), ids=lambda path: path.name)
def test_a_good_file_loads(path: Path, env: dict[str, str]):
    assert load_plan([path], env=env).pipelines


def test_includes_come_after_their_file_and_each_once(corners: Plan):
    assert [pipeline.name for pipeline in corners.pipelines] == ["corners", "same-but-parallel", "even-more"]


def test_scalars_are_those_of_yaml_1_2(corners: Plan):
    pipeline = corners.pipelines[0]
    assert dict(pipeline.labels) == {
        "country": "no",
        "tier": "1",
        "at": "12:30:00",
        "day": "2026-01-01",
        "empty_looking": "null",
    }
    assert pipeline.hops[0].name == "no"
    assert dict(pipeline.hops[1].body) == {
        "price": "${not a reference}",
        "nested": [1, 2.5, True, None, {"a": "b"}],
        "hex": 16,
        "exp": 1000.0,
    }


def test_references_are_opened_where_nothing_is_secret(corners: Plan):
    hop = corners.pipelines[0].hops[1]
    assert (hop.url, hop.model) == ("http://vllm.example.com:8000/v1/chat/completions", "env-model")


def test_secrets_stay_secrets_and_headers_meet_in_any_case(corners: Plan):
    assert {
        "X-Plain": "a b",
        "X-Secret": Secret(f"v1 {SECRET}"),
        "Authorization": Secret(f"Bearer {SECRET}"),
        "X-Other": "default",
    } == dict(corners.pipelines[0].hops[1].headers)


def test_timers(corners: Plan):
    nginx, whole, words = corners.pipelines[0].hops[1].timeouts
    assert (nginx.preset, nginx.phase, nginx.limit_s, nginx.hop) == ("nginx", TimerPhase.IDLE, 90.0, "vllm")
    assert whole == Timeout(
        name="all",
        phase=TimerPhase.TOTAL,
        clock=Clock.BYTE,
        limit_s=5400.0,
        starts=StartsAt.REQUEST_START,
        outcome=Outcome.RESET,
        hop="vllm",
    )
    assert (words.clock, words.limit_s) == (Clock.TOKEN, 0.25)


def test_a_merged_mapping_gives_way_to_the_keys_beside_it(corners: Plan):
    original, copy = corners.pipelines[0].hops[1:]
    assert ("copy", 15.0, original.url) == (copy.name, copy.keepalive_s, copy.url)
    assert [timer.hop for timer in copy.timeouts] == ["copy"] * 3
    assert (corners.pipelines[0].parallel, corners.pipelines[1].parallel) == (False, True)


def test_of_merged_mappings_the_first_wins(tmp_path: Path):
    merged = "labels: {first: &a {k: a, only-a: a}, second: &b {k: b, only-b: b}, own: {<<: [*a, *b], only-b: own}}"
    (tmp_path / "x.yaml").write_text(merged, encoding="utf-8")
    data = read(tmp_path / "x.yaml", "x.yaml").data
    assert data["labels"]["own"] == {"k": "a", "only-a": "a", "only-b": "own"}


def test_probes_take_defaults_and_their_own(corners: Plan):
    quick, own, tiny = corners.pipelines[0].assignments
    assert (quick.schedule, quick.first_visible_s, quick.deadline_s) == (Every(seconds=600.0), 20.0, 60.0)
    assert (own.schedule, own.first_visible_s, own.deadline_s) == (Every(seconds=86400.0), 30.0, 90.0)
    assert (own.probe.name, own.probe.max_tokens, own.probe.checks) == ("own-probe", 100, ("complete",))
    assert tiny.budgets[0] == BudgetTest(
        parameter="thinking_token_budget",
        tokens=0,
        expect_at={"vllm": Expectation.IGNORED, "copy": Expectation.REJECTED},
    )
    assert [budget.value for budget in tiny.budgets] == [None, "none", False, None]
    assert [budget.nonsense for budget in tiny.budgets] == [False, False, True, False]
    assert Expectation.REJECTED is tiny.budgets[3].expect


def test_paths_are_relative_to_the_file_that_says_them(corners: Plan):
    hop = corners.pipelines[2].hops[0]
    assert hop.tls is not None
    assert (GOOD / "secrets/ca.pem").samefile(hop.tls.ca_file or "")
    assert not hop.tls.verify
    assert {"X-Key": Secret(SECRET)} == dict(hop.headers)


def test_basic_auth(tmp_path: Path, env: dict[str, str]):
    auth = 'auth: {basic: {username: canary, password: "${env:PASSWORD}"}}'
    (tmp_path / "a.yaml").write_text(ONE.format(name="a").replace("model: m", f"model: m, {auth}"), encoding="utf-8")
    plan = load_plan([tmp_path / "a.yaml"], env=env | {"PASSWORD": "open sesame"})
    assert {"Authorization": Secret("Basic Y2FuYXJ5Om9wZW4gc2VzYW1l")} == dict(plan.pipelines[0].hops[0].headers)


def test_no_printed_form_of_a_plan_holds_a_secret(corners: Plan):
    printed = "\n".join([repr(corners), str(as_json(corners)), *describe(corners)])
    assert SECRET not in printed
    assert "***" in printed


def test_a_folder_is_all_of_its_yaml_files(env: dict[str, str]):
    plan = load_plan([GOOD / "folder"], env=env)
    assert [pipeline.name for pipeline in plan.pipelines] == ["one", "two"]


def test_a_file_that_comes_twice_counts_once(env: dict[str, str]):
    plan = load_plan([GOOD / "folder", GOOD / "folder" / "one.yaml"], env=env)
    assert [pipeline.name for pipeline in plan.pipelines] == ["one", "two"]


def test_two_files_may_not_name_the_same_pipeline(tmp_path: Path, env: dict[str, str]):
    for name in ("a", "b"):
        (tmp_path / f"{name}.yaml").write_text(ONE.format(name="same"), encoding="utf-8")
    assert [
        (
            f"{tmp_path}/b.yaml:3: pipelines[0].name: found a second pipeline of this name, "
            "expected a name of its own for each pipeline"
        )
    ] == problems([tmp_path], env)


def test_every_file_speaks_and_files_keep_their_order(tmp_path: Path, env: dict[str, str]):
    for name in ("z", "a"):
        (tmp_path / f"{name}.yaml").write_text(ONE.format(name=name) + "wrong: 1\n", encoding="utf-8")
    keys = one_of(sorted(ConfigFile.model_fields))
    wrong = f"6: wrong: found an unknown key, expected {keys}"
    paths = [tmp_path / "z.yaml", tmp_path / "no.yaml", tmp_path / "a.yaml"]
    assert [
        f"{tmp_path}/z.yaml:{wrong}",
        f"{tmp_path}/no.yaml: found no such file, expected a YAML file",
        f"{tmp_path}/a.yaml:{wrong}",
    ] == problems(paths, env)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        pytest.param(
            lambda p: p.mkdir(), "found no YAML file in this folder, expected one or more YAML files", id="empty"
        ),
        pytest.param(lambda p: p.symlink_to(p), "found no such file, expected a YAML file", id="symlink to itself"),
        pytest.param(lambda p: p.write_bytes(b"#" * 2**21), "found more than 1048576 bytes, expected", id="huge"),
        pytest.param(lambda _: None, "found no such file, expected a YAML file", id="missing"),
        pytest.param(os.mkfifo, "found a pipe or a device, expected a YAML file", id="pipe"),
    ],
)
def test_what_is_no_config_file(tmp_path: Path, env: dict[str, str], make, message: str):
    make(tmp_path / "x")
    (found,) = problems([tmp_path / "x"], env)
    assert found.startswith(f"{tmp_path}/x: {message}")


def test_no_path_at_all(env: dict[str, str]):
    assert problems([], env) == ['no file: found no pipeline, expected at least one below "pipelines"']


def places_of(tree, path=()):
    """The path of every value in a tree of YAML."""
    yield path
    for key, value in tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ():
        yield from places_of(value, (*path, key))


TREE = yaml.safe_load(EXAMPLE.read_text(encoding="utf-8"))
PLACES = [place for place in places_of(TREE) if place]
ANY_VALUE = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.sampled_from(["${env:KEY}", "off", "$${"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)


@settings(max_examples=60, deadline=None)
@given(place=st.sampled_from(PLACES), value=ANY_VALUE, extra=st.none() | st.text(max_size=5))
def test_whatever_stands_in_a_config_it_loads_or_says_what_is_wrong(tmp_path_factory, example_env, place, value, extra):
    tree = yaml.safe_load(EXAMPLE.read_text(encoding="utf-8"))
    parent = tree
    for part in place[:-1]:
        parent = parent[part]
    parent[place[-1]] = value
    if extra is not None and isinstance(parent, dict):
        parent[extra] = value
    path = tmp_path_factory.getbasetemp() / "any.yaml"
    path.write_text(yaml.safe_dump(tree, allow_unicode=True), encoding="utf-8")
    env = example_env | {"KEY": "free to be seen"}
    problems = ()
    try:
        text = "\n".join(describe(load_plan([path], env=env)))
    except ConfigError as error:
        text, problems = str(error), error.problems
    assert "another value" not in text
    assert SECRET not in text
    assert all(problem.line or problem.found == "no pipeline" for problem in problems)

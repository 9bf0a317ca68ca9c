import json
from dataclasses import fields
from pathlib import Path

import pytest
import yaml

from canary.checks import CHECKS
from canary.config.json_schema import json_schema
from canary.config.receivers import SECTIONS, key_of
from canary.core.finding import Severity
from canary.core.service import LogFormat
from canary.core.spec import Expectation
from canary.notify import NOTIFIERS
from canary.wire import WIRES
from canary.wire.budgets import BUDGETS

EXAMPLES = Path(__file__).parent.parent.parent / "config"


def sections(schema: dict) -> dict[str, dict]:
    return {"ConfigFile": schema, **schema["$defs"]}


def test_it_is_json():
    assert json.loads(json.dumps(json_schema())) == json_schema()


OPTIONS = {section.__name__ for section in SECTIONS.values()}  # described as a whole, where they are defined


def test_every_key_says_what_it_is_and_no_other_key_is_allowed():
    for name, section in sections(json_schema()).items():
        assert section["additionalProperties"] is False or name == "MatchSection", name
        assert name not in OPTIONS or section["description"]
        for key, value in section["properties"].items():
            assert value.get("description") or name in OPTIONS, f"{name}.{key}"


def test_any_other_key_of_a_match_is_the_text_of_a_label():
    assert sections(json_schema())["MatchSection"]["additionalProperties"]["type"] == "string"


@pytest.mark.parametrize(
    ("section", "key", "names"),
    [
        pytest.param("HopSection", "protocol", WIRES, id="protocols"),
        pytest.param("ProbeSection", "checks", CHECKS, id="checks"),
        pytest.param("BudgetEntry", "parameter", BUDGETS, id="budget parameters"),
        pytest.param("BudgetEntry", "expect", map(str, Expectation), id="expectations"),
        pytest.param("MatchSection", "severity", map(str, Severity), id="severities"),
        pytest.param("LogSection", "format", map(str, LogFormat), id="log formats"),
    ],
)
def test_names_come_from_their_tables(section: str, key: str, names):
    text = json.dumps(sections(json_schema())[section]["properties"][key])
    assert all(f'"{name}"' in text for name in names)


@pytest.mark.parametrize("kind", ["string", "number"])
def test_a_duration_is_text_or_a_number(kind: str):
    every = sections(json_schema())["ProbeSection"]["properties"]["every"]
    assert f'"type": "{kind}"' in json.dumps(every)


def test_every_notifier_and_each_of_its_options_is_a_key():
    schema = sections(json_schema())
    assert {"name", *NOTIFIERS} == set(schema["ReceiverSection"]["properties"])
    for kind, section in SECTIONS.items():
        options = {key_of(field.name) for field in fields(NOTIFIERS[kind].options)}
        assert options == set(schema[section.__name__]["properties"]), kind


def test_the_example_uses_every_key():
    """What the example leaves out it shows in a comment; of a receiver's options only those that it needs."""
    text = (EXAMPLES / "canary.example.yaml").read_text(encoding="utf-8")
    assert yaml.safe_load(text)
    missing = {
        key
        for name, section in sections(json_schema()).items()
        for key in (section.get("required", []) if name in OPTIONS else section["properties"])
        if f"{key}:" not in text
    }
    assert missing == set()

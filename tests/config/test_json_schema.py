import json
from pathlib import Path

import pytest
import yaml

from canary.checks import CHECKS
from canary.config.json_schema import json_schema
from canary.core.spec import Expectation
from canary.wire import WIRES
from canary.wire.budgets import BUDGETS

EXAMPLES = Path(__file__).parent.parent.parent / "config"


def sections(schema: dict) -> dict[str, dict]:
    return {"ConfigFile": schema, **schema["$defs"]}


def test_it_is_json():
    assert json.loads(json.dumps(json_schema())) == json_schema()


def test_every_key_says_what_it_is_and_no_other_key_is_allowed():
    for name, section in sections(json_schema()).items():
        assert section["additionalProperties"] is False, name
        for key, value in section["properties"].items():
            assert value.get("description"), f"{name}.{key}"


@pytest.mark.parametrize(
    ("section", "key", "names"),
    [
        pytest.param("HopSection", "protocol", WIRES, id="protocols"),
        pytest.param("ProbeSection", "checks", CHECKS, id="checks"),
        pytest.param("BudgetEntry", "parameter", BUDGETS, id="budget parameters"),
        pytest.param("BudgetEntry", "expect", map(str, Expectation), id="expectations"),
    ],
)
def test_names_come_from_their_tables(section: str, key: str, names):
    text = json.dumps(sections(json_schema())[section]["properties"][key])
    assert all(f'"{name}"' in text for name in names)


@pytest.mark.parametrize("kind", ["string", "number"])
def test_a_duration_is_text_or_a_number(kind: str):
    every = sections(json_schema())["ProbeSection"]["properties"]["every"]
    assert f'"type": "{kind}"' in json.dumps(every)


def test_the_example_uses_every_key():
    """What the example leaves out it shows in a comment."""
    text = (EXAMPLES / "canary.example.yaml").read_text(encoding="utf-8")
    assert yaml.safe_load(text)
    missing = {
        key for section in sections(json_schema()).values() for key in section["properties"] if f"{key}:" not in text
    }
    assert missing == set()

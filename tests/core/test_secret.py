import copy
import json
import pickle

import pytest

from canary.core.jsonable import as_json
from canary.core.secret import Secret

VALUE = "sk-live-0123456789"


@pytest.mark.parametrize(
    "show",
    [str, repr, lambda s: f"{s}", lambda s: f"{s!r:>40}", lambda s: json.dumps(as_json({"a": s})), lambda s: repr([s])],
    ids=["str", "repr", "format", "padded repr", "json", "inside a list"],
)
def test_a_secret_never_shows(show):
    shown = show(Secret(VALUE))
    assert VALUE not in shown
    assert "***" in shown


def test_a_secret_is_revealed_on_purpose_only():
    assert Secret(VALUE).reveal() == VALUE


@pytest.mark.parametrize("leak", [pickle.dumps, copy.deepcopy])
def test_a_secret_is_not_copied_into_anything(leak):
    with pytest.raises(TypeError, match="never pickled"):
        leak(Secret(VALUE))


def test_secrets_compare_by_value_and_only_with_secrets():
    assert Secret(VALUE) == Secret(VALUE)
    assert hash(Secret(VALUE)) == hash(Secret(VALUE))
    assert Secret(VALUE) != Secret("other")
    assert Secret(VALUE) != VALUE

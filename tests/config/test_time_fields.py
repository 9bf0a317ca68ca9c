import pytest

from canary.config.time_fields import unknown_zone


@pytest.mark.parametrize(
    ("names", "expected", "suggestion"),
    [
        pytest.param(set(), "a time zone, and this system has none", "install tzdata", id="no zones at all"),
        pytest.param(
            {"UTC", "Asia/Seoul"},
            "a time zone like Europe/Berlin or UTC",
            'did you mean "Asia/Seoul"?',
            id="the city alone",
        ),
        pytest.param({"UTC"}, "a time zone like Europe/Berlin or UTC", None, id="nothing near"),
    ],
)
def test_what_is_said_of_an_unknown_zone(names: set[str], expected: str, suggestion: str | None):
    """What a system without zones says must not depend on this one's."""
    context = unknown_zone("seoul", names).context
    assert context is not None
    assert (context["expected"], context["suggestion"]) == (expected, suggestion)

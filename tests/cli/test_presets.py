import json

from canary.config.presets import presets


def test_all_presets_are_listed(canary):
    said = canary("presets")
    assert said.code == 0
    assert [name for name in presets() if name not in said.out] == []


def test_one_preset_shows_what_resets_each_timer_and_its_source(canary):
    said = canary("presets", "alb")
    assert "aws-alb" in said.out
    assert "restarted by byte" in said.out
    assert "https://" in said.out


def test_json_is_one_object_a_component(canary):
    rows = [json.loads(line) for line in canary("presets", "--json").out.splitlines()]
    assert [row["id"] for row in rows] == list(presets())
    assert all(timer["source"] for row in rows for timer in row["timers"])

"""A build that was interrupted is not a build. Runs with the quick tests: no network, no servers."""

from pathlib import Path

import pytest

from tests.real.lab.built import MARKER, built


def write(folder: Path) -> None:
    folder.mkdir()
    (folder / "product").write_text("whole")


def test_builds_once_for_one_key(tmp_path: Path):
    folder = built(tmp_path / "thing", "pins", write)
    (folder / "product").write_text("kept")
    assert (built(folder, "pins", write) / "product").read_text() == "kept"


def test_a_changed_key_builds_anew_from_nothing(tmp_path: Path):
    folder = built(tmp_path / "thing", "old pins", write)
    (folder / "left over").touch()
    assert {"product", MARKER} == {path.name for path in built(folder, "new pins", write).iterdir()}


def test_a_build_that_failed_is_thrown_away(tmp_path: Path):
    def interrupted(folder: Path) -> None:
        folder.mkdir()
        (folder / "half").touch()
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        built(tmp_path / "thing", "pins", interrupted)
    assert (tmp_path / "thing" / "half").exists()
    assert {"product", MARKER} == {path.name for path in built(tmp_path / "thing", "pins", write).iterdir()}


def test_a_folder_without_a_marker_is_thrown_away(tmp_path: Path):
    (tmp_path / "thing").mkdir()
    (tmp_path / "thing" / "half").touch()
    assert not (built(tmp_path / "thing", "pins", write) / "half").exists()

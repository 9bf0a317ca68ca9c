"""A run as a picture in a file, in the form that the file's name asks for."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

from canary.analysis.picture import picture
from canary.analysis.svg import svg
from canary.cli.errors import UsageError
from canary.core.run import Run
from canary.notify.picture import png


def draw(run: Run, target: Path) -> None:
    """Raises UsageError where there is nothing to draw, or no way to."""
    made = _drawn(run, target)
    try:
        target.write_bytes(made)
    except OSError as error:
        msg = f"cannot write {target}: {error.strerror}"
        raise UsageError(msg) from None


def _drawn(run: Run, target: Path) -> bytes:
    if not run.results:
        msg = f"there is nothing to draw: no stream of run {run.id} was kept"
        raise UsageError(msg)
    if target.suffix == ".svg":
        return svg(picture(run)).encode()
    if target.suffix != ".png":
        msg = f"{target} must end in .svg or .png"
        raise UsageError(msg)
    if find_spec("PIL") is None:
        msg = "a PNG needs pillow; install reasoning-canary[png], or write an .svg"
        raise UsageError(msg)
    return png(picture(run))

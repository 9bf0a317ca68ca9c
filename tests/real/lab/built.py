"""Things that are slow to build and kept between sessions: a virtual environment, a model folder.

They live outside the clone, in `CANARY_LAB_HOME` (default `~/.cache/canary-lab`). Each is a folder with a marker file
that holds the key it was built from. The marker is written last and by rename, so a build that was interrupted at any
point has none and is thrown away; a folder whose key is not the wanted one (a changed pin) is thrown away too. A lock
file beside the folder keeps two sessions from building the same thing at once.
"""

import fcntl
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

MARKER = ".built-from"


def lab_home() -> Path:
    named = os.environ.get("CANARY_LAB_HOME")
    return Path(named) if named else Path.home() / ".cache" / "canary-lab"


def built(folder: Path, key: str, build: Callable[[Path], None]) -> Path:
    """`folder`, built from `key`: as it is when its marker says so, else emptied and built anew."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with _locked(folder.with_name(f"{folder.name}.lock")):
        if _key_of(folder) != key:
            if folder.exists():
                shutil.rmtree(folder)
            build(folder)
            draft = folder / f"{MARKER}.draft"
            draft.write_text(key, encoding="utf-8")
            draft.replace(folder / MARKER)
    return folder


def _key_of(folder: Path) -> str | None:
    try:
        return (folder / MARKER).read_text(encoding="utf-8")
    except FileNotFoundError:
        return None


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield

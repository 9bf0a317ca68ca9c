"""What the image does, without an image: the wheel in an empty environment, a user who may write one folder only.

No container engine is needed, so that this runs wherever the tests run; the Dockerfile does the same steps.
"""

import asyncio
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.fakes.llm_server import SSE_HEAD, LlmServer, chunk, delta
from tests.real.lab.processes import free_port

pytestmark = pytest.mark.real

ROOT = Path(__file__).parents[2]
UID = 10001
GRACE_S = 3
THINKING = [(0.0, SSE_HEAD), (0.0, chunk(delta(reasoning="hm")))]  # and then nothing, with the connection open


@dataclass(frozen=True)
class Image:
    """What a container would hold: `canary` to run, `app` that nobody may write, `data` that the user may."""

    canary: Path
    app: Path
    data: Path


@pytest.fixture(scope="module")
def image() -> Iterator[Image]:
    """pytest's own temporary folders are closed to other users, so this one is made by hand."""
    if os.geteuid() != 0:
        pytest.skip("becoming another user needs root")
    base = Path(tempfile.mkdtemp(prefix="canary-image-"))
    base.chmod(0o755)
    try:
        subprocess.run([sys.executable, "-m", "venv", base / "venv"], check=True)
        pip = [base / "venv/bin/pip", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*pip, "wheel", "--no-deps", "--wheel-dir", base / "wheels", ROOT], check=True)
        (wheel,) = (base / "wheels").glob("*.whl")
        subprocess.run([*pip, "install", wheel], check=True)
        (base / "app").mkdir()
        (base / "data").mkdir()
        os.chown(base / "data", UID, UID)
        yield Image(canary=base / "venv/bin/canary", app=base / "app", data=base / "data")
    finally:
        shutil.rmtree(base)


def write_config(image: Image, url: str, port: int) -> None:
    (image.app / "canary.yaml").write_text(
        json.dumps(
            {
                "listen": {"address": f"127.0.0.1:{port}"},
                "storage": {"url": f"sqlite:///{image.data}/canary.db"},
                "shutdown_grace": f"{GRACE_S}s",
                "pipelines": [
                    {
                        "name": "chat",
                        "hops": [{"name": "engine", "url": url, "model": "m"}],
                        "probes": [{"use": "quick", "every": "1m"}],
                    }
                ],
            }
        )
    )


async def test_runs_as_nobody_in_a_read_only_folder_and_leaves_in_time(image: Image):
    port = free_port()
    async with LlmServer(THINKING) as engine, asyncio.timeout(120):
        write_config(image, engine.url, port)
        daemon = await asyncio.create_subprocess_exec(
            *(image.canary, "run", "--config", image.app / "canary.yaml"),
            cwd=image.app,
            user=UID,
            group=UID,
            extra_groups=(),
            env={"PATH": "/usr/bin", "HOME": "/nonexistent", "PYTHONDONTWRITEBYTECODE": "1"},
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        try:
            await engine.arrived.wait()  # a stream is running, and will not end by itself
            ready = await asyncio.to_thread(urllib.request.urlopen, f"http://127.0.0.1:{port}/-/ready")
            loop = asyncio.get_running_loop()
            asked_at = loop.time()
            daemon.send_signal(signal.SIGTERM)
            out, _ = await daemon.communicate()
            took_s = loop.time() - asked_at
        finally:
            if daemon.returncode is None:
                daemon.kill()
    log = out.decode()
    assert daemon.returncode == 0, log
    assert ready.status == 200
    assert GRACE_S <= took_s < GRACE_S + 10, log
    assert "Traceback" not in log
    assert sorted(path.name for path in image.app.iterdir()) == ["canary.yaml"]
    assert (image.data / "canary.db").stat().st_uid == UID
    history = [image.canary, "history", "--config", image.app / "canary.yaml", "--json"]
    shown = await asyncio.to_thread(subprocess.run, history, check=True, capture_output=True, text=True, cwd=image.app)
    assert "shutdown" in shown.stdout, shown.stdout


def test_the_image_holds_what_the_wheel_needs():
    """The Dockerfile copies what the build reads: nothing that it needs is left out of the build stage."""
    copied = set(re.findall(r"^COPY (?!--from)(.+) \S+$", (ROOT / "Dockerfile").read_text(), re.MULTILINE))
    names = {name for line in copied for name in line.split()}
    assert names == {"pyproject.toml", "README.md", "LICENSE", "canary", "probes"}

"""Chromium looks at every page of the demo daemon, in both languages, light and dark, from a phone to a wide screen.

What it must find: no error in the console, no request to anybody else, nothing that sticks out sideways, and nothing
serious among axe-core's rules. The pictures stay in pytest's folder for whoever wants to see them.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

import pytest

from tests.real.lab.built import built, lab_home
from tests.real.lab.processes import free_port

pytestmark = pytest.mark.real

REQUIREMENTS = Path(__file__).parent / "requirements" / "pages.txt"
LOOKER = Path(__file__).parent / "lab" / "looker.mjs"
WIDTHS, SCHEMES = [360, 1280, 1920], ["light", "dark"]
SERIOUS = {"serious", "critical"}
WITHIN_S = 120.0


def _program(*names):
    found = next((path for name in names if (path := shutil.which(name))), None)
    if found is None:
        missing = f"{names[0]} is not installed; on Debian: apt-get install chromium nodejs npm"
        if os.environ.get("CI"):
            pytest.fail(missing)
        pytest.skip(missing)
    return found


def _install(folder):
    folder.mkdir(parents=True)
    wanted = REQUIREMENTS.read_text("utf-8").split()
    command = [
        _program("npm"),
        "install",
        "--ignore-scripts",
        "--no-audit",
        "--no-fund",
        "--prefix",
        str(folder),
        *wanted,
    ]
    subprocess.run(command, check=True, capture_output=True, timeout=300)


@pytest.fixture(scope="module")
def modules():
    _program("npm"), _program("node"), _program("chromium", "chromium-browser", "google-chrome")
    return built(lab_home() / "pages", REQUIREMENTS.read_text("utf-8"), _install) / "node_modules"


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    """The base URL of a demo daemon that has an open incident."""
    port = free_port()
    log = tmp_path_factory.mktemp("demo") / "log"
    command = [sys.executable, "-m", "canary", "demo", "--listen", f"127.0.0.1:{port}", "--scale", "0.3"]
    with log.open("wb") as output, subprocess.Popen(command, stdout=output, stderr=output) as process:
        try:
            base = f"http://127.0.0.1:{port}"
            _until(lambda: "incidents/" in _get(base + "/"), log)
            yield base
        finally:
            process.terminate()


def _get(url):
    try:
        with urlopen(url, timeout=10) as answer:
            return answer.read().decode()
    except (URLError, OSError):
        return ""


def _until(done, log):
    end = time.monotonic() + WITHIN_S
    while not done():
        assert time.monotonic() < end, log.read_text("utf-8")[-2000:]
        time.sleep(0.5)  # another process, which tells nobody when it is ready


def look(base, modules, out, pages, **more):
    plan = {
        "base": base,
        "pages": pages,
        "widths": WIDTHS,
        "schemes": SCHEMES,
        "headers": {},
        "out": str(out),
        "modules": str(modules),
        "chromium": _program("chromium", "chromium-browser", "google-chrome"),
        **more,
    }
    (out / "plan.json").write_text(json.dumps(plan), "utf-8")
    command = [_program("node"), str(LOOKER), str(out / "plan.json")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout)


def pages_of(base):
    front, pipeline = _get(f"{base}/"), _get(f"{base}/pipelines/demo")
    return {
        "front": "/",
        "pipeline": "/pipelines/demo",
        "pipeline-90d": "/pipelines/demo?range=90d",
        "run": "/" + re.search(r'href="\.\./(runs/\w+)"', pipeline)[1],
        "incident": "/" + re.search(r'href="(incidents/\w+)"', front)[1],
    }


@pytest.mark.parametrize("language", ["en", "ko"])
def test_every_page_in_a_browser(demo, modules, tmp_path, language):
    joined = {
        f"{name}-{language}": f"{path}{'&' if '?' in path else '?'}lang={language}"
        for name, path in pages_of(demo).items()
    }
    seen = look(demo, modules, tmp_path, joined)
    assert len(seen) == len(joined) * len(WIDTHS) * len(SCHEMES)
    for each in seen:
        place = (each["name"], each["width"], each["scheme"])
        assert each["status"] == 200, place
        assert each["said"] == [], place
        assert [url for url in each["asked"] if not url.startswith(demo)] == [], place
        assert each["overflow"] <= 0, place
        assert each["first"] == "#main", place  # the way past what is the same on every page
        assert [found for found in each["violations"] if found["impact"] in SERIOUS] == [], place


def test_every_link_leads_somewhere(demo, modules, tmp_path):
    seen = look(demo, modules, tmp_path, pages_of(demo), scripts=False, widths=[1280], schemes=["light"])
    links = {link.partition("#")[0] for each in seen for link in each["links"]}
    assert len(links) > 20
    assert [link for link in sorted(links) if not link.startswith(demo) or not _get(link)] == []


def test_every_page_without_scripts(demo, modules, tmp_path):
    seen = look(demo, modules, tmp_path, pages_of(demo), scripts=False, widths=[1280], schemes=["light"])
    assert [each["status"] for each in seen] == [200] * len(seen)
    assert not [url for each in seen for url in each["asked"] if url.endswith(".js")]

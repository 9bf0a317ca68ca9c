"""A public client of Statuspage (npm: statuspage.io) reads our documents and finds what its own types promise."""

import asyncio
import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from aiohttp import web

from canary.web.statuspage_v2 import DOCUMENTS
from tests.fakes.boards import STATES
from tests.fakes.served import served
from tests.real.lab.built import built, lab_home

pytestmark = pytest.mark.real

PACKAGES = ("statuspage.io@3.3.8", "typescript@5.9.3", "axios@1.12.2")
READER = Path(__file__).parent / "lab" / "statuspage_reader.js"
INSTALL_LIMIT_S = 600.0
# Its types give the updates of maintenance the words of incidents; documented are scheduled, in_progress, completed.
THEIR_SLIP = re.compile(r"\w+\.scheduled_maintenances\[\d+\]\.incident_updates\[\d+\]\.status: ")


@pytest.fixture(scope="session")
def modules():
    if shutil.which("npm") is None:
        missing = "npm is not installed; on Debian: apt-get install nodejs npm"
        pytest.fail(missing) if os.environ.get("CI") else pytest.skip(missing)

    def install(folder):
        folder.mkdir(parents=True)
        quiet = ("--no-audit", "--no-fund", "--ignore-scripts", "--prefix", str(folder))
        subprocess.run(["npm", "install", *quiet, *PACKAGES], check=True, capture_output=True, timeout=INSTALL_LIMIT_S)

    return built(lab_home() / "statuspage-client", "\n".join(PACKAGES), install) / "node_modules"


@pytest.fixture(scope="session")
def found(modules):
    """What the client reads of every state, and what of it is not what its types say."""
    names = list(STATES)

    async def answer(request):
        board = STATES[names[int(request.match_info["state"])]]
        return web.json_response(DOCUMENTS[request.match_info["document"]](board))

    async def read():
        app = web.Application()
        app.router.add_get("/{state}/api/v2/{document:.+}", answer)
        async with served(app) as url:
            urls = [f"{url}/{number}" for number in range(len(names))]
            node = await asyncio.create_subprocess_exec(
                str(shutil.which("node")), str(READER), str(modules), *urls, stdout=asyncio.subprocess.PIPE
            )
            async with asyncio.timeout(120):
                out, _ = await node.communicate()
        return dict(zip(names, json.loads(out), strict=True))

    return asyncio.run(read())


@pytest.mark.parametrize("state", STATES)
def test_a_public_client_reads_it(found, state):
    seen, board = found[state], STATES[state]
    assert [each for each in seen["wrong"] if not THEIR_SLIP.match(each)] == []
    assert seen["broken"], "the types are looked at"
    assert seen["read"]["Summary"] == DOCUMENTS["summary.json"](board)
    assert seen["read"]["Unresolved"]["incidents"] == seen["read"]["Summary"]["incidents"]

"""`canary run` with a sampler on its loop: `python watched_daemon.py CONFIG`.

Every few seconds a line of JSON on stdout: tasks, and how late the loop was since the line before, at every tick.
"""

import asyncio
import json
import os
import sys
import time
from pathlib import Path

from canary.config.load import load_plan
from canary.daemon import Config, run_daemon

TICK_S = 0.01
LINE_S = 5.0


async def main(config: Path) -> None:
    sampler = asyncio.create_task(sample())
    await run_daemon(Config(load=lambda: load_plan([config], env=os.environ)), stop=asyncio.Event())
    sampler.cancel()


async def sample() -> None:
    while True:
        late_s, began = [], time.monotonic()
        while time.monotonic() - began < LINE_S:
            due = time.monotonic() + TICK_S
            await asyncio.sleep(TICK_S)
            late_s.append(round(time.monotonic() - due, 5))
        print(json.dumps({"tasks": len(asyncio.all_tasks()), "late_s": late_s}), flush=True)


asyncio.run(main(Path(sys.argv[1])))

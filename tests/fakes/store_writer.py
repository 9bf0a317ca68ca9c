"""Processes that save runs until they are killed: `python -m tests.fakes.store_writer DATABASE LIVES`.

One process imports all that is needed, and forks one writer after another. Each says `open PID`, then the id of every
run once it is stored; `over` is said for it when it is dead.
"""

import asyncio
import os
import sys
from dataclasses import replace

from canary.core.secret import Secret
from canary.core.service import Storage
from canary.core.verdict import Status
from canary.store import open_store
from tests.fakes.stored import NOTHING, after, conclusion_of, notification_of, run_of, transition_of


async def write(path, life):
    async with open_store(Storage(url=Secret(f"sqlite:///{path}"))) as store:
        print("open", os.getpid(), flush=True)
        for n in range(1_000_000):
            name = f"life{life}-{n}"
            run = run_of(name, after(seconds=n), status=Status.FAIL)
            told = notification_of(name, page_id=name, run_id=name)
            changed = transition_of(name, run_id=name)
            concluded = replace(conclusion_of(name), transitions=(changed,), notifications=(told,))
            await store.save_run(run, concluded if n % 3 else NOTHING, quiet=True)
            print(name, flush=True)


def main():
    path, lives = sys.argv[1], int(sys.argv[2])
    for life in range(lives):
        child = os.fork()
        if child == 0:
            asyncio.run(write(path, life))
        os.waitpid(child, 0)
        print("over", flush=True)


if __name__ == "__main__":
    main()

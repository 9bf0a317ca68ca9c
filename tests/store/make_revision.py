"""Writes revisions/NAME.sql, a small database of the newest revision: run it once, when there is a new one.

PYTHONPATH=. python tests/store/make_revision.py
"""

import asyncio
import sqlite3
import tempfile
from pathlib import Path

from canary.core.secret import Secret
from canary.core.service import Storage
from canary.core.verdict import Status
from canary.store import open_store
from canary.store.migrate import newest
from tests.fakes.stored import GOOD, NOTHING, after, conclusion_of, result_of, run_of


async def write(path):
    async with open_store(Storage(url=Secret(f"sqlite:///{path}"), passed_transcript_every=10**9)) as store:
        results = (result_of(GOOD, hop="vllm", status=Status.FAIL),)
        await store.save_run(run_of("r1", status=Status.FAIL, results=results), conclusion_of(), quiet=True)
        await store.save_run(run_of("r2", after(minutes=1), hops=("vllm",)), NOTHING, quiet=True)


def main():
    target = Path(__file__).parent / "revisions" / f"{newest()}.sql"
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "canary.db"
        asyncio.run(write(path))
        connection = sqlite3.connect(path)
        target.write_text("\n".join(connection.iterdump()) + "\n", encoding="utf-8")
        connection.close()


if __name__ == "__main__":
    main()

"""What is kept: runs and what followed from them, and the outbox, in SQLite or PostgreSQL."""

from canary.core.kept import Delivered, Held, RunRow, StoredResult, StoredRun
from canary.store.errors import AmbiguousIdError, StoreError, StoreTrouble
from canary.store.rows import Pruned, Queued
from canary.store.store import Store, open_store

__all__ = [
    "AmbiguousIdError",
    "Delivered",
    "Held",
    "Pruned",
    "Queued",
    "RunRow",
    "Store",
    "StoreError",
    "StoreTrouble",
    "StoredResult",
    "StoredRun",
    "open_store",
]

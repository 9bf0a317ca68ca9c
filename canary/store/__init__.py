"""What is kept: runs and what followed from them, and the outbox, in SQLite or PostgreSQL."""

from canary.core.kept import Delivered, Held, RunRow, StoredResult, StoredRun
from canary.store.codec import CodecError
from canary.store.errors import PASSING, AmbiguousIdError, StoreError, StoreTrouble
from canary.store.rows import Pruned, Queued, Unreadable
from canary.store.store import Store, open_store, store_at

__all__ = [
    "PASSING",
    "AmbiguousIdError",
    "CodecError",
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
    "Unreadable",
    "open_store",
    "store_at",
]

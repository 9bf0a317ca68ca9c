"""A real store that can be away: all of it, or only for writing."""

from canary.store import StoreError, StoreTrouble

_READS = ("due", "history", "silences", "deploys", "dead_letters", "incidents", "pages", "latest")


class Away:
    """`away`: what trouble every call has now, None for none; `reads`: whether reading works all the same.

    `dies_at`: only the call of that name finds it unreachable.
    `breaks`: an exception of ours that the next writes raise, one after another.
    """

    def __init__(self, store):
        self.real = store
        self.away = None
        self.reads = False
        self.dies_at = None
        self.breaks = []
        self.calls = []
        self.aside = store.aside

    def __getattr__(self, name):
        async def call(*args, **kwargs):
            self.calls.append(name)
            if name == self.dies_at:
                raise StoreError(StoreTrouble.UNREACHABLE, "the database is unreachable")
            if self.away is not None and not (self.reads and name in _READS):
                raise StoreError(StoreTrouble(self.away), f"the database is {self.away}")
            if self.breaks and name not in _READS and (error := self.breaks.pop(0)):
                raise error
            return await getattr(self.real, name)(*args, **kwargs)

        return call

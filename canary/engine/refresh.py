"""Receivers that forget: an Alertmanager keeps alerts in memory and drops what nobody sends again.

While a page is open, the last thing that such a receiver was told is said again every so often, as it was. It is no
notification: nothing new is said, so it is in no outbox, and what becomes of it is only logged.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from datetime import datetime

from canary.core.notification import Notification


@dataclass(slots=True)
class Refresh:
    last: dict[tuple[str, str], tuple[Notification, datetime]] = field(default_factory=dict)

    def note(self, notification: Notification, at: datetime) -> None:
        self.last[notification.page_id, notification.receiver] = (notification, at)

    def due(
        self, open_pages: Collection[str], every_s: Callable[[str], float | None], now: datetime
    ) -> tuple[Notification, ...]:
        """What to say again now. `every_s`: by receiver's name; None: it does not forget. Closed pages are dropped."""
        self.last = {lane: said for lane, said in self.last.items() if lane[0] in open_pages}
        found = []
        for (_, receiver), (notification, at) in self.last.items():
            period_s = every_s(receiver)
            if period_s is not None and not 0 <= (now - at).total_seconds() < period_s:  # the clock may be set back
                found.append(notification)
        for notification in found:
            self.note(notification, now)
        return tuple(found)

"""What follows from one run, or from time passing: all of it is stored in one transaction."""

from __future__ import annotations

from dataclasses import dataclass

from canary.core.incident import Incident, Page, Transition
from canary.core.notification import Notification, Withheld


@dataclass(frozen=True, slots=True, kw_only=True)
class Conclusion:
    """`incidents` and `pages`: those that changed, as they are now. An incident in state OK is over.

    `confirm`: a first failure wants another run at once.
    """

    incidents: tuple[Incident, ...] = ()
    pages: tuple[Page, ...] = ()
    transitions: tuple[Transition, ...] = ()
    notifications: tuple[Notification, ...] = ()
    withheld: tuple[Withheld, ...] = ()
    confirm: bool = False

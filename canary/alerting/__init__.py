"""From findings to what people are told. Pure: the time is an argument, and ids follow from what they name.

`conclude` a run, `tick` as time passes, `acknowledge` a page, `retire` after a reload, `rejoin` what only
the store knew: each gives a `Conclusion`, and `after` gives what is known once it is stored.
"""

from __future__ import annotations

from canary.alerting.conclude import acknowledge, after, conclude, rejoin, retire, tick
from canary.alerting.rules import Known, Rules, rules_of

__all__ = ["Known", "Rules", "acknowledge", "after", "conclude", "rejoin", "retire", "rules_of", "tick"]

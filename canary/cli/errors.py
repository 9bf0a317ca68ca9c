"""The user's fault, as opposed to the target's or ours."""

from __future__ import annotations


class UsageError(Exception):
    """Bad options, a file that cannot be read, a config that does not hold: exit 3, and the message is all there is."""

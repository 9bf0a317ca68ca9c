"""Time that is passed in: both clocks go on together, and the wall's can be set."""

from datetime import UTC, datetime, timedelta

from canary.engine.schedule import Clocks

START = datetime(2026, 3, 2, 12, tzinfo=UTC)  # a Monday


class Time:
    def __init__(self, start=START, steady_s=1000.0):
        self.wall = start
        self.steady_s = steady_s

    @property
    def clocks(self):
        return Clocks(steady=lambda: self.steady_s, wall=lambda: self.wall)

    def go(self, seconds):
        self.steady_s += seconds
        self.wall += timedelta(seconds=seconds)

    def set_wall(self, by_s):
        """The wall clock jumps; the steady one does not."""
        self.wall += timedelta(seconds=by_s)

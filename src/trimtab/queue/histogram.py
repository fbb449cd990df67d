"""A histogram of durations: plain numbers, because it is written to at every key that is worked on."""

from __future__ import annotations

from bisect import bisect_left
from itertools import accumulate
from typing import Final

BOUNDS: Final = tuple(10.0**exponent for exponent in range(-8, 4))
"""From 10 ns to 1,000 s, as controller-runtime's."""


class Histogram:
    """Counts how long things took."""

    __slots__ = ("counts", "total")

    def __init__(self) -> None:
        self.counts = [0] * (len(BOUNDS) + 1)  # the last: longer than any bound
        self.total = 0.0

    def observe(self, seconds: float) -> None:
        """Count one."""
        self.counts[bisect_left(BOUNDS, seconds)] += 1
        self.total += seconds

    def buckets(self) -> list[tuple[str, float]]:
        """How many took at most so long, as Prometheus wants it."""
        return list(zip([*map(str, BOUNDS), "+Inf"], map(float, accumulate(self.counts)), strict=True))

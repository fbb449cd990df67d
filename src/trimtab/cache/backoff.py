"""Growing pauses between failures. Pure: the clock and the dice are given."""

from __future__ import annotations

from collections.abc import Callable


class Backoff:
    """Pauses that double from `first` to `longest` seconds, each longer by up to `jitter` of itself.

    They begin anew when nothing failed for `reset_after` seconds. The numbers are client-go's for reflectors.
    """

    def __init__(
        self,
        *,
        clock: Callable[[], float],
        random: Callable[[], float],
        first: float = 0.8,
        longest: float = 30.0,
        jitter: float = 1.0,
        reset_after: float = 120.0,
    ) -> None:
        self._clock = clock
        self._random = random
        self._first = first
        self._longest = longest
        self._jitter = jitter
        self._reset_after = reset_after
        self._next = first
        self._last: float | None = None

    def pause(self) -> float:
        """Seconds to wait after a failure that happened now."""
        now = self._clock()
        if self._last is not None and now - self._last > self._reset_after:
            self._next = self._first
        self._last = now
        base = self._next
        self._next = min(base * 2, self._longest)
        return base * (1 + self._random() * self._jitter)

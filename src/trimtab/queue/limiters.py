"""How long a key waits before it is tried again. Pure: what needs a clock is given one.

The numbers are client-go's. None of these is global unless one is shared between queues.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Protocol

_ENOUGH: Final = 100  # doublings: beyond any bound, and not beyond a float


class Limiter(Protocol):
    """Says how long a key waits, and remembers how often it was asked."""

    def when(self, key: str) -> float:
        """Count a failure of this key, and say after how many seconds it may be tried again."""
        ...

    def forget(self, key: str) -> None:
        """Begin anew with this key: it succeeded, or is given up."""
        ...

    def retries(self, key: str) -> int:
        """How often this key failed since it was forgotten."""
        ...


class _Counting:
    """Counts the failures of each key."""

    def __init__(self) -> None:
        self._failures: dict[str, int] = {}

    def _count(self, key: str) -> int:
        """Count a failure, and say how many there were before it."""
        before = self._failures.get(key, 0)
        self._failures[key] = before + 1
        return before

    def forget(self, key: str) -> None:
        """Begin anew with this key."""
        self._failures.pop(key, None)

    def retries(self, key: str) -> int:
        """How often this key failed since it was forgotten."""
        return self._failures.get(key, 0)


class ItemExponential(_Counting):
    """Each key waits `first` seconds, then twice as long each time, up to `longest`."""

    def __init__(self, first: float = 0.005, longest: float = 1000.0) -> None:
        super().__init__()
        self._first = first
        self._longest = longest

    def when(self, key: str) -> float:
        """Count a failure of this key, and say after how many seconds it may be tried again."""
        return min(self._first * 2.0 ** min(self._count(key), _ENOUGH), self._longest)


class FastSlow(_Counting):
    """Each key waits `fast` seconds for its first `attempts` failures, `slow` seconds for those after."""

    def __init__(self, fast: float, slow: float, attempts: int) -> None:
        super().__init__()
        self._fast = fast
        self._slow = slow
        self._attempts = attempts

    def when(self, key: str) -> float:
        """Count a failure of this key, and say after how many seconds it may be tried again."""
        return self._fast if self._count(key) < self._attempts else self._slow


class TokenBucket:
    """All keys together are tried `rate` times a second, and `burst` times at once after a rest.

    Whoever asks has a place reserved: among many, the last waits for all those before it.
    """

    def __init__(self, *, clock: Callable[[], float], rate: float = 10.0, burst: int = 100) -> None:
        self._clock = clock
        self._rate = rate
        self._burst = burst
        self._tokens = float(burst)  # below zero: so many have a place reserved
        self._at = clock()

    def when(self, key: str) -> float:  # noqa: ARG002 (all keys are one to it)
        """Reserve a place, and say in how many seconds it is."""
        now = self._clock()
        self._tokens = min(self._tokens + (now - self._at) * self._rate, self._burst) - 1
        self._at = now
        return max(0.0, -self._tokens / self._rate)

    def forget(self, key: str) -> None:
        """Do nothing: it does not know keys."""

    def retries(self, key: str) -> int:  # noqa: ARG002 (it does not know keys)
        """Nothing is known of a key."""
        return 0


class MaxOf:
    """Waits as long as the strictest of several."""

    def __init__(self, *limiters: Limiter) -> None:
        self._limiters = limiters

    def when(self, key: str) -> float:
        """Ask all of them, and give the longest wait."""
        return max((limiter.when(key) for limiter in self._limiters), default=0.0)

    def forget(self, key: str) -> None:
        """Begin anew with this key."""
        for limiter in self._limiters:
            limiter.forget(key)

    def retries(self, key: str) -> int:
        """How often this key failed, by whichever counted most."""
        return max((limiter.retries(key) for limiter in self._limiters), default=0)

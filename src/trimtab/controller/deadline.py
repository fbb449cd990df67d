"""The time that a reconcile may take: counted when it has passed, also for one that does not end then."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

_NOTICE: Final = 1.0  # seconds in which a coroutine that was cancelled ends, so that its failure is told and no more


class Deadline:
    """Tells when the time has passed (`passed`), and of what goes on in spite of it (`goes_on`), each once.

    `in_thread` says whether a plain function is at work: nothing can end that, so it is told of at once.
    """

    def __init__(
        self, seconds: float, in_thread: Callable[[], bool], passed: Callable[[], None], goes_on: Callable[[], None]
    ) -> None:
        self._in_thread = in_thread
        self._passed = passed
        self._goes_on = goes_on
        self._loop = asyncio.get_running_loop()
        self._has_passed = False
        self._timer = self._loop.call_later(seconds, self._expire)

    def end(self, *, timed_out: bool) -> None:
        """The reconcile has ended; whether by its time, which may be known here first."""
        self._timer.cancel()
        if timed_out and not self._has_passed:
            self._has_passed = True
            self._passed()

    def _expire(self) -> None:
        self._has_passed = True
        self._passed()
        self._timer = self._loop.call_later(0 if self._in_thread() else _NOTICE, self._goes_on)

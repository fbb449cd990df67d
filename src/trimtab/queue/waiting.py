"""Lets the workers of an event loop wait for the queue. What is next, and when, the queue decides."""

from __future__ import annotations

import asyncio
from collections import deque
from typing import Final

from trimtab.queue.workqueue import Item, WorkQueue

_AT_A_TIME: Final = 16  # keys handed out to workers that never wait before others have their turn


class AsyncWorkQueue:
    """`async def get()` on a WorkQueue. Its clock has to go as fast as the loop's."""

    def __init__(self, queue: WorkQueue) -> None:
        self.queue = queue
        self._waiters: deque[asyncio.Future[None]] = deque()
        self._timer: asyncio.TimerHandle | None = None
        self._handed_out = 0

    async def get(self) -> Item | None:
        """Wait for the next key to work on; it has to be given back by `queue.done`. None: no more will come."""
        self._handed_out += 1
        if self._handed_out % _AT_A_TIME == 0:
            await asyncio.sleep(0)
        while (item := self.queue.take()) is None:
            if self.queue.finished:
                return None
            await self._wait()
        return item

    async def _wait(self) -> None:
        waiter = asyncio.get_running_loop().create_future()
        self._waiters.append(waiter)
        self.queue.listener = self._changed
        self._set_timer()
        try:
            await waiter
        except asyncio.CancelledError:
            if not waiter.cancelled():
                self._changed()  # it was woken for a key, and somebody else has to take that
            elif waiter in self._waiters:
                self._waiters.remove(waiter)
                self._nobody_waits()
            raise

    def _changed(self) -> None:
        """Wake whom it concerns: one for each key, all at the end."""
        if self.queue.finished:
            while self._waiters:
                self._wake()
        elif len(self.queue):
            self._wake()
        self._set_timer()

    def _wake(self) -> None:
        while self._waiters:
            waiter = self._waiters.popleft()
            if not waiter.done():
                waiter.set_result(None)
                break
        self._nobody_waits()

    def _nobody_waits(self) -> None:
        if not self._waiters:
            self.queue.listener = None  # while workers are busy, adding costs nothing more

    def _set_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._waiters and (ready := self.queue.next_ready()) is not None:
            delay = max(0.0, ready - self.queue.now())
            self._timer = asyncio.get_running_loop().call_later(delay, self._changed)

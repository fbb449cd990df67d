"""The fence: a Transport that lets no write pass unless we lead at the moment at which it is sent.

A lease alone does not keep a deposed leader from writing: one that was paused goes on where it was. So every write asks
here, not when it is asked for but when a connection is ready to take its bytes (`Request.before_sending`); waiting for
one may take longer than a lease lasts.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from typing import Final, Protocol

from trimtab.client import Request, Response, Stream, Transport, TransportError

_READS: Final = frozenset({"get", "list", "watch"})


class NotLeading(TransportError):
    """A write was not sent, because this process does not lead, or does no longer."""

    sent = False
    permanent = True


class Leadership(Protocol):
    """Who knows until when we may write."""

    @property
    def deadline(self) -> float | None:
        """By `clock`; None where we do not lead."""
        ...

    def clock(self) -> float:
        """The clock of the lease."""
        ...

    def refused(self) -> str:
        """A write came too late. Say in words how that came about; and look to it."""
        ...


class Fence:
    """Sends reads, and writes only while `leadership` lasts. What goes through it is never the lease's own."""

    def __init__(self, inner: Transport, leadership: Leadership) -> None:
        self._inner = inner
        self._leadership = leadership

    async def send(self, request: Request) -> Response:
        """Send, and wait for the whole answer. NotLeading where it is a write, and not ours to make."""
        if request.verb in _READS:
            return await self._inner.send(request)
        check = self._check(request)
        check()
        return await self._inner.send(replace(request, before_sending=check))

    def stream(self, request: Request) -> AbstractAsyncContextManager[Stream]:
        """Send, and hand out the answer as it arrives."""
        if request.verb not in _READS:
            check = self._check(request)
            check()
            request = replace(request, before_sending=check)
        return self._inner.stream(request)

    async def close(self) -> None:
        """Give back what it holds."""
        await self._inner.close()

    def _check(self, request: Request) -> Callable[[], None]:
        leadership = self._leadership

        def check() -> None:
            deadline = leadership.deadline
            if deadline is None or leadership.clock() >= deadline:
                raise NotLeading(f"cannot {request}: {leadership.refused()}; nothing was sent")

        return check

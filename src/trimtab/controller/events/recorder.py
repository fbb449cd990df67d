"""The recorder: takes events without waiting, and sends them while others work."""

from __future__ import annotations

import asyncio
import logging
import random as chance
import socket
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Final, Literal

from trimtab.client import AlreadyExists, ApiError, Client, MergePatch, NotFound, TransportError
from trimtab.controller.events.series import Aggregator, Entry, occurrence
from trimtab.errors import TrimtabError
from trimtab.kube.dynamic import Dynamic
from trimtab.kube.events.v1 import Event
from trimtab.kube.objects import Object
from trimtab.kube.timestamps import format_micro_time

_log = logging.getLogger("trimtab.events")

QUEUE: Final = 1000
"""How many events may wait to be sent."""
TRIES: Final = 12
"""How often an event is tried that the server could not take."""
PAUSE: Final = 10.0
"""Seconds between two tries, longer by up to a quarter."""

_WORKERS: Final = 4
_BETWEEN_CHECKS: Final = 60.0
_BUSY: Final = 429
_FAILED: Final = 500


def _wall() -> datetime:
    return datetime.now(UTC)


class Recorder:
    """Sends what controllers tell to the API server. `event` never waits and never fails because of the server.

    What waits is an event, not a request: while it waits its count goes on. So a server that is slow gets fewer
    requests, and the queue is as long as there are different events. What is dropped is logged, and counted in
    `dropped` by cause: `queue_full`, `tries` (given up), `rejected` (the server will never take it), `shutdown`.
    """

    def __init__(
        self,
        client: Client,
        *,
        instance: str | None = None,
        now: Callable[[], datetime] = _wall,
        random: Callable[[], float] = chance.random,
        queue: int = QUEUE,
    ) -> None:
        self.dropped: Counter[str] = Counter(dict.fromkeys(("queue_full", "tries", "rejected", "shutdown"), 0))
        self.written: Counter[str] = Counter({"create": 0, "patch": 0})
        self._client = client
        self._random = random
        self._limit = queue
        self._series = Aggregator(now=now, instance=instance or socket.gethostname())
        self._waiting: dict[int, Entry] = {}  # by id, in order
        self._sending: dict[int, Entry] = {}
        self._again: dict[int, Entry] = {}  # asked for while they were being sent
        self._wake = asyncio.Event()
        self._idle = asyncio.Event()
        self._idle.set()

    @property
    def waiting(self) -> int:
        """How many events wait or are being sent."""
        return len(self._waiting) + len(self._sending)

    def event(
        self,
        regarding: Object | Dynamic,
        type: Literal["Normal", "Warning"],  # noqa: A002  # its name in the API
        reason: str,
        note: str,
        *,
        action: str = "",
        related: Object | Dynamic | None = None,
        controller: str,
    ) -> None:
        """Tell something of an object. Raises only where no server could take it: a type or reason that is none."""
        said = occurrence(regarding, type, reason, note, action=action, related=related, controller=controller)
        if (entry := self._series.observe(said)) is not None:
            self._offer(entry)

    async def run(self) -> None:
        """Send, until cancelled."""
        async with asyncio.TaskGroup() as group:
            for _ in range(_WORKERS):
                group.create_task(self._work())
            while True:
                await asyncio.sleep(_BETWEEN_CHECKS)
                for entry in self._series.due():
                    self._offer(entry)

    async def flush(self, seconds: float) -> None:
        """End all series and wait until everything is sent, while `run` runs; what is not sent in time is dropped."""
        for entry in self._series.finish():
            self._offer(entry)
        try:
            async with asyncio.timeout(seconds):
                await self._idle.wait()
        except TimeoutError:
            for entry in (*self._sending.values(), *self._waiting.values()):
                self._drop("shutdown", entry, f"not sent within the {seconds:g} s that there were before the end")
            self._waiting.clear()
            self._again.clear()

    def _offer(self, entry: Entry) -> None:
        which = id(entry)
        if which in self._sending:
            self._again[which] = entry
        elif which not in self._waiting:
            if len(self._waiting) >= self._limit:
                self._drop("queue_full", entry, f"{self._limit} others wait to be sent")
                return
            self._waiting[which] = entry
            self._idle.clear()
            self._wake.set()

    async def _work(self) -> None:
        while True:
            while not self._waiting:
                self._wake.clear()
                await self._wake.wait()
            which = next(iter(self._waiting))
            entry = self._sending[which] = self._waiting.pop(which)
            try:
                await self._send(entry)
            finally:
                del self._sending[which]
                if self._again.pop(which, None):
                    self._waiting[which] = entry  # in spite of the limit: its place was never given up
                if not self._waiting and not self._sending:
                    self._idle.set()

    async def _send(self, entry: Entry) -> None:
        tries = 0
        while True:
            try:
                await self._write(entry)
            except (ApiError, TransportError) as error:
                tries += 1
                if not _may_pass(error):
                    self._drop("rejected", entry, str(error))
                    return
                if tries >= TRIES:
                    self._drop("tries", entry, f"{tries} tries, the last: {error}")
                    return
                _log.debug("%r was not sent, and is tried again: %s", entry, error)
            except TrimtabError as error:  # such as the fence of one that leads no longer
                self._drop("rejected", entry, str(error))
                return
            else:
                return
            await asyncio.sleep(PAUSE * (1 + 0.25 * self._random()))

    async def _write(self, entry: Entry) -> None:
        """Bring the server to where the count is now."""
        if not entry.written:
            await self._create(entry)
        series = entry.series()
        if series is None or series.count == entry.written:
            return
        name, namespace = entry.event.metadata.name, entry.event.metadata.namespace
        observed = {"count": series.count, "lastObservedTime": format_micro_time(series.last_observed_time)}
        try:
            await self._client.patch(Event, name, MergePatch({"series": observed}), namespace=namespace)
        except NotFound:  # the server forgets events after an hour; this one goes on
            await self._create(entry)
        else:
            entry.written = series.count
            self.written["patch"] += 1

    async def _create(self, entry: Entry) -> None:
        entry.event.series = series = entry.series()
        try:
            await self._client.create(entry.event)
        except AlreadyExists:  # an earlier try got through, and its answer was lost
            entry.written = 1
        else:
            entry.written = series.count if series else 1
        self.written["create"] += 1

    def _drop(self, cause: str, entry: Entry, why: str) -> None:
        self.dropped[cause] += 1
        _log.warning("%r is dropped: %s", entry, why)


def _may_pass(error: ApiError | TransportError) -> bool:
    """Whether the same request may succeed later."""
    if isinstance(error, TransportError):
        return not error.permanent
    return error.code == _BUSY or error.code >= _FAILED

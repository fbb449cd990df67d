"""Informers on a fake server, and a handler that writes down what it is told."""

from __future__ import annotations

import asyncio
from random import Random
from typing import Any

from tests.cache.fakeserver import FakeServer

from trimtab.cache import Cached, DeletedFinalStateUnknown, Informer, Informers
from trimtab.client import Client


def informing(server: FakeServer) -> Informers:
    client = Client(server, random=lambda: 0.5)
    return Informers(client, clock=asyncio.get_running_loop().time, random=Random(1).random)


class Told:
    """What a handler was told: `+a` added (`*` for what was there), `~a` updated, `=a` resynced, `-a` deleted (`?`
    where nobody saw it)."""

    def __init__(self, informer: Informer[Any], *, resync: float | None = None) -> None:
        self.updates: list[tuple[Any, Any]] = []
        self.deleted: list[Any] = []
        self.times: list[float] = []
        self._all: list[str] = []
        self._read = 0
        self.registration = informer.add_handler(
            on_add=self._added, on_update=self._updated, on_delete=self._deleted, resync=resync
        )

    def all(self) -> list[str]:
        return list(self._all)

    def new(self) -> list[str]:
        """What came since this was asked last."""
        before, self._read = self._read, len(self._all)
        return self._all[before:]

    def _note(self, what: str) -> None:
        self._all.append(what)
        self.times.append(asyncio.get_running_loop().time())

    def _added(self, obj: Cached[Any], initial: bool) -> None:
        self._note(f"+{obj.name}{'*' if initial else ''}")

    def _updated(self, old: Cached[Any], new: Cached[Any]) -> None:
        self.updates.append((old, new))
        self._note(f"{'=' if old is new else '~'}{new.name}")

    def _deleted(self, obj: Cached[Any] | DeletedFinalStateUnknown[Any]) -> None:
        self.deleted.append(obj)
        self._note(f"-{obj.last.name}?" if isinstance(obj, DeletedFinalStateUnknown) else f"-{obj.name}")

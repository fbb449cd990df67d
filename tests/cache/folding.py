"""What a handler was told, folded up: it has to come out like the cache."""

from __future__ import annotations

import asyncio
from typing import Any

from trimtab.cache import Cached, DeletedFinalStateUnknown, Informer


class Fold:
    """A handler that keeps what it is told of, and notes what cannot be: `pause` seconds late for each change."""

    def __init__(self, informer: Informer[Any], *, pause: float = 0.0) -> None:
        self.held: dict[str, Cached[Any]] = {}
        self.wrong: list[str] = []
        self._newest: dict[str, int] = {}  # by uid
        self._pause = pause
        self.registration = informer.add_handler(on_add=self._add, on_update=self._update, on_delete=self._delete)

    async def _add(self, obj: Cached[Any], _initial: bool) -> None:
        if obj.key in self.held:
            self.wrong.append(f"{obj} was added, and was there")
        self._moves_on(obj)
        self.held[obj.key] = obj
        await self._dawdle()

    async def _update(self, old: Cached[Any], new: Cached[Any]) -> None:
        if self.held.get(old.key) is not old or old.key != new.key:
            self.wrong.append(f"{old} was updated to {new}, and {self.held.get(old.key)} was there")
        if old.uid != new.uid:
            self.wrong.append(f"{old} was updated to {new}, which is another object")
        self._moves_on(new)
        self.held[new.key] = new
        await self._dawdle()

    async def _delete(self, gone: Cached[Any] | DeletedFinalStateUnknown[Any]) -> None:
        unseen = isinstance(gone, DeletedFinalStateUnknown)
        last = gone.last if unseen else gone
        held = self.held.pop(last.key, None)
        if held is None or held.uid != last.uid:
            self.wrong.append(f"{last} was deleted, and {held} was there")
        elif unseen and held is not last:
            self.wrong.append(f"{last} is gone, and is not the last that was told of: {held}")
        elif not unseen:
            self._moves_on(last)
        await self._dawdle()

    def _moves_on(self, obj: Cached[Any]) -> None:
        version = int(obj.resource_version)
        if version <= self._newest.get(obj.uid, 0):
            self.wrong.append(f"{obj} came after {self._newest[obj.uid]}")
        self._newest[obj.uid] = version

    async def _dawdle(self) -> None:
        if self._pause:
            await asyncio.sleep(self._pause)

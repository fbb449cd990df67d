"""The station where those who follow a kind are told of its changes, each at their own pace."""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeAlias

from trimtab.cache.entry import Cached
from trimtab.cache.store import Change
from trimtab.kube.wire import K

_log = logging.getLogger("trimtab.cache")
_AT_A_TIME = 100  # changes told of before others have their turn


@dataclass(frozen=True, slots=True)
class DeletedFinalStateUnknown(Generic[K]):
    """An object is gone, and nobody saw it go: `last` is the last that was seen of it."""

    last: Cached[K]

    @property
    def key(self) -> str:
        """Its key."""
        return self.last.key


OnAdd: TypeAlias = Callable[[Cached[K], bool], Awaitable[None] | None]
"""Is told of an object that appeared, and whether it was there when the handler began to follow."""
OnUpdate: TypeAlias = Callable[[Cached[K], Cached[K]], Awaitable[None] | None]
"""Is told of an object as it was and as it is; at a resync these are the same."""
OnDelete: TypeAlias = Callable[[Cached[K] | DeletedFinalStateUnknown[K]], Awaitable[None] | None]
"""Is told of the last state of an object that is gone."""


class Handler(Generic[K]):
    """One who follows a kind: told of changes one by one and in order, whatever others do meanwhile.

    `backlog` is how much it has not been told yet, what it is being told included; `failures` is how often it raised.
    What it raises is logged with the key of the object, and the next change follows.
    """

    def __init__(
        self,
        name: str,
        on_add: OnAdd[K] | None,
        on_update: OnUpdate[K] | None,
        on_delete: OnDelete[K] | None,
    ) -> None:
        self.name = name
        self.backlog = 0
        self.failures = 0
        self.told = 0
        self._on_add = on_add
        self._on_update = on_update
        self._on_delete = on_delete
        self._waiting: deque[tuple[Sequence[Change[K]], bool]] = deque()
        self._initial = 0  # of those that wait, how many are of the first state
        self._wake = asyncio.Event()
        self._told_initial = asyncio.Event()
        self._told_initial.set()
        self._stopped = False

    @property
    def initial_told(self) -> bool:
        """Whether it was told of all that was there when it began to follow."""
        return self._initial == 0

    async def told_initial(self) -> None:
        """Wait until it was."""
        await self._told_initial.wait()

    def stop(self) -> None:
        """Tell it nothing more, not even what waits."""
        self._stopped = True
        self._waiting.clear()
        self.backlog = self._initial = 0
        self._told_initial.set()

    def tell(self, changes: Sequence[Change[K]], *, initial: bool) -> None:
        """Have it told."""
        if self._stopped or not changes:
            return
        self._waiting.append((changes, initial))
        self.backlog += len(changes)
        if initial:
            self._initial += len(changes)
            self._told_initial.clear()
        self._wake.set()

    async def run(self) -> None:
        """Tell it what there is to tell, until cancelled."""
        while True:
            await self._wake.wait()
            self._wake.clear()
            while self._waiting:
                await self._tell_all(*self._waiting.popleft())

    async def _tell_all(self, changes: Sequence[Change[K]], initial: bool) -> None:
        for change in changes:
            if self._stopped:
                return
            try:
                said = self._call(change, initial)
                if said is not None and inspect.isawaitable(said):
                    await said
            except asyncio.CancelledError:
                task = asyncio.current_task()
                if task is not None and task.cancelling():
                    raise
                self._failed(change)  # something that it waited for was cancelled
            except Exception:  # noqa: BLE001  # a user's function: it may raise anything
                self._failed(change)
            finally:
                self._told(initial)
            if self.told % _AT_A_TIME == 0:
                await asyncio.sleep(0)

    def _told(self, initial: bool) -> None:
        self.told += 1
        if not self._stopped:
            self.backlog -= 1
            if initial:
                self._initial -= 1
                if not self._initial:
                    self._told_initial.set()

    def _failed(self, change: Change[K]) -> None:
        self.failures += 1
        _log.exception("handler %s failed on %r, and goes on with the next change", self.name, change.new or change.old)

    def _call(self, change: Change[K], initial: bool) -> Awaitable[None] | None:
        old, new = change.old, change.new
        if new is None:
            assert old is not None
            if self._on_delete is None:
                return None
            return self._on_delete(old if change.witnessed else DeletedFinalStateUnknown(old))
        if old is None:
            return self._on_add(new, initial) if self._on_add else None
        return self._on_update(old, new) if self._on_update else None

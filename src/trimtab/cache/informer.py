"""`Informer`: what one follower of a kind sees of it, in any number of namespaces."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Generic

from trimtab.cache.handlers import Handler, OnAdd, OnDelete, OnUpdate
from trimtab.cache.indexes import IndexFunction
from trimtab.cache.lister import Lister
from trimtab.cache.store import Change
from trimtab.errors import TrimtabError
from trimtab.kube.wire import K

if TYPE_CHECKING:
    from trimtab.cache.watched import Watched


class Registration(Generic[K]):
    """A handler that follows an informer, until it is removed."""

    def __init__(self, informer: Informer[K], handler: Handler[K]) -> None:
        self._informer = informer
        self.handler = handler

    @property
    def has_synced(self) -> bool:
        """Whether it was told of all that was there when it began."""
        return self._informer.has_synced and self.handler.initial_told

    async def synced(self) -> None:
        """Wait until it was."""
        await self._informer.synced()
        await self.handler.told_initial()

    @property
    def backlog(self) -> int:
        """How many changes it has not been told yet."""
        return self.handler.backlog

    def remove(self) -> None:
        """Tell it no more."""
        self._informer.remove_handler(self)


class Informer(Generic[K]):
    """A kind in some namespaces: a lister to read it, handlers that are told of changes.

    Made by `Informers.informer`. Informers of the same kind and selector share their watches, one a namespace, and the
    indexes there.
    """

    def __init__(
        self,
        kind: type[K],
        open_watch: Callable[[str], Watched[K]],
        close_watch: Callable[[Watched[K]], None],
        start: Callable[[Any, str], asyncio.Task[None]],
        closed: Callable[[Informer[K]], None],
        random: Callable[[], float],
    ) -> None:
        self.kind = kind
        self.lister: Lister[K] = Lister(kind, lambda: self._watched)
        self._open_watch = open_watch
        self._close_watch = close_watch
        self._start = start
        self._closed = closed
        self._random = random
        self._watched: dict[str, Watched[K]] = {}
        self._indexes: dict[str, IndexFunction] = {}
        self._handlers: dict[Registration[K], list[asyncio.Task[None]]] = {}

    def __repr__(self) -> str:
        return f"<Informer of {', '.join(str(watched.scope) for watched in self._watched.values())}>"

    @property
    def namespaces(self) -> frozenset[str]:
        """Where it looks; empty where it looks everywhere."""
        return frozenset(namespace for namespace in self._watched if namespace)

    @property
    def watches(self) -> tuple[Watched[K], ...]:
        """The watches that it shares."""
        return tuple(self._watched.values())

    @property
    def handlers(self) -> tuple[Handler[K], ...]:
        """Those who follow it."""
        return tuple(registration.handler for registration in self._handlers)

    @property
    def has_synced(self) -> bool:
        """Whether the first state of all its namespaces was read."""
        return all(watched.synced.is_set() for watched in self._watched.values())

    async def synced(self) -> None:
        """Wait until it has synced."""
        while waiting := next((watched for watched in self._watched.values() if not watched.synced.is_set()), None):
            await waiting.synced.wait()

    def look_in(self, namespaces: Iterable[str]) -> None:
        """Look in these namespaces and in no others, from now on.

        What is in a namespace that is left out is told of as gone, what is in a new one as added.
        """
        wanted = set(namespaces)
        opened: dict[str, Watched[K]] = {}
        try:
            for namespace in sorted(wanted - self._watched.keys()):
                watched = opened[namespace] = self._open_watch(namespace)
                for name, function in self._indexes.items():
                    watched.store.ensure_index(name, function)
        except BaseException:
            for watched in opened.values():
                self._close_watch(watched)
            raise
        for watched in opened.values():
            for registration in self._handlers:
                watched.add_handler(registration.handler)
        for namespace in self._watched.keys() - wanted:
            watched = self._watched.pop(namespace)
            for registration in self._handlers:
                watched.remove_handler(registration.handler, farewell=True)
            self._close_watch(watched)
        self._watched |= opened

    def add_index(self, name: str, function: IndexFunction) -> None:
        """Let objects be found by what a function says of each: `lister.list(index=(name, value))`.

        It may be added at any time. Give it what is at hand (`labels`, `metadata`, a `view`) where that will do: the
        function runs at every change of every object.
        """
        if name in self._indexes:
            raise TrimtabError(f"{self.kind.resource.kind} has an index {name!r} already: give another name")
        for watched in self._watched.values():
            watched.store.ensure_index(name, function)
        self._indexes[name] = function

    def add_handler(
        self,
        *,
        on_add: OnAdd[K] | None = None,
        on_update: OnUpdate[K] | None = None,
        on_delete: OnDelete[K] | None = None,
        resync: float | None = None,
        name: str = "",
    ) -> Registration[K]:
        """Follow the changes, beginning with an `on_add` for each object there is. The functions may be async.

        Every `resync` seconds, give or take a tenth, all objects are told of as updated, old being new; nothing is
        asked of the server for that.
        """
        functions = [function for function in (on_add, on_update, on_delete) if function is not None]
        if not functions:
            raise TrimtabError(f"a handler of {self.kind.resource.kind} wants one function at least, such as on_update")
        handler = Handler(name or getattr(functions[0], "__qualname__", "handler"), on_add, on_update, on_delete)
        registration = Registration(self, handler)
        tasks = [self._start(handler.run(), f"handler {handler.name}")]
        if resync:
            tasks.append(self._start(self._resync(handler, resync), f"resync of {handler.name}"))
        self._handlers[registration] = tasks
        for watched in self._watched.values():
            watched.add_handler(handler)
        return registration

    def remove_handler(self, registration: Registration[K]) -> None:
        """Tell a handler no more, not even what waits for it."""
        if registration not in self._handlers:
            return
        registration.handler.stop()
        for task in self._handlers.pop(registration):
            task.cancel()
        for watched in self._watched.values():
            watched.remove_handler(registration.handler, farewell=False)

    def close(self) -> None:
        """End what it started, and its share in the watches."""
        for registration in list(self._handlers):
            self.remove_handler(registration)
        self.look_in(())
        self._closed(self)

    async def _resync(self, handler: Handler[K], period: float) -> None:
        while True:
            await asyncio.sleep(period * (0.9 + 0.2 * self._random()))
            for watched in self._watched.values():
                if watched.synced.is_set():
                    handler.tell([Change(entry, entry) for entry in watched.store], initial=False)

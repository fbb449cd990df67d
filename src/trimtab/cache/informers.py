"""`Informers`: what a process watches, each thing once, and a client whose writes its listers show at once."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine, Iterable
from dataclasses import dataclass, replace
from random import Random
from types import TracebackType
from typing import Any, Self, cast

from trimtab.cache.feed import SILENCE, Scope
from trimtab.cache.hot import Hot
from trimtab.cache.informer import Informer
from trimtab.cache.intake import Transform
from trimtab.cache.lister import NotSynced
from trimtab.cache.tracking import Tracking
from trimtab.cache.watched import Watched
from trimtab.client import Client
from trimtab.client.options import FieldQuery, LabelQuery
from trimtab.errors import TrimtabError
from trimtab.kube.dynamic import Dynamic
from trimtab.kube.fieldselectors import FieldSelector
from trimtab.kube.objects import Object
from trimtab.kube.selectors import Selector
from trimtab.kube.wire import K
from trimtab.packing import Packer

HOT_BYTES = 64 << 20


@dataclass(frozen=True, slots=True)
class WatchHealth:
    """How one watch is doing."""

    scope: Scope
    synced: bool
    heard: float | None
    """Seconds since the server last said something; None where it never did."""
    problem: str
    """What is in the way right now; empty where nothing is."""


class Informers:
    """The informers of a process: `async with Informers(client) as informers`.

    Each kind is watched once in a namespace with a selector, however many ask for it. Writes through `client` (that of
    the informers, not the one they were made with) show in the listers at once. A watch that was silent for `silence`
    seconds is cut and resumed; what is kept decoded takes about `hot_bytes` at the most.
    """

    def __init__(
        self,
        client: Client,
        *,
        hot_bytes: int = HOT_BYTES,
        silence: float = SILENCE,
        clock: Callable[[], float] = time.monotonic,
        random: Callable[[], float] | None = None,
    ) -> None:
        self.client = client.through(lambda inner: Tracking(inner, self._watches_of))
        self.hot = Hot(hot_bytes)
        self._reader = client
        self._silence = silence
        self._clock = clock
        self._random = random or Random().random  # noqa: S311  # spreads load, keeps no secret
        self._packers: dict[type[Object | Dynamic], Packer] = {}
        self._informers: set[Informer[Any]] = set()
        self._watches: dict[Scope, tuple[Watched[Any], asyncio.Task[None]]] = {}
        self._shares: dict[Scope, int] = {}
        self._by_kind: dict[tuple[str, str], list[Watched[Any]]] = {}  # asked at every write
        self._tasks: set[asyncio.Task[None]] = set()
        self._group: asyncio.TaskGroup | None = None

    async def __aenter__(self) -> Self:
        self._group = await asyncio.TaskGroup().__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        assert self._group is not None
        group, self._group = self._group, None
        for task in self._tasks:
            task.cancel()
        ours = kind is not None and issubclass(kind, asyncio.CancelledError)  # as the group does where a task failed
        try:
            await (group.__aexit__(kind, error, traceback) if ours else group.__aexit__(None, None, None))
        except BaseExceptionGroup as failures:
            first, *others = failures.exceptions
            if others:
                raise
            raise first from None

    @property
    def watches(self) -> tuple[Watched[Any], ...]:
        """All watches, for those who look after them."""
        return tuple(watched for watched, _ in self._watches.values())

    @property
    def all(self) -> tuple[Informer[Any], ...]:
        """All informers that were asked for."""
        return tuple(self._informers)

    def informer(
        self,
        kind: type[K],
        *,
        namespaces: Iterable[str] | str | None = None,
        labels: LabelQuery = None,
        fields: FieldQuery = None,
        transform: Transform | None = None,
    ) -> Informer[K]:
        """An informer of a kind in these namespaces (without any, in all), of the objects that are selected.

        `metadata_of(Pod)` as a kind watches the metadata alone. `transform` changes an object's JSON before it is kept,
        to leave out what nobody reads.
        """
        scope = Scope(kind, "", Selector.of(labels), _field_selector(fields))
        if scope.labels is not None and scope.labels.is_nothing:
            raise TrimtabError(f"an informer of {kind.resource.kind} has a selector that selects nothing: give another")
        where = frozenset([namespaces] if isinstance(namespaces, str) else namespaces or ())
        if where and not kind.resource.namespaced:
            raise TrimtabError(f"{kind.resource.kind} lives in no namespace: leave namespaces out")

        def open_watch(namespace: str) -> Watched[K]:
            return self._open(replace(scope, namespace=namespace), transform)

        informer = Informer(kind, open_watch, self._close, self._start, self._informers.discard, self._random)
        informer.look_in(where or [""])
        self._informers.add(informer)
        return informer

    async def synced(self, timeout: float = 120.0) -> None:
        """Wait until the first state of all that is watched was read. NotSynced says what is missing, and why."""
        try:
            async with asyncio.timeout(timeout):
                while waiting := next((watched for watched in self.watches if not watched.synced.is_set()), None):
                    await waiting.synced.wait()
        except TimeoutError:
            missing = [
                f"{watched.scope} ({watched.pulse.problem or 'the server has not sent all of it yet'})"
                for watched in self.watches
                if not watched.synced.is_set()
            ]
            raise NotSynced(f"not read within {timeout:g} s: {'; '.join(missing)}") from None

    def health(self) -> list[WatchHealth]:
        """How each watch is doing."""
        now = self._clock()
        return [
            WatchHealth(
                watched.scope,
                watched.synced.is_set(),
                None if watched.pulse.heard is None else now - watched.pulse.heard,
                watched.pulse.problem,
            )
            for watched in self.watches
        ]

    # What informers and the client of this object ask for

    def _open(self, scope: Scope, transform: Transform | None) -> Watched[Any]:
        if scope not in self._watches:
            watched = Watched[Any](
                self._reader,
                scope,
                transform=transform,
                packer=self._packers.setdefault(scope.kind, Packer()),
                hot=self.hot,
                clock=self._clock,
                random=self._random,
                silence=self._silence,
            )
            self._watches[scope] = watched, self._start(watched.feed.run(), f"watch of {scope}")
            self._by_kind.setdefault(_identity(scope), []).append(watched)
        watched, _ = self._watches[scope]
        if watched.transform is not transform:
            raise TrimtabError(f"{scope} is watched already, with another transform")
        self._shares[scope] = self._shares.get(scope, 0) + 1
        return watched

    def _close(self, watched: Watched[Any]) -> None:
        scope = watched.scope
        self._shares[scope] -= 1
        if not self._shares[scope]:
            del self._shares[scope]
            _, task = self._watches.pop(scope)
            self._by_kind[_identity(scope)].remove(watched)
            task.cancel()
            watched.synced.set()  # who waits for it need not any longer

    def _start(self, work: Coroutine[Any, Any, None], name: str) -> asyncio.Task[None]:
        if self._group is None:
            work.close()
            raise TrimtabError("the informers do not run: ask for them inside of `async with Informers(client)`")
        task = self._group.create_task(work, name=f"trimtab: {name}")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    def _watches_of(self, api_version: str, kind: str) -> list[Watched[Any]]:
        return self._by_kind.get((api_version, kind), [])


def _identity(scope: Scope) -> tuple[str, str]:
    return scope.kind.resource.api_version, scope.kind.resource.kind


def _field_selector(fields: FieldQuery) -> FieldSelector | None:
    if fields is None or isinstance(fields, FieldSelector):
        return fields
    return FieldSelector.parse(fields) if isinstance(fields, str) else FieldSelector.from_mapping(cast("Any", fields))

"""The collector at work: it follows all kinds, and does what the graph says."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Any, Final, TypeVar

from trimtab.cache import Cached, DeletedFinalStateUnknown, Informer, Informers
from trimtab.client import ApiError, Client, Conflict, MergePatch, NotFound
from trimtab.client.discovery import UnknownKind
from trimtab.errors import TrimtabError
from trimtab.kube.dynamic import Dynamic, dynamic
from trimtab.kube.kinds import Resource
from trimtab.kube.meta.v1 import ObjectMeta, OwnerReference
from trimtab.kube.partial import MetadataOnly, metadata_of
from trimtab.kube.wire import to_wire
from trimtab.local.loops.garbage.graph import (
    Check,
    Deed,
    Delete,
    Graph,
    Leave,
    Release,
    Thing,
    Unlink,
    Wait,
    thing_of,
)
from trimtab.manager import Manager, Part
from trimtab.manager.lifecycle import Stop
from trimtab.queue import AsyncWorkQueue, WorkQueue

T = TypeVar("T")
_log = logging.getLogger("trimtab.local")

NAME: Final = "garbage-collector-controller"
_NEEDED: Final = frozenset({"delete", "list", "watch"})
_IGNORED: Final = frozenset({"Event", "Endpoints"})  # there are many, and they end by themselves; of the past
_WORKERS: Final = 4
_TRIES: Final = 5
_DEFINITIONS: Final = dynamic(
    "apiextensions.k8s.io/v1", "CustomResourceDefinition", plural="customresourcedefinitions", namespaced=False
)
_OWNERS: Final = b'"ownerReferences"'


def part(manager: Manager) -> Part:
    """The collector as a part of a manager, for the phase after its caches."""

    async def run(ready: Callable[[], None], stop: Stop) -> None:
        async with asyncio.TaskGroup() as group:
            collector = Collector(manager.informers, group)
            await collector.start()
            ready()
            await stop.wait()
            collector.stop()

    return Part(NAME, run)


class Collector:
    """Looks after the objects of all kinds."""

    def __init__(self, informers: Informers, group: asyncio.TaskGroup) -> None:
        self._informers = informers
        self._client: Client = informers.client
        self._group = group
        self._graph = Graph()
        self._queue = WorkQueue()
        self._followed: dict[tuple[str, str], Informer[Any]] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._reading: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Follow the kinds that there are, and those that come."""
        await self._follow_all()
        definitions = self._informers.informer(_as_watched(self._informers, _DEFINITIONS.resource))
        definitions.add_handler(
            on_add=lambda _new, _initial: self._look_around(),
            on_update=lambda _old, _new: self._look_around(),
            on_delete=lambda _last: self._look_around(),
            name=f"{NAME} kinds",
        )
        for number in range(_WORKERS):
            self._start(self._work(AsyncWorkQueue(self._queue)), f"{NAME} {number}")

    def stop(self) -> None:
        """Begin nothing more."""
        self._queue.shut_down()
        for task in self._tasks:
            task.cancel()

    # Which kinds there are

    def _look_around(self) -> None:
        if self._reading is None or self._reading.done():
            self._reading = self._start(self._follow_later(), f"{NAME} kinds")

    async def _follow_later(self) -> None:
        await asyncio.sleep(0)  # several definitions at once are one look
        await self._follow_all()

    async def _follow_all(self) -> None:
        found: dict[tuple[str, str], Resource] = {}
        for served in await self._client.discovery.all():
            resource = served.resource
            if set(served.verbs) >= _NEEDED and resource.kind not in _IGNORED:
                found.setdefault((resource.group, resource.kind), resource)
        for identity in self._followed.keys() - found.keys():
            self._followed.pop(identity).close()
        for identity, resource in found.items():
            if identity not in self._followed:
                self._follow(identity, resource)

    def _follow(self, identity: tuple[str, str], resource: Resource) -> None:
        informer = self._informers.informer(_as_watched(self._informers, resource))
        self._followed[identity] = informer

        def seen(entry: Cached[Any]) -> None:
            if entry.deleting or entry.owner is not None or _OWNERS in entry.json():
                thing = thing_of(resource, entry.metadata)
            else:  # most objects: nothing has to be decoded
                thing = Thing(resource, entry.namespace, entry.name, entry.uid)
            self._add(self._graph.see(thing))

        def updated(old: Cached[Any], new: Cached[Any]) -> None:
            same = old.owner is new.owner and old.owner is not None and old.uid == new.uid
            if not (same and not old.deleting and not new.deleting):
                seen(new)

        def gone(last: Cached[Any] | DeletedFinalStateUnknown[Any]) -> None:
            entry = last.last if isinstance(last, DeletedFinalStateUnknown) else last
            self._add(self._graph.lose(entry.uid))

        informer.add_handler(
            on_add=lambda new, _initial: seen(new), on_update=updated, on_delete=gone, name=f"{NAME} {resource.kind}"
        )

    # What is done

    def _add(self, uids: set[str]) -> None:
        for uid in uids:
            self._queue.add(uid)

    async def _work(self, queue: AsyncWorkQueue) -> None:
        while (item := await queue.get()) is not None:
            try:
                deed = self._graph.decide(item.key)
                if deed is not None:
                    await self._do(self._graph.things[item.key], deed)
                self._queue.forget(item.key)
            except (ApiError, TrimtabError) as error:
                _log.info("%s: %s; it is tried again", NAME, error)
                self._queue.add_rate_limited(item.key)
            finally:
                self._queue.done(item.key)

    async def _do(self, thing: Thing, deed: Deed) -> None:
        match deed:
            case Check(owners):
                for owner in owners:
                    await self._check(thing, owner)
                self._queue.add(thing.uid)
            case Delete(policy):
                try:
                    await self._client.delete(
                        _kind(thing.resource), thing.name, namespace=thing.namespace or None, uid=thing.uid,
                        propagation=policy,
                    )  # fmt: skip
                except (NotFound, Conflict):
                    return  # it is gone; the watch will say so
            case Unlink(uids):
                await self._unlink(thing, uids)
            case Leave(dependents):
                for dependent in dependents:
                    await self._unlink(dependent, frozenset([thing.uid]))
                self._queue.add(thing.uid)
            case Release(finalizer):
                await self._edit(thing, lambda meta: _without_finalizer(meta, finalizer))
            case Wait(dependents):
                self._add({each.uid for each in dependents if not each.deleting})

    async def _check(self, thing: Thing, owner: OwnerReference) -> None:
        """Ask the server for an owner that was not seen: its informer may be behind, or it is not there."""
        kind = dynamic(owner.api_version, owner.kind)
        try:
            resource = (await self._client.discovery.find(owner.api_version, owner.kind)).resource
            namespace = thing.namespace if resource.namespaced else None
            if resource.namespaced and not namespace:
                raise TrimtabError(
                    f"{thing.resource.kind} {thing.name} lives in no namespace, its owner {owner.name} does"
                )
            found = await self._client.get(metadata_of(kind), owner.name, namespace=namespace)
        except UnknownKind as error:
            raise TrimtabError(
                f"{thing.resource.kind} {thing.name} has an owner of a kind that is not there"
            ) from error
        except NotFound:
            self._add(self._graph.is_absent(owner.uid))
            return
        if found.metadata.uid == owner.uid:
            self._graph.see(thing_of(resource, found.metadata))
        else:
            self._add(self._graph.is_absent(owner.uid))

    async def _unlink(self, thing: Thing, uids: frozenset[str]) -> None:
        """Let it go on without these owners."""
        await self._edit(thing, lambda meta: _without_owners(meta, uids))

    async def _edit(self, thing: Thing, edit: Callable[[ObjectMeta], dict[str, Any] | None]) -> None:
        """Change metadata, as it is on the server; nothing where the object is gone or is so already."""
        kind, namespace = metadata_of(_kind(thing.resource)), thing.namespace or None
        for _ in range(_TRIES):
            try:
                there = (await self._client.get(kind, thing.name, namespace=namespace)).metadata
                change = edit(there) if there.uid == thing.uid else None
                if change is not None:
                    body = {"metadata": {"uid": there.uid, "resourceVersion": there.resource_version, **change}}
                    changed = await self._client.patch(kind, thing.name, MergePatch(body), namespace=namespace)
                    there = changed.metadata
            except NotFound:
                return
            except Conflict:
                continue
            if there.uid == thing.uid:
                self._add(self._graph.see(thing_of(thing.resource, there)))
            return
        raise TrimtabError(f"{thing.resource.kind} {thing.name} changes too fast to be edited")

    def _start(self, work: Any, name: str) -> asyncio.Task[None]:
        task = self._group.create_task(work, name=f"trimtab: {name}")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task


def _without_finalizer(meta: ObjectMeta, finalizer: str) -> dict[str, Any] | None:
    if finalizer not in meta.finalizers:
        return None
    return {"finalizers": [each for each in meta.finalizers if each != finalizer] or None}


def _without_owners(meta: ObjectMeta, uids: frozenset[str]) -> dict[str, Any] | None:
    kept = [to_wire(each) for each in meta.owner_references if each.uid not in uids]
    return None if len(kept) == len(meta.owner_references) else {"ownerReferences": kept or None}


def _kind(resource: Resource) -> type[Dynamic]:
    return dynamic(resource.api_version, resource.kind, plural=resource.plural, namespaced=resource.namespaced)


def _as_watched(informers: Informers, resource: Resource) -> type[Any]:
    """The class by which a kind is watched already, everywhere and without a selector; else that of its metadata."""
    for watched in informers.watches:
        scope, there = watched.scope, watched.scope.kind.resource
        everything = scope.namespace == "" and scope.labels is None and scope.fields is None
        if everything and (there.group, there.kind) == (resource.group, resource.kind):
            return scope.kind
    made: type[MetadataOnly] = metadata_of(_kind(resource))
    return made

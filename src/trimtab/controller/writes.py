"""The way out: what a controller writes, and what it need not write because it is so already."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from copy import copy
from inspect import isawaitable
from typing import Any, Final, Unpack

import msgspec

from trimtab.cache import Cached, Informers
from trimtab.client import Client, Conflict, MergePatch, NoSuchResource, NotFound, Patch
from trimtab.client.options import DeleteOptions, WriteOptions
from trimtab.controller.applied import Applied, Place, fingerprint, sent_as
from trimtab.controller.reach import Reach
from trimtab.errors import TrimtabError
from trimtab.kube.dynamic import Dynamic
from trimtab.kube.editing import edit_patch, merge_patch
from trimtab.kube.frozen import plain_class
from trimtab.kube.objects import Object
from trimtab.kube.partial import metadata_of
from trimtab.kube.wire import K, to_wire

_MOST_FOREIGN: Final = 10_000


class Writer:
    """Writes for one controller, as its field manager."""

    def __init__(self, informers: Informers, reach: Reach, field_manager: str) -> None:
        self.client: Client = copy(informers.client)
        self.client.field_manager = field_manager
        self.applied = Applied()
        self.foreign: dict[str, None] = {}  # uids of what was found to be somebody else's
        self._hot = informers.hot
        self._reach = reach

    async def apply(self, obj: K, *, namespace: str, subresource: str = "", force: bool = False) -> K:
        """Server-side apply, unless that would change nothing."""
        kind = plain_class(type(obj))
        self._reach.check_write(kind)
        place, way = Place(kind, place_of(obj, namespace), obj.metadata.name), f"apply {subresource}"
        sent = sent_as(obj, force)
        entry = self._entry(place)
        if entry is not None and self._is_settled(place, way, sent, lambda: to_wire(obj), entry):
            return self._hot.read(entry, kind)
        made = await self.client.apply(obj, namespace=place.namespace or None, subresource=subresource, force=force)
        if entry is not None or self._reach.lister_if_seen(kind) is not None:
            self.applied.learn(place, way, sent, to_wire(obj), to_wire(made))
        return made

    async def create(self, obj: K, *, namespace: str, **options: Unpack[WriteOptions]) -> K:
        """Make an object."""
        self._reach.check_write(plain_class(type(obj)))
        return await self.client.create(obj, namespace=place_of(obj, namespace) or None, **options)

    async def delete(self, kind: type[K], name: str, *, namespace: str, **options: Unpack[DeleteOptions]) -> K | None:
        """Delete an object. That it is gone already, or another one has its name now, is as good."""
        self._reach.check_write(kind)
        self.applied.forget(kind, namespace, name)
        try:
            return await self.client.delete(kind, name, namespace=namespace or None, **options)
        except NoSuchResource:
            raise
        except NotFound:
            return None
        except Conflict:
            if not await self._is_gone(kind, name, namespace, options.get("uid", "")):
                raise
            return None

    async def patch(
        self,
        kind: type[K],
        name: str,
        patch: Patch,
        *,
        namespace: str,
        subresource: str = "",
        **options: Unpack[WriteOptions],
    ) -> K:
        """Change some fields."""
        self._reach.check_write(kind)
        return await self.client.patch(
            kind, name, patch, namespace=namespace or None, subresource=subresource, **options
        )

    async def modify(
        self,
        kind: type[K],
        name: str,
        change: Callable[[K], Awaitable[None] | None],
        *,
        namespace: str,
        subresource: str = "",
    ) -> K:
        """Change an object by a function: as the cache has it, and if that was of the past, as the server has it."""
        self._reach.check_write(kind)
        entry = self._entry(Place(kind, namespace, name))
        if entry is not None:
            data = entry.json()
            obj = entry.decode(kind, data)
            before = to_wire(obj)
            if isawaitable(done := change(obj)):
                await done
            patch = _edit(kind, msgspec.json.decode(data), before, obj)
            if not patch:
                return obj
            patch["metadata"] = {**(patch.get("metadata") or {}), "resourceVersion": entry.resource_version}
            try:
                return await self.client.patch(
                    kind, name, MergePatch(patch), namespace=namespace or None, subresource=subresource
                )
            except Conflict:
                pass  # somebody was faster
        return await self.client.modify(kind, name, change, namespace=namespace or None, subresource=subresource)

    async def patch_status(self, obj: Object | Dynamic, wanted: dict[str, Any]) -> None:
        """Set fields of an object's status (None takes one away), unless they are so already."""
        kind = plain_class(type(obj))
        place, way = Place(kind, obj.metadata.namespace, obj.metadata.name), f"status {sorted(wanted)}"
        entry = self._entry(place)
        if entry is None or entry.uid != obj.metadata.uid:
            return  # it is gone, and with it whom its status would tell something
        current: dict[str, Any] = msgspec.json.decode(entry.json()).get("status") or {}
        known = {name: current[name] for name in wanted if current.get(name) is not None}
        patch = merge_patch(known, {name: value for name, value in wanted.items() if value is not None})
        if not patch:
            return
        sent, wire = fingerprint(wanted), {"status": wanted}
        if self._is_settled(place, way, sent, lambda: wire, entry):
            return
        body = MergePatch({"metadata": {"uid": obj.metadata.uid}, "status": patch})
        try:
            made = await self.client.patch(
                kind, place.name, body, namespace=place.namespace or None, subresource="status"
            )
        except NoSuchResource:
            raise
        except NotFound:
            return
        self.applied.learn(place, way, sent, wire, to_wire(made))

    async def _is_gone(self, kind: type[Object | Dynamic], name: str, namespace: str, uid: str) -> bool:
        """Whether the object of this uid is there no more, as the server says. A Conflict may mean other things."""
        try:
            there = await self.client.get(metadata_of(kind), name, namespace=namespace or None)
        except NotFound:
            return True
        return there.metadata.uid != uid and bool(uid)

    def leave_alone(self, uid: str) -> None:
        """Remember that this object is somebody else's."""
        self.foreign[uid] = None
        if len(self.foreign) > _MOST_FOREIGN:
            del self.foreign[next(iter(self.foreign))]

    def _is_settled(self, place: Place, way: str, sent: bytes, wire: Callable[[], Any], entry: Cached[Any]) -> bool:
        # What is there is read through the class, as the answer was: it may write a time otherwise than the server.
        return self.applied.is_settled(
            place,
            way,
            sent,
            entry.uid,
            entry.resource_version,
            wire=wire,
            current=lambda: to_wire(self._hot.read(entry, place.kind)),
        )

    def _entry(self, place: Place) -> Cached[Any] | None:
        lister = self._reach.lister_if_seen(place.kind)
        return lister.entry(place.name, namespace=place.namespace or None) if lister is not None else None


def place_of(obj: Object | Dynamic, default: str) -> str:
    """The namespace that an object is written to; empty for kinds that live in none."""
    if not obj.resource.namespaced:
        return ""
    namespace = obj.metadata.namespace or default
    if not namespace and obj.resource.plural:
        raise TrimtabError(f"{obj!r} says no namespace, and what is reconciled is in none: give it one")
    return namespace


def _edit(kind: type[Any], raw: dict[str, Any], before: dict[str, Any], obj: Object | Dynamic) -> dict[str, Any]:
    after = to_wire(obj)
    if issubclass(kind, Dynamic):
        return merge_patch(raw, after)  # `before` shares what is in it with the object, which was changed
    return edit_patch(kind, raw, before, after)

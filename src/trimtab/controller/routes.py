"""The way in: from a change of an object to the keys that it concerns. Each route is a handler of one informer."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeAlias, cast

from trimtab.cache import Cached, DeletedFinalStateUnknown, Informer, Registration
from trimtab.controller.changes import what_changed
from trimtab.controller.declaration import Controller
from trimtab.controller.mappings import Everyone, FromEntry, NamedBy, SelectedBy, all_of, keys_of, namers, selectors
from trimtab.controller.predicates import Predicate
from trimtab.kube.kinds import Resource
from trimtab.kube.meta.v1 import OwnerReference
from trimtab.queue import LOW_PRIORITY, Cause, What, WorkQueue

Entry: TypeAlias = Cached[Any]
Gather: TypeAlias = Callable[[str], float]
"""How many seconds what concerns a key waits for more of the same."""
KeysOf: TypeAlias = Callable[[Entry], Iterable[str]]


class Route:
    """Adds keys to a queue, with the change as the cause. What was there at the start, and resyncs, can wait."""

    def __init__(
        self, kind: type[Any], queue: WorkQueue, forget: Callable[[Entry], None], gather: Gather | None = None
    ) -> None:
        self._kind = kind.resource.kind
        self._queue = queue
        self._forget = forget
        self._gather = gather

    def follow(self, informer: Informer[Any], *, name: str, resync: float | None = None) -> Registration[Any]:
        """Begin."""
        return informer.add_handler(
            on_add=self.added, on_update=self.updated, on_delete=self._gone, resync=resync, name=name
        )

    def added(self, new: Entry, initial: bool) -> None:
        """An object appeared, or was there."""
        raise NotImplementedError

    def updated(self, old: Entry, new: Entry) -> None:
        """An object changed; at a resync old is new."""
        raise NotImplementedError

    def deleted(self, last: Entry) -> None:
        """An object is gone."""
        raise NotImplementedError

    def _gone(self, last: Entry | DeletedFinalStateUnknown[Any]) -> None:
        entry = last.last if isinstance(last, DeletedFinalStateUnknown) else last
        self._forget(entry)
        self.deleted(entry)

    def _add(self, keys: Iterable[str], entry: Entry, what: tuple[What, ...], priority: int = 0) -> None:
        cause = Cause(self._kind, entry.key, entry.resource_version, what)
        for key in keys:
            self._queue.add_after(key, self._gather(key) if self._gather else 0.0, cause, priority=priority)


_STATUS: tuple[What, ...] = ("status",)
_INITIAL: tuple[What, ...] = ("initial",)
_CREATED: tuple[What, ...] = ("created",)
_DELETED: tuple[What, ...] = ("deleted",)


class Primary(Route):
    """The objects themselves, as far as `where` wants them.

    That an object's deletion begins is always wanted: whoever filters that out leaves finalizers where they are. With a
    finalizer declared, so is everything about an object that is being deleted.

    A change of the status alone is gathered like those of what the object owns: it was written because those changed,
    mostly by ourselves.
    """

    def __init__(
        self,
        controller: Controller,
        queue: WorkQueue,
        forget: Callable[[Entry], None],
        gather: Gather | None = None,
    ) -> None:
        super().__init__(controller.kind, queue, forget)
        self._status_waits = gather
        self._where: Predicate | None = controller.where
        self._holds = controller.finalizer is not None

    def added(self, new: Entry, initial: bool) -> None:
        """Look at it, if it is wanted; one that is not may still carry our finalizer."""
        if self._wants(new):
            cause = Cause(self._kind, new.key, new.resource_version, _INITIAL if initial else _CREATED)
            self._queue.add(new.key, cause, priority=LOW_PRIORITY if initial else 0)

    def updated(self, old: Entry, new: Entry) -> None:
        """Look at it, if the change is wanted."""
        if self._passes(old, new) or (new.deleting and (self._holds or not old.deleting)):
            what = what_changed(old, new)
            cause = Cause(self._kind, new.key, new.resource_version, what)
            wait = self._status_waits(new.key) if self._status_waits and what == _STATUS else 0.0
            self._queue.add_after(new.key, wait, cause, priority=LOW_PRIORITY if old is new else 0)

    def deleted(self, last: Entry) -> None:
        """Look at what is left."""
        if self._wants(last):
            self._add((last.key,), last, _DELETED)

    def _wants(self, entry: Entry) -> bool:
        if self._where is None or self._holds:
            return True
        try:
            return self._where.wants(entry)
        except Exception:  # noqa: BLE001  # a user's function. The reconciler meets it again, says so and tries again
            return True

    def _passes(self, old: Entry, new: Entry) -> bool:
        if self._where is None:
            return True
        try:
            return self._where.passes(old, new)
        except Exception:  # noqa: BLE001  # as above
            return True


class Mapped(Route):
    """Objects of another kind, which concern others: those that own them, or those that a mapping names.

    Where an update changes whom an object concerns, both are looked at: who lost it has to make up for it.
    """

    def __init__(
        self,
        kind: type[Any],
        keys_of: KeysOf,
        queue: WorkQueue,
        forget: Callable[[Entry], None],
        gather: Gather | None = None,
        *,
        by_labels: bool = False,
    ) -> None:
        super().__init__(kind, queue, forget, gather)
        self._keys_of = keys_of
        self._by_labels = by_labels  # whom it concerns is said by labels and owner alone

    def added(self, new: Entry, initial: bool) -> None:
        """Look at whom it concerns."""
        keys = self._keys_of(new)
        if keys:
            self._add(keys, new, _INITIAL if initial else _CREATED, LOW_PRIORITY if initial else 0)

    def updated(self, old: Entry, new: Entry) -> None:
        """Look at whom it concerned and whom it concerns."""
        keys = dict.fromkeys(self._keys_of(new))
        if not (self._by_labels and old.labels is new.labels and old.owner is new.owner) and old is not new:
            keys = dict.fromkeys(self._keys_of(old)) | keys
        if keys:
            self._add(keys, new, what_changed(old, new), LOW_PRIORITY if old is new else 0)

    def deleted(self, last: Entry) -> None:
        """Look at whom it concerned."""
        self._add(self._keys_of(last), last, _DELETED)


def owner_keys(of: Resource) -> KeysOf:
    """To the controller of an object, if that is of this group and kind. Its version does not matter."""

    def is_ours(owner: OwnerReference) -> bool:
        return owner.kind == of.kind and owner.api_version.rpartition("/")[0] == of.group

    def keys(entry: Entry) -> tuple[str, ...]:
        owner = entry.controller
        if owner is None or not is_ours(owner):
            return ()
        # What lives in a namespace is owned by what lives there too, or by what lives in none.
        in_namespace = of.namespaced and entry.namespace
        return (f"{entry.namespace}/{owner.name}" if in_namespace else owner.name,)

    return keys


def mapped_keys(controller: Controller, kind: type[Any], primary: Informer[Any]) -> KeysOf:
    """As a mapping that was declared says."""
    mapping = controller.watches[kind]
    if isinstance(mapping, NamedBy):
        return namers(mapping, primary, f"{controller.app}/{controller.name}/{kind.resource.kind}")
    if isinstance(mapping, Everyone):
        return all_of(primary)
    if isinstance(mapping, SelectedBy):
        return selectors(mapping, primary, f"{controller.app}/{controller.name}/{kind.resource.kind} selected")
    to = controller.kind.resource
    if isinstance(mapping, FromEntry):
        of_entry = mapping.function
        return lambda entry: keys_of(of_entry(entry), to)
    of_object = cast("Callable[[Any], Any]", mapping)
    return lambda entry: keys_of(of_object(entry.read()), to)

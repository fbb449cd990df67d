"""One watch and what it keeps: a kind, in one namespace or in all, by one selector. Informers share it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, Generic, cast

import msgspec

from trimtab.cache.digests import Digests
from trimtab.cache.entry import Cached
from trimtab.cache.feed import Feed, Pulse, Scope
from trimtab.cache.handlers import Handler
from trimtab.cache.hot import Hot
from trimtab.cache.intake import Intake, Transform
from trimtab.cache.overlay import Overlay
from trimtab.cache.reflector import Reflector
from trimtab.cache.store import Change, Store
from trimtab.client import Reader
from trimtab.client.apierrors import UNREADABLE
from trimtab.kube.base import Struct
from trimtab.kube.fieldselectors import FieldSelector
from trimtab.kube.partial import PARTIAL, MetadataOnly
from trimtab.kube.wire import K
from trimtab.packing import Packer


class Watched(Generic[K]):
    """A store, the feed that keeps it, and those who are told of its changes."""

    def __init__(
        self,
        client: Reader,
        scope: Scope,
        *,
        transform: Transform | None,
        packer: Packer,
        hot: Hot,
        clock: Callable[[], float],
        random: Callable[[], float],
        silence: float,
    ) -> None:
        self.scope = scope
        self.transform = transform
        self.store: Store[K] = Store()
        self.overlay: Overlay[K] = Overlay(self.store, clock)
        self.hot = hot
        self.digests: Digests[K] = Digests(self.store)
        self.synced = asyncio.Event()
        self._handlers: list[Handler[K]] = []
        partial = issubclass(scope.kind, MetadataOnly)
        calls_itself = PARTIAL if partial else scope.kind.resource
        kind = cast("type[K]", scope.kind)
        self._intake = Intake(kind, calls_itself, self.store.indexer, packer, transform)
        reflector = Reflector(clock=clock, random=random)
        self.feed = Feed(
            client,
            scope,
            self.store,
            self._intake,
            reflector,
            self._deliver,
            clock=clock,
            silence=silence,
            written=None if partial else self.overlay.entry,  # writes are answered whole
        )

    @property
    def pulse(self) -> Pulse:
        """How its feed is doing."""
        return self.feed.pulse

    def add_handler(self, handler: Handler[K]) -> None:
        """Tell it of what there is, and of every change from now on."""
        if self.synced.is_set():
            handler.tell([Change(None, entry) for entry in self.store], initial=True)
        self._handlers.append(handler)

    def remove_handler(self, handler: Handler[K], *, farewell: bool) -> None:
        """Tell it no more; with a farewell, that all it knows from here is gone."""
        self._handlers.remove(handler)
        if farewell:
            handler.tell([Change(entry, None, witnessed=False) for entry in self.store], initial=False)

    def wrote(self, body: bytes, *, deleted: bool, before: frozenset[str]) -> None:
        """An object was written, or deleted, and this is what the server answered; `before` as for the overlay."""
        try:
            entry = self._intake.from_answer(body)
        except UNREADABLE:
            return  # some subresources are answered by other things
        if not _stays(entry, deleted=deleted):
            self.overlay.deleted(entry.key, entry.uid, before)
        else:
            self.overlay.wrote(entry, self.feed.resource_version, visible=self._is_meant(entry.labels, body))

    def _is_meant(self, labels: dict[str, str], body: bytes) -> bool:
        by_labels, by_fields = self.scope.labels, self.scope.fields
        if by_labels is not None and not by_labels.matches(labels):
            return False
        return by_fields is None or by_fields.matches(_fields(msgspec.json.decode(body), by_fields))

    def _deliver(self, changes: list[Change[K]], first: bool) -> None:
        for change in changes:
            if change.old is not None:
                self.hot.forget(change.old)
                self.digests.forget(change.old)
        self.overlay.caught_up(changes, self.feed.resource_version)
        for handler in self._handlers:
            handler.tell(changes, initial=first)
        if first:
            self.synced.set()


def _stays(entry: Cached[Any], *, deleted: bool) -> bool:
    """Whether an object is still there after a write: what is to be deleted stays while something keeps it.

    Some kinds are answered to their deletion as they were before, though they are gone.
    """
    if not entry.deleting:
        return not deleted
    metadata = entry.metadata
    if metadata.finalizers or metadata.deletion_grace_period_seconds:
        return True
    resource = entry.kind.resource
    of_namespace = (resource.group, resource.kind) == ("", "Namespace")  # they have some of their own, in the spec
    return of_namespace and bool(entry.view(_Namespace).spec.finalizers)


class _Spec(Struct):
    finalizers: list[str] = []


class _Namespace(Struct):
    spec: _Spec = msgspec.field(default_factory=_Spec)


def _fields(obj: Any, selector: FieldSelector) -> dict[str, str]:
    """The fields that a selector asks for: nearly all that servers know are named by their place in the object."""
    found: dict[str, str] = {}
    for requirement in selector.requirements:
        value = obj
        for name in requirement.field.split("."):
            value = cast("dict[str, Any]", value).get(name) if isinstance(value, dict) else None
        if value is not None:
            found[requirement.field] = str(value).lower() if isinstance(value, bool) else str(value)
    return found

"""The station where objects are read: from memory, never from the network."""

from __future__ import annotations

import builtins
import logging
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, Generic, TypeVar, overload

from trimtab.cache.digests import Digest
from trimtab.cache.entry import Cached, Undecodable
from trimtab.client.options import LabelQuery
from trimtab.errors import TrimtabError
from trimtab.kube.base import Struct
from trimtab.kube.dynamic import Dynamic
from trimtab.kube.objects import Object
from trimtab.kube.selectors import Selector
from trimtab.kube.wire import K

if TYPE_CHECKING:
    from trimtab.cache.watched import Watched

V = TypeVar("V", bound=Struct)
T = TypeVar("T")
_log = logging.getLogger("trimtab.cache")


class NotSynced(TrimtabError):
    """What was asked for is not known yet: the first state was not read."""


class NotWatched(TrimtabError):
    """What was asked for is not in the cache at all."""


class Lister(Generic[K]):
    """Reads objects of one kind from the cache.

    What it gives cannot be changed: others are given the same. `copy.deepcopy` of it makes an object to be changed.
    (Dynamic objects are the reader's own.) `view` is a Struct with some of the kind's fields, which decodes several
    times faster than the whole.
    """

    def __init__(self, kind: type[K], watched: Callable[[], dict[str, Watched[K]]]) -> None:
        self._kind = kind
        self._watched = watched
        self._complained: set[tuple[str, str]] = set()

    @overload
    def get(self, name: str, *, namespace: str | None = None) -> K | None: ...
    @overload
    def get(self, name: str, *, namespace: str | None = None, view: type[V]) -> V | None: ...
    def get(self, name: str, *, namespace: str | None = None, view: type[Any] | None = None) -> Any:
        """The object of this name; None where there is none."""
        found = self._find(name, namespace)
        if found is None:
            return None
        watched, entry = found
        return watched.hot.read(entry, view or self._kind)

    @overload
    def list(
        self,
        *,
        namespace: str | None = None,
        labels: LabelQuery = None,
        owner: Object | Dynamic | str | None = None,
        index: tuple[str, str] | None = None,
    ) -> list[K]: ...
    @overload
    def list(
        self,
        *,
        namespace: str | None = None,
        labels: LabelQuery = None,
        owner: Object | Dynamic | str | None = None,
        index: tuple[str, str] | None = None,
        view: type[V],
    ) -> list[V]: ...
    def list(
        self,
        *,
        namespace: str | None = None,
        labels: LabelQuery = None,
        owner: Object | Dynamic | str | None = None,
        index: tuple[str, str] | None = None,
        view: type[Any] | None = None,
    ) -> list[Any]:
        """The objects that match all that is given.

        `owner` is the controller that manages them, or its uid; `index` a name and a value of an index that was added.
        An object that does not fit the class is left out, with one line in the log.
        """
        cls: type[Any] = view or self._kind
        found: list[Any] = []
        for watched, entries in self._select(namespace, labels, owner, index):
            read = watched.hot.read
            for entry in entries:
                try:
                    found.append(read(entry, cls))
                except Undecodable as error:
                    self._complain(entry, error)
        return found

    def entry(self, name: str, *, namespace: str | None = None) -> Cached[K] | None:
        """The object of this name as the cache keeps it, not decoded."""
        found = self._find(name, namespace)
        return found[1] if found else None

    def entries(
        self,
        *,
        namespace: str | None = None,
        labels: LabelQuery = None,
        owner: Object | Dynamic | str | None = None,
        index: tuple[str, str] | None = None,
    ) -> list[Cached[K]]:
        """The same as `list`, not decoded: keys, labels and owners are at hand."""
        return [entry for _, entries in self._select(namespace, labels, owner, index) for entry in entries]

    def digests(
        self,
        digest: Digest[T],
        *,
        namespace: str | None = None,
        labels: LabelQuery = None,
        owner: Object | Dynamic | str | None = None,
        index: tuple[str, str] | None = None,
    ) -> builtins.list[T]:
        """What a function says of each entry that matches. It is kept, so each version of an object is decoded once.

        For those who look at thousands again and again. The function is pure, and defined once.
        """
        found: list[T] = []
        for watched, entries in self._select(namespace, labels, owner, index):
            of = watched.digests.of
            for entry in entries:
                try:
                    found.append(of(digest, entry))
                except Undecodable as error:
                    self._complain(entry, error)
        return found

    def _find(self, name: str, namespace: str | None) -> tuple[Watched[K], Cached[K]] | None:
        resource = self._kind.resource
        if not resource.plural:  # its scope is for discovery to say, which nobody here can ask
            namespaced = bool(namespace)
        elif resource.namespaced and not namespace:
            raise TrimtabError(f"which {resource.kind} {name}? It lives in a namespace: give that too")
        else:
            namespaced = resource.namespaced
        key = f"{namespace}/{name}" if namespaced else name
        for watched in self._in(namespace if namespaced else None):
            entry = watched.overlay.see(key, watched.store.get(key))
            if entry is not None:
                return watched, entry
        return None

    def _select(
        self,
        namespace: str | None,
        labels: LabelQuery,
        owner: Object | Dynamic | str | None,
        index: tuple[str, str] | None,
    ) -> Iterator[tuple[Watched[K], builtins.list[Cached[K]]]]:
        selector = Selector.of(labels)
        uid = owner if isinstance(owner, str) or owner is None else owner.metadata.uid
        if owner is not None and not uid:
            raise TrimtabError(f"{owner!r} has no uid, so nothing is known to be its: ask with what was read")

        def matches(entry: Cached[K]) -> bool:
            return (
                (not namespace or entry.labels.namespace == namespace)
                and (uid is None or (entry.controller is not None and entry.controller.uid == uid))
                and (selector is None or selector.matches(entry.labels))
            )

        for watched in self._in(namespace):
            indexer = watched.store.indexer
            if index is not None:
                stored = [entry for entry in indexer.find(*index).values() if matches(entry)]
            elif uid is not None:
                stored = list(indexer.owners.of(uid))
                if namespace:
                    stored = [entry for entry in stored if entry.labels.namespace == namespace]
                if selector is not None:
                    stored = [entry for entry in stored if selector.matches(entry.labels)]
            else:
                stored = list(watched.store.select(selector, namespace))
            if not watched.overlay:
                yield watched, stored
            else:
                ahead = [e for e in watched.overlay.written() if matches(e)]
                if index is not None:
                    ahead = [e for e in ahead if index[1] in indexer.values_of(index[0], e)]
                yield watched, [e for e in stored if not watched.overlay.hides(e)] + ahead

    def _in(self, namespace: str | None) -> Iterable[Watched[K]]:
        all_watched = self._watched()
        if "" in all_watched or not namespace:
            chosen = list(all_watched.values())
        elif namespace in all_watched:
            chosen = [all_watched[namespace]]
        else:
            known = ", ".join(sorted(all_watched)) or "none"
            raise NotWatched(f"{self._kind.resource.kind}s in namespace {namespace} are not watched: only in {known}")
        for watched in chosen:
            if not watched.synced.is_set():
                problem = watched.pulse.problem
                raise NotSynced(
                    f"{watched.scope} cannot be read yet: its first state was not read"
                    + (f" ({problem})" if problem else "; wait for `synced`")
                )
        return chosen

    def _complain(self, entry: Cached[K], error: Undecodable) -> None:
        """Once for each version of an object."""
        if (entry.key, entry.resource_version) not in self._complained:
            if len(self._complained) > 1000:
                self._complained.clear()
            self._complained.add((entry.key, entry.resource_version))
            _log.error("left out of a list: %s", error)

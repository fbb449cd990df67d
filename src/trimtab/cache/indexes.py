"""The station where an object can be found again: by namespace, labels, owner, or what a user's function says of it."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Generic, TypeAlias

import msgspec

from trimtab.cache.entry import NOTHING, Cached, Labels, Owner
from trimtab.errors import TrimtabError
from trimtab.kube.frozen import frozen
from trimtab.kube.meta.v1 import OwnerReference
from trimtab.kube.selectors import Selector
from trimtab.kube.wire import K

IndexFunction: TypeAlias = Callable[[Cached[Any]], Iterable[str]]
"""The values under which an object is to be found."""

_log = logging.getLogger("trimtab.cache")


class Groups(Generic[K]):
    """Each object is in one group: those of its namespace with its labels. Pairs of labels point at groups.

    The Pods of a ReplicaSet are one group, so an index of all pairs costs next to nothing for each of them, and their
    labels are kept once. A selector reads what it returns, and the labels of groups, but no other object.
    """

    def __init__(self) -> None:
        self._interned: dict[tuple[str, bytes], Labels] = {}
        # All by the identity of the labels, which stands for the group.
        self._members: dict[int, dict[str, Cached[K]]] = {}
        self._all: dict[int, Labels] = {}
        self._by_namespace: dict[str, dict[int, Labels]] = {}
        self._by_pair: dict[tuple[str, str], dict[int, Labels]] = {}

    def intern(self, namespace: str, raw: bytes) -> Labels:
        """The labels from these bytes: the same ones for the same bytes."""
        labels = self._interned.get((namespace, raw))
        if labels is None:
            labels = self._interned[namespace, raw] = Labels(namespace, raw)
        return labels

    def put(self, entry: Cached[K]) -> None:
        """Add an object, or a newer version of it that has the same labels."""
        members = self._members.get(id(entry.labels))
        if members is None:
            members = self._open(entry.labels)
        members[entry.key] = entry

    def remove(self, entry: Cached[K]) -> None:
        """Take an object out."""
        members = self._members[id(entry.labels)]
        del members[entry.key]
        if not members:
            self._close(entry.labels)

    def sweep(self) -> None:
        """Forget the labels of objects that never came in."""
        self._interned = {at: labels for at, labels in self._interned.items() if id(labels) in self._members}

    def select(self, selector: Selector | None, namespace: str | None) -> Iterator[dict[str, Cached[K]]]:
        """The members of every group that is meant."""
        candidates: list[dict[int, Labels]] = (
            [self._by_pair.get(pair, {}) for pair in selector.equalities] if selector else []
        )
        if namespace:
            candidates.append(self._by_namespace.get(namespace, {}))
        for identity, labels in min(candidates or [self._all], key=len).items():
            if (not namespace or labels.namespace == namespace) and (selector is None or selector.matches(labels)):
                yield self._members[identity]

    def _open(self, labels: Labels) -> dict[str, Cached[K]]:
        self._interned.setdefault((labels.namespace, labels.raw), labels)
        for groups in self._indexes(labels):
            groups[id(labels)] = labels
        members = self._members[id(labels)] = {}
        return members

    def _close(self, labels: Labels) -> None:
        del self._members[id(labels)]
        if self._interned.get((labels.namespace, labels.raw)) is labels:
            del self._interned[labels.namespace, labels.raw]
        for groups in self._indexes(labels):
            del groups[id(labels)]
        if not self._by_namespace[labels.namespace]:
            del self._by_namespace[labels.namespace]
        for pair in labels.items():
            if not self._by_pair[pair]:
                del self._by_pair[pair]

    def _indexes(self, labels: Labels) -> Iterator[dict[int, Labels]]:
        yield self._all
        yield self._by_namespace.setdefault(labels.namespace, {})
        for pair in labels.items():
            yield self._by_pair.setdefault(pair, {})


class Owners(Generic[K]):
    """Objects by the uid of the controller that owns them."""

    def __init__(self) -> None:
        self._interned: dict[bytes, Owner | None] = {}
        self._members: dict[str, dict[str, Cached[K]]] = {}

    def intern(self, raw: bytes) -> Owner | None:
        """The controller among these owner references, one for all objects that have it."""
        try:
            return self._interned[raw]
        except KeyError:
            references = _decode_owners(raw) or () if raw not in NOTHING else ()
            controller = next((each for each in references if each.controller), None)
            owner = self._interned[raw] = Owner(controller, raw) if controller else None
            return owner

    def put(self, entry: Cached[K]) -> None:
        """Add an object, or a newer version of it that has the same owner."""
        if entry.owner is not None:
            self._members.setdefault(entry.owner.reference.uid, {})[entry.key] = entry

    def remove(self, entry: Cached[K]) -> None:
        """Take an object out."""
        if entry.owner is not None:
            uid = entry.owner.reference.uid
            members = self._members[uid]
            del members[entry.key]
            if not members:
                del self._members[uid]
                self._interned.pop(entry.owner.raw, None)

    def sweep(self) -> None:
        """Forget owners that were met with objects that never came in, or that own nothing as a controller."""
        self._interned = {
            raw: owner for raw, owner in self._interned.items() if owner and owner.reference.uid in self._members
        }

    def of(self, uid: str) -> dict[str, Cached[K]]:
        """What an owner controls."""
        return self._members.get(uid, {})


class _ByFunction(Generic[K]):
    def __init__(self, name: str, function: IndexFunction) -> None:
        self._name = name
        self.function = function
        self._values: dict[str, tuple[str, ...]] = {}
        self.members: dict[str, dict[str, Cached[K]]] = {}

    def values_of(self, entry: Cached[K]) -> tuple[str, ...]:
        try:
            return tuple(dict.fromkeys(self.function(entry)))
        except Exception:  # noqa: BLE001  # a user's function: it may raise anything
            _log.exception("index %s: its function failed on %r, which is not found by it", self._name, entry)
            return ()

    def put(self, entry: Cached[K]) -> None:
        values = self.values_of(entry)
        if self._values.get(entry.key) not in (None, values):
            self.remove(entry)
        if values:
            self._values[entry.key] = values
        for value in values:
            self.members.setdefault(value, {})[entry.key] = entry

    def remove(self, entry: Cached[K]) -> None:
        for value in self._values.pop(entry.key, ()):
            members = self.members[value]
            del members[entry.key]
            if not members:
                del self.members[value]


class Indexer(Generic[K]):
    """All indexes of a store."""

    def __init__(self) -> None:
        self.groups: Groups[K] = Groups()
        self.owners: Owners[K] = Owners()
        self._functions: dict[str, _ByFunction[K]] = {}

    def add(self, name: str, function: IndexFunction, entries: Iterable[Cached[K]]) -> None:
        """Add an index of the user's own; it holds these objects at once."""
        if name in self._functions:
            if self._functions[name].function is function:
                return
            raise TrimtabError(f"there is another index {name!r} already: give this one another name")
        index = _ByFunction[K](name, function)
        for entry in entries:
            index.put(entry)
        self._functions[name] = index

    def put(self, old: Cached[K] | None, new: Cached[K]) -> None:
        """Add an object in the place of its older version."""
        if old is not None:
            if old.labels is not new.labels:
                self.groups.remove(old)
            if old.owner is not new.owner:
                self.owners.remove(old)
        self.groups.put(new)
        self.owners.put(new)
        for index in self._functions.values():
            index.put(new)

    def remove(self, entry: Cached[K]) -> None:
        """Take an object out."""
        self.groups.remove(entry)
        self.owners.remove(entry)
        for index in self._functions.values():
            index.remove(entry)

    def find(self, name: str, value: str) -> dict[str, Cached[K]]:
        """What an index of the user's own has under a value."""
        return self._named(name).members.get(value, {})

    def values_of(self, name: str, entry: Cached[K]) -> tuple[str, ...]:
        """Under which values such an index would have an object."""
        return self._named(name).values_of(entry)

    def _named(self, name: str) -> _ByFunction[K]:
        if name not in self._functions:
            known = ", ".join(sorted(self._functions)) or "none"
            raise TrimtabError(f"there is no index {name!r} (there are: {known}): add it with add_index")
        return self._functions[name]

    def sweep(self) -> None:
        """Forget what was interned for objects that never came in."""
        self.groups.sweep()
        self.owners.sweep()


_decode_owners = msgspec.json.Decoder(list[frozen(OwnerReference)] | None).decode

"""The station where an object can be found again: by namespace, labels, owner, or what a user's function says of it."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Generic, TypeAlias, TypeVar

import msgspec

from trimtab.cache.entry import NOTHING, Cached, Labels, Owner
from trimtab.errors import TrimtabError
from trimtab.kube.frozen import frozen
from trimtab.kube.meta.v1 import OwnerReference
from trimtab.kube.selectors import Selector
from trimtab.kube.wire import K

IndexFunction: TypeAlias = Callable[[Cached[Any]], Iterable[str]]
"""The values under which an object is to be found."""

P = TypeVar("P")
_log = logging.getLogger("trimtab.cache")


class _Shared(Generic[P, K]):
    """Objects by something that many of them have in common, of which there is one instance: it stands for them all.

    It is interned by the bytes that it was read from, for as long as one of the objects is there.
    """

    def __init__(self) -> None:
        self._interned: dict[tuple[str, bytes], P] = {}
        self._members: dict[int, dict[str, Cached[K]]] = {}  # by the identity of what they share

    def sweep(self) -> None:
        """Forget what was interned for objects that never came in."""
        self._interned = {at: shared for at, shared in self._interned.items() if id(shared) in self._members}

    def _put(self, shared: P, entry: Cached[K]) -> None:
        members = self._members.get(identity := id(shared))  # one number, kept in all places
        if members is None:
            members = self._members[identity] = {}
            self._interned.setdefault(self._read_from(shared), shared)
            for index, key in self._places(shared):
                index.setdefault(key, {})[identity] = shared
        members[entry.key] = entry

    def _remove(self, shared: P, entry: Cached[K]) -> None:
        members = self._members[id(shared)]
        del members[entry.key]
        if members:
            return
        del self._members[id(shared)]
        if self._interned.get(at := self._read_from(shared)) is shared:
            del self._interned[at]
        for index, key in self._places(shared):
            del index[key][id(shared)]
            if not index[key]:
                del index[key]

    def _read_from(self, shared: P) -> tuple[str, bytes]:
        raise NotImplementedError

    def _places(self, shared: P) -> Iterator[tuple[dict[Any, dict[int, P]], Any]]:
        """Where it is to be found: indexes, and the key in each."""
        raise NotImplementedError


class Groups(_Shared[Labels, K]):
    """Each object is in one group: those of its namespace with its labels. Pairs of labels point at groups.

    The Pods of a ReplicaSet are one group, so an index of all pairs costs next to nothing for each of them, and their
    labels are kept once. A selector reads what it returns, and the labels of groups, but no other object.
    """

    def __init__(self) -> None:
        super().__init__()
        self._all: dict[None, dict[int, Labels]] = {}
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
        self._put(entry.labels, entry)

    def remove(self, entry: Cached[K]) -> None:
        """Take an object out."""
        self._remove(entry.labels, entry)

    def select(self, selector: Selector | None, namespace: str | None) -> Iterator[dict[str, Cached[K]]]:
        """The members of every group that is meant."""
        candidates = [self._by_pair.get(pair, {}) for pair in selector.equalities] if selector else []
        candidates.append(self._by_namespace.get(namespace, {}) if namespace else self._all.get(None, {}))
        for identity, labels in min(candidates, key=len).items():
            if (not namespace or labels.namespace == namespace) and (selector is None or selector.matches(labels)):
                yield self._members[identity]

    def _read_from(self, shared: Labels) -> tuple[str, bytes]:
        return shared.namespace, shared.raw

    def _places(self, shared: Labels) -> Iterator[tuple[dict[Any, dict[int, Labels]], Any]]:
        yield self._all, None
        yield self._by_namespace, shared.namespace
        for pair in shared.items():
            yield self._by_pair, pair


class Owners(_Shared[Owner, K]):
    """Objects by the controller that owns them."""

    def __init__(self) -> None:
        super().__init__()
        self._by_uid: dict[str, dict[int, Owner]] = {}

    def intern(self, raw: bytes) -> Owner | None:
        """The controller among these owner references, one for all objects that have it."""
        owner = self._interned.get(("", raw))
        if owner is None and raw not in NOTHING:
            controller = next((each for each in _decode_owners(raw) or () if each.controller), None)
            if controller is not None:
                owner = self._interned["", raw] = Owner(controller, raw)
        return owner

    def put(self, entry: Cached[K]) -> None:
        """Add an object, or a newer version of it that has the same owner."""
        if entry.owner is not None:
            self._put(entry.owner, entry)

    def remove(self, entry: Cached[K]) -> None:
        """Take an object out."""
        if entry.owner is not None:
            self._remove(entry.owner, entry)

    def of(self, uid: str) -> Iterator[Cached[K]]:
        """What an owner controls."""
        for identity in self._by_uid.get(uid, ()):
            yield from self._members[identity].values()

    def _read_from(self, shared: Owner) -> tuple[str, bytes]:
        return "", shared.raw

    def _places(self, shared: Owner) -> Iterator[tuple[dict[Any, dict[int, Owner]], Any]]:
        yield self._by_uid, shared.reference.uid


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

"""The station where objects are kept."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Generic

import msgspec

from trimtab.cache.entry import Cached
from trimtab.cache.indexes import Indexer, IndexFunction
from trimtab.kube.selectors import Selector
from trimtab.kube.wire import K


class Change(msgspec.Struct, Generic[K], frozen=True, gc=False):
    """What became of an object: added (no `old`), updated, or deleted (no `new`).

    `witnessed` is False for a deletion that nobody saw: the object was missing from a later list, or another stands
    under its name. `old` is then the last state that was seen, not the one that was deleted.
    """

    old: Cached[K] | None
    new: Cached[K] | None
    witnessed: bool = True


class Store(Generic[K]):
    """The objects of one kind by key (`<namespace>/<name>`, or `<name>`), and the indexes that find them.

    Whatever changes it returns what that changes for those who follow it, in the order in which it happened.
    """

    def __init__(self) -> None:
        self.indexer: Indexer[K] = Indexer()
        self._entries: dict[str, Cached[K]] = {}

    def __len__(self) -> int:
        return len(self._entries)

    def __iter__(self) -> Iterator[Cached[K]]:
        return iter(self._entries.values())

    def get(self, key: str) -> Cached[K] | None:
        """The object of this key, if it is there."""
        return self._entries.get(key)

    def select(self, selector: Selector | None = None, namespace: str | None = None) -> Iterator[Cached[K]]:
        """The objects of a namespace, or of all, whose labels are selected."""
        for members in self.indexer.groups.select(selector, namespace):
            yield from members.values()

    def ensure_index(self, name: str, function: IndexFunction) -> None:
        """Add an index of the user's own, at any time. Another function under its name is an error."""
        self.indexer.add(name, function, self._entries.values())

    def put(self, new: Cached[K]) -> list[Change[K]]:
        """Keep an object in its newest version."""
        old = self._entries.get(new.key)
        if old is not None and old.uid == new.uid:
            if old.resource_version == new.resource_version:
                return []  # told twice
            self._keep(old, new)
            return [Change(old, new)]
        if old is None:
            self._keep(None, new)
            return [Change(None, new)]
        return [self._drop(old, witnessed=False), *self.put(new)]

    def delete(self, last: Cached[K]) -> list[Change[K]]:
        """Forget an object that was deleted, of which this is the last version."""
        old = self._entries.get(last.key)
        if old is None:
            return []
        self._drop(old)
        return [Change(last if last.uid == old.uid else old, None, last.uid == old.uid)]

    def replace(self, entries: dict[str, Cached[K]]) -> list[Change[K]]:
        """Keep these objects and no others, as after a list."""
        vanished = [old for old in self._entries.values() if old.key not in entries]
        changes = [self._drop(old, witnessed=False) for old in vanished]
        for new in entries.values():
            changes += self.put(new)
        self.indexer.sweep()
        return changes

    def clear(self) -> list[Change[K]]:
        """Forget everything."""
        return self.replace({})

    def _keep(self, old: Cached[K] | None, new: Cached[K]) -> None:
        self._entries[new.key] = new
        self.indexer.put(old, new)

    def _drop(self, old: Cached[K], *, witnessed: bool = True) -> Change[K]:
        del self._entries[old.key]
        self.indexer.remove(old)
        return Change(old, None, witnessed)

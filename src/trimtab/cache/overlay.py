"""Read your writes: what was written shows at once, until the watch has caught up with it."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final, Generic

from trimtab.cache.entry import Cached
from trimtab.cache.store import Change, Store
from trimtab.kube.wire import K

_MOST: Final = 10_000  # writes that are ahead of the watch; of more, the oldest are forgotten
_SECONDS: Final = 120.0  # after which a deletion is forgotten whose object the watch never showed


@dataclass(frozen=True, slots=True)
class _Ahead(Generic[K]):
    """A write that the watch has not shown yet: the object since then, or None where readers should find none."""

    entry: Cached[K] | None
    uid: str
    version: int | None  # as of which the watch has shown it; a deletion is answered without one
    known: int  # of what was deleted, the newest version that was known
    gone: frozenset[str]  # uids that were deleted
    at: float


class Overlay(Generic[K]):
    """Writes that are ahead of the watch. What is read from the store passes through here.

    Versions of one resource can be compared since Kubernetes 1.35 says so (they always could, with etcd). A deletion
    is answered without a version, so it is over when the store, at a version at which the object would be in it, has
    it no longer.
    """

    def __init__(self, store: Store[K], clock: Callable[[], float]) -> None:
        self.forgotten = 0  # writes that were dropped before the watch showed them
        self._store = store
        self._clock = clock
        self._ahead: OrderedDict[str, _Ahead[K]] = OrderedDict()
        self._writing = 0  # writes under way that may delete
        self._gone: set[str] = set()  # uids that the watch saw go meanwhile

    def __len__(self) -> int:
        return len(self._ahead)

    def entry(self, key: str) -> Cached[K] | None:
        """What was written under this key, if that is ahead of the watch."""
        ahead = self._ahead.get(key)
        return None if ahead is None else ahead.entry

    def begin(self, key: str) -> frozenset[str]:
        """The request for a write that may delete is about to be sent: the watch may show that before the answer.

        Gives the uids that are known under this key. If another one turns out to have been deleted, these had gone
        before. `end` belongs to it.
        """
        self._writing += 1
        stored, ahead = self._store.get(key), self._ahead.get(key)
        if ahead is None:
            return frozenset() if stored is None else frozenset((stored.uid,))
        return frozenset((ahead.uid,) if stored is None else (stored.uid, ahead.uid))

    def end(self) -> None:
        """A write that may delete was answered, or was given up."""
        self._writing -= 1
        if not self._writing:
            self._gone.clear()

    def wrote(self, entry: Cached[K], reached: str, *, visible: bool) -> None:
        """An object was written; where it is not `visible`, it is no longer among those that are watched."""
        version, ahead = _number(entry.resource_version), self._ahead.get(entry.key)
        if version < 0 or _number(reached) >= version:
            return
        if ahead is not None and (entry.uid in ahead.gone or (ahead.version or 0) > version):
            return  # answers may come in another order than the writes were done
        gone = ahead.gone if ahead else frozenset[str]()
        self._put(entry.key, _Ahead(entry if visible else None, entry.uid, version, version, gone, self._clock()))

    def deleted(self, key: str, uid: str, before: frozenset[str] = frozenset()) -> None:
        """The object of this uid was deleted; `before` is what `begin` gave."""
        ahead, stored = self._ahead.get(key), self._store.get(key)
        made_anew = ahead is not None and ahead.version is not None and ahead.uid not in (uid, *before)
        if uid in self._gone or made_anew:
            return
        known = _number(stored.resource_version) if stored is not None and stored.uid == uid else -1
        gone = before | {uid}
        if ahead is not None:
            known = max(known, ahead.known)
            gone |= ahead.gone
        self._put(key, _Ahead(None, uid, None, known, gone, self._clock()))

    def caught_up(self, changes: list[Change[K]], reached: str) -> None:
        """The watch has shown all up to a version, and the store has it."""
        if self._ahead or self._writing:
            gone = {change.old.uid for change in changes if change.old is not None and change.new is None}
            if self._writing:
                self._gone |= gone
            now, shown = self._clock(), _number(reached)
            for key, ahead in list(self._ahead.items()):
                if self._is_over(ahead, self._store.get(key), shown, gone):
                    del self._ahead[key]
                elif ahead.version is None and now - ahead.at > _SECONDS:
                    self._forget(key)

    def _is_over(self, ahead: _Ahead[K], stored: Cached[K] | None, shown: int, gone: set[str]) -> bool:
        if ahead.version is not None:
            return shown >= ahead.version
        if stored is None:
            return ahead.uid in gone or shown >= ahead.known >= 0
        return not self._is_past(ahead, stored)

    def see(self, key: str, stored: Cached[K] | None) -> Cached[K] | None:
        """What a reader of this key is to see, where the store has this."""
        ahead = self._ahead.get(key)
        if ahead is None:
            return stored
        if ahead.entry is None and stored is not None and not self.hides(stored):
            return stored
        return ahead.entry

    def hides(self, stored: Cached[K]) -> bool:
        """Whether what the store has is of the past."""
        ahead = self._ahead.get(stored.key)
        return ahead is not None and self._is_past(ahead, stored)

    def _is_past(self, ahead: _Ahead[K], stored: Cached[K]) -> bool:
        return ahead.version is not None or stored.uid in ahead.gone or _number(stored.resource_version) <= ahead.known

    def written(self) -> Iterator[Cached[K]]:
        """The objects as they were written."""
        return (ahead.entry for ahead in self._ahead.values() if ahead.entry is not None)

    def _put(self, key: str, ahead: _Ahead[K]) -> None:
        self._ahead[key] = ahead
        self._ahead.move_to_end(key)
        if len(self._ahead) > _MOST:
            self._forget(next(iter(self._ahead)))

    def _forget(self, key: str) -> None:
        del self._ahead[key]
        self.forgotten += 1


def _number(version: str) -> int:
    """The version as a number; -1 where it is none."""
    return int(version) if version.isascii() and version.isdecimal() else -1

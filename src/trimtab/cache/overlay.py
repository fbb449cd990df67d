"""Read your writes: what was written shows at once, until the watch has caught up with it."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final, Generic

from trimtab.cache.entry import Cached
from trimtab.cache.store import Change
from trimtab.kube.wire import K

_MOST: Final = 1000  # writes that are ahead of the watch; of more, the oldest are forgotten
_SECONDS: Final = 120.0  # after which a deletion is forgotten whose object the watch never showed


@dataclass(frozen=True, slots=True)
class _Ahead(Generic[K]):
    """A write that the watch has not shown yet: the object since then, or None where readers should find none."""

    entry: Cached[K] | None
    version: int | None  # as of which the watch has shown it; None for a deletion, of which only the uid is known
    uid: str
    at: float


class Overlay(Generic[K]):
    """Writes that are ahead of the watch. What is read passes through here.

    Versions of one resource can be compared since Kubernetes 1.35 says so (they always could, with etcd). A deletion
    is answered without a version, so it is over when the watch has shown that the object of that uid is gone.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self.forgotten = 0  # writes that were dropped before the watch showed them
        self._clock = clock
        self._ahead: OrderedDict[str, _Ahead[K]] = OrderedDict()
        self._deleting = 0  # deletions under way
        self._gone: set[str] = set()  # uids that the watch saw go meanwhile

    def __len__(self) -> int:
        return len(self._ahead)

    @contextmanager
    def deletion(self) -> Generator[None]:
        """Surrounds the request for a deletion: the watch may show it before the answer is here."""
        self._deleting += 1
        try:
            yield
        finally:
            self._deleting -= 1
            if not self._deleting:
                self._gone.clear()

    def wrote(self, entry: Cached[K], reached: str, *, visible: bool) -> None:
        """An object was written; where it is not `visible`, it is no longer among those that are watched."""
        version, shown = _number(entry.resource_version), _number(reached)
        if version is not None and (shown is None or shown < version):
            self._put(entry.key, _Ahead(entry if visible else None, version, entry.uid, self._clock()))

    def deleted(self, key: str, uid: str) -> None:
        """The object of this uid was deleted."""
        if uid not in self._gone:
            self._put(key, _Ahead(None, None, uid, self._clock()))

    def caught_up(self, changes: list[Change[K]], reached: str) -> None:
        """The watch has shown all up to a version."""
        if self._deleting:
            self._gone.update(change.old.uid for change in changes if change.old and not change.new)
        if not self._ahead:
            return
        for change in changes:
            if change.old is not None and change.new is None:
                ahead = self._ahead.get(change.old.key)
                if ahead is not None and ahead.version is None and ahead.uid == change.old.uid:
                    del self._ahead[change.old.key]
        shown, now = _number(reached), self._clock()
        for key, ahead in list(self._ahead.items()):
            if ahead.version is None:
                if now - ahead.at > _SECONDS:
                    self._forget(key)
            elif shown is not None and shown >= ahead.version:
                del self._ahead[key]

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
        return ahead is not None and (ahead.entry is not None or ahead.uid == stored.uid)

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


def _number(version: str) -> int | None:
    return int(version) if version.isascii() and version.isdecimal() else None

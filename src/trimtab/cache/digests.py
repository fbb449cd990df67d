"""What those who own thousands want to know of each, worked out once for each version of an object."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, Generic, TypeAlias, TypeVar

from trimtab.cache.entry import Cached
from trimtab.cache.store import Store
from trimtab.errors import TrimtabError
from trimtab.kube.wire import K

T = TypeVar("T")
Digest: TypeAlias = Callable[[Cached[Any]], T]
"""What is wanted of an entry: a pure function, the same one at each call."""

_MOST: Final = 64  # functions: more are such as are made anew at each call
_SPARE: Final = 1024  # objects that may be remembered of which the store knows nothing


class Digests(Generic[K]):
    """For each function and key: the entry that it was given, and what it said of it."""

    def __init__(self, store: Store[K]) -> None:
        self._store = store
        self._said: dict[Digest[Any], dict[str, tuple[Cached[K], Any]]] = {}

    def __len__(self) -> int:
        return sum(map(len, self._said.values()))

    def of(self, digest: Digest[T], entry: Cached[K]) -> T:
        """What the function says of an entry."""
        said = self._said.get(digest)
        if said is None:
            said = self._begin(digest)
        found = said.get(entry.key)
        if found is not None and found[0] is entry:
            return found[1]
        value = digest(entry)
        if len(said) > len(self._store) + _SPARE:  # what was written and gone before the watch saw it
            self._said[digest] = said = {key: each for key, each in said.items() if self._store.get(key) is each[0]}
        said[entry.key] = entry, value
        return value

    def forget(self, entry: Cached[K]) -> None:
        """Let go of a version that is of the past."""
        for said in self._said.values():
            found = said.get(entry.key)
            if found is not None and found[0] is entry:
                del said[entry.key]

    def _begin(self, digest: Digest[Any]) -> dict[str, tuple[Cached[K], Any]]:
        if len(self._said) >= _MOST:
            raise TrimtabError(f"{digest!r} is one of more than {_MOST} digests: define it once, outside of the call")
        self._said[digest] = {}
        return self._said[digest]

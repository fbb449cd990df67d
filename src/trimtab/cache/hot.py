"""What is read again and again is kept decoded, within a bound."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any, Final, TypeVar, cast

import msgspec

from trimtab.cache.entry import Cached, readable

T = TypeVar("T")
_MET: Final = 4096  # objects that were read once, and are remembered for it
_DECODED: Final = 4  # times its JSON that an object takes when it is decoded, as measured on Pods


class _Kept:
    __slots__ = ("size", "values")

    def __init__(self) -> None:
        self.values: dict[type, Any] = {}
        self.size = 0


class Hot:
    """Objects that were read at least twice at the same version are kept decoded, those that were read last.

    They are frozen, so all who read them share them. `size` estimates how many bytes they take.
    """

    def __init__(self, most: int) -> None:
        self.size = 0
        self.hits = 0
        self.misses = 0
        self._most = most
        self._kept: OrderedDict[Cached[Any], _Kept] = OrderedDict()
        self._met: OrderedDict[Cached[Any], None] = OrderedDict()

    def __len__(self) -> int:
        return len(self._kept)

    def read(self, entry: Cached[Any], cls: type[T]) -> T:
        """The object of an entry as this class: its own, or a view."""
        kept = self._kept.get(entry)
        if kept is not None and cls in kept.values:
            self.hits += 1
            self._kept.move_to_end(entry)
            return cast("T", kept.values[cls])
        self.misses += 1
        data = entry.json()
        value = entry.decode(readable(cls), data)
        if not issubclass(cls, msgspec.Struct):  # a Dynamic object is its reader's own
            return value
        if kept is not None or entry in self._met:
            self._keep(entry, cls, value, len(data) * _DECODED)
        else:
            self._met[entry] = None
            if len(self._met) > _MET:
                self._met.popitem(last=False)
        return value

    def forget(self, entry: Cached[Any]) -> None:
        """Let go of a version that is of the past."""
        self._met.pop(entry, None)
        if (kept := self._kept.pop(entry, None)) is not None:
            self.size -= kept.size

    def _keep(self, entry: Cached[Any], cls: type, value: object, size: int) -> None:
        self._met.pop(entry, None)
        kept = self._kept.setdefault(entry, _Kept())
        kept.values[cls] = value
        kept.size += size
        self.size += size
        while self.size > self._most:
            _, oldest = self._kept.popitem(last=False)
            self.size -= oldest.size

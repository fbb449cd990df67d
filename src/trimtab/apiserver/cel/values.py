"""What expressions compute with.

Null, bool, int, double, string and bytes are Python's; a list is a list, what JSON calls an object may stay a dict.
The rest is here, and what equality and order mean.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from trimtab.apiserver.cel.errors import EvaluationError

if TYPE_CHECKING:
    from collections.abc import Iterator

INT_MIN: Final = -(2**63)
INT_MAX: Final = 2**63 - 1
UINT_MAX: Final = 2**64 - 1

MISSING: Final = object()
"""What looking something up gives where there is nothing."""


class Uint(int):
    """An unsigned int: it is another type than int, and equals one of the same amount."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class TypeValue:
    """A type as a value: what `type(x)` gives, and the name `int`."""

    name: str


@dataclass(frozen=True, slots=True, order=True)
class Duration:
    """A length of time in nanoseconds."""

    nanos: int


@dataclass(frozen=True, slots=True, order=True)
class Timestamp:
    """A moment, in nanoseconds since 1970."""

    nanos: int


@dataclass(frozen=True, slots=True, eq=False)
class Optional:
    """A value that may be missing."""

    value: Any = MISSING

    @property
    def present(self) -> bool:
        """Whether there is one."""
        return self.value is not MISSING


NONE: Final = Optional()


class Mapping:
    """What can be looked into by key: maps that expressions make, and objects with a schema."""

    __slots__ = ()

    def find(self, key: Any) -> Any:
        """Look a key up: its value, or MISSING."""
        raise NotImplementedError

    def keys(self) -> list[Any]:
        """All keys."""
        raise NotImplementedError

    def __len__(self) -> int:
        raise NotImplementedError

    def equals(self, other: Any) -> bool:
        """Whether both have the same keys with equal values."""
        if not is_map(other) or len(self) != len(other):
            return False
        for key in self.keys():
            theirs = find(other, key)
            if theirs is MISSING or not equal(self.find(key), theirs):
                return False
        return True


class MapValue(Mapping):
    """A map that an expression made."""

    __slots__ = ("entries",)

    def __init__(self, entries: dict[Any, Any] | None = None) -> None:
        self.entries: dict[Any, Any] = entries if entries is not None else {}

    def find(self, key: Any) -> Any:
        """Look a key up; numbers of any type find their equal."""
        try:
            return self.entries.get(_hashed(key), MISSING)
        except TypeError:
            return MISSING

    def insert(self, key: Any, value: Any) -> bool:
        """Add an entry; whether the key was new."""
        hashed = _hashed(key)
        if hashed in self.entries:
            return False
        self.entries[hashed] = value
        return True

    def replace(self, key: Any, value: Any) -> None:
        """Add an entry, or put another value into the one that is there."""
        self.entries[_hashed(key)] = value

    def keys(self) -> list[Any]:
        """All keys, in the order in which they came."""
        return [_unhashed(key) for key in self.entries]

    def __len__(self) -> int:
        return len(self.entries)


class Sequence:
    """A list with a schema: it decides what equality and addition mean for it."""

    __slots__ = ()

    def __len__(self) -> int:
        raise NotImplementedError

    def __iter__(self) -> Iterator[Any]:
        raise NotImplementedError

    def at(self, index: int) -> Any:
        """The element of that index."""
        raise NotImplementedError

    def equals(self, other: Any) -> bool:
        """Whether both hold equal elements."""
        raise NotImplementedError

    def plus(self, other: Any) -> Any:
        """Both, one after the other or merged."""
        raise NotImplementedError


_TRUE, _FALSE = object(), object()  # in Python, True is 1: as keys they must differ


def _hashed(key: Any) -> Any:
    return (_TRUE if key else _FALSE) if isinstance(key, bool) else key


def _unhashed(key: Any) -> Any:
    return True if key is _TRUE else False if key is _FALSE else key


def is_map(value: Any) -> bool:
    """Whether it can be looked into by key."""
    return isinstance(value, (dict, Mapping))


def is_list(value: Any) -> bool:
    """Whether it has elements in an order."""
    return isinstance(value, (list, Sequence))


def find(container: Any, key: Any) -> Any:
    """Look a key up in any map: its value, or MISSING."""
    if isinstance(container, Mapping):
        return container.find(key)
    return container.get(key, MISSING) if isinstance(key, str) else MISSING


def keys(container: Any) -> list[Any]:
    """The keys of any map."""
    return container.keys() if isinstance(container, Mapping) else list(container)


def equal(a: Any, b: Any) -> bool:
    """Whether two values are equal; values of types that have nothing in common are not."""
    if isinstance(a, (Mapping, Sequence)):
        return a.equals(b)
    if isinstance(a, bool) or isinstance(b, bool):
        return a is b
    if isinstance(a, (int, float)):
        return isinstance(b, (int, float)) and a == b
    if is_list(a):
        return is_list(b) and len(a) == len(b) and all(equal(x, y) for x, y in zip(a, b, strict=True))
    if is_map(a):
        return is_map(b) and len(a) == len(b) and all(_entry_equal(key, find(a, key), b) for key in keys(a))
    if isinstance(a, Optional):
        if not isinstance(b, Optional) or a.present != b.present:
            return False
        return not a.present or equal(a.value, b.value)
    return type(a) is type(b) and a == b


def _entry_equal(key: Any, value: Any, other: Any) -> bool:
    theirs = find(other, key)
    return theirs is not MISSING and equal(value, theirs)


def compare(a: Any, b: Any) -> int:
    """Order two values: negative, zero or positive."""
    if not _comparable(a, b):
        raise EvaluationError("no such overload")
    if isinstance(a, float) or isinstance(b, float):
        a, b = float(a), float(b)
        if math.isnan(a) or math.isnan(b):
            raise EvaluationError("NaN values cannot be ordered")
    return (a > b) - (a < b)


def _comparable(a: Any, b: Any) -> bool:
    if isinstance(a, (int, float)) and not isinstance(a, bool):
        return isinstance(b, (int, float)) and not isinstance(b, bool)
    return type(a) is type(b) and isinstance(a, (bool, str, bytes, Timestamp, Duration))


def zero(value: Any) -> bool:
    """Whether a value is what its type is without one."""
    if value is None or value is False:
        return True
    if isinstance(value, (str, bytes)) or is_list(value) or is_map(value):
        return len(value) == 0
    if isinstance(value, Duration):
        return value.nanos == 0
    if isinstance(value, Optional):
        return not value.present
    return isinstance(value, (int, float)) and value == 0


def kind_name(value: Any) -> str:
    """The name of a value's type."""
    for known, name in _NAMES:
        if isinstance(value, known):
            return name
    if value is None:
        return "null_type"
    return str(getattr(value, "type_name", type(value).__name__))


_NAMES: Final[tuple[tuple[type, str], ...]] = (
    (bool, "bool"),
    (Uint, "uint"),
    (int, "int"),
    (float, "double"),
    (str, "string"),
    (bytes, "bytes"),
    (list, "list"),
    (Sequence, "list"),
    (dict, "map"),
    (Mapping, "map"),
    (Timestamp, "google.protobuf.Timestamp"),
    (Duration, "google.protobuf.Duration"),
    (TypeValue, "type"),
    (Optional, "optional_type"),
)


def size(value: Any) -> int:
    """What `size()` gives, and what costs are computed from: 1 for all that has none."""
    if isinstance(value, (str, bytes)) or is_list(value) or is_map(value):
        return len(value)
    if isinstance(value, Optional):
        return size(value.value) if value.present else 1
    return int(getattr(value, "cost_size", 1))

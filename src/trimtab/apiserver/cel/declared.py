"""Values with a schema: what `self` is in the rule of a custom resource.

A `Declared` is the type that a schema gives to expressions, with how large its values can become, for costs; and it
reads raw JSON as such values. Objects and lists are read when they are looked into.
"""

from __future__ import annotations

import base64
import binascii
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from trimtab.apiserver.cel.errors import EvaluationError
from trimtab.apiserver.cel.names import escape, unescape
from trimtab.apiserver.cel.strfmt import parse_date, parse_date_time, parse_lenient_duration
from trimtab.apiserver.cel.types import Type
from trimtab.apiserver.cel.values import MISSING, Mapping, Sequence, equal, find, is_list, is_map, keys

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

LARGEST_REQUEST: Final = 3 * 1024 * 1024


@dataclass(eq=False, slots=True)
class Declared:
    """A type with what its schema says of its values."""

    shape: str
    """object, map, list, string, bytes, date, date-time, duration, number, integer, boolean, int-or-string, unknown."""
    type: Type
    fields: dict[str, Declared] = field(default_factory=dict["str", "Declared"])
    """By the names under which expressions know them; what is no identifier even escaped is not there."""
    properties: dict[str, Declared] = field(default_factory=dict["str", "Declared"])
    """By their real names, all that the schema has: also those that expressions cannot name."""
    element: Declared | None = None
    list_type: str = "atomic"
    map_keys: tuple[str, ...] = ()
    nullable: bool = False
    most: int = 0
    """The largest size of a value, in elements or bytes."""
    least_bytes: int = 1
    """The smallest JSON that a value can be."""
    visible: bool = True
    """Whether expressions can see it: what has no type cannot be seen, only compared with its like."""

    def read(self, raw: Any) -> Any:
        """Read raw JSON as a value of this type, or raise EvaluationError."""
        if raw is None:
            if self.nullable:
                return None
            raise EvaluationError("invalid data, got null for schema with nullable=false")
        return _READERS[self.shape](self, raw)


class ObjectValue(Mapping):
    """A JSON object whose schema is known."""

    __slots__ = ("declared", "raw")

    def __init__(self, declared: Declared, raw: dict[str, Any]) -> None:
        self.declared = declared
        self.raw = raw

    def find(self, key: Any) -> Any:
        """Look a property up by the name it has in expressions; a property that is null is not there."""
        if not isinstance(key, str):
            raise EvaluationError("no such overload")
        declared = self.declared
        if declared.shape == "map":
            value = self.raw.get(key, MISSING)
            return MISSING if value is MISSING or declared.element is None else declared.element.read(value)
        name = key
        if key not in declared.properties or key not in self.raw:
            name = unescape(key)
            if name is None:
                return MISSING
        value = self.raw.get(name)
        known = declared.properties.get(name)
        return MISSING if value is None or known is None else known.read(value)

    def keys(self) -> list[Any]:
        """The names of what is there and in the schema."""
        if self.declared.shape == "map":
            return list(self.raw)
        return [escape(name) or name for name in self.raw if name in self.declared.properties]

    def __len__(self) -> int:
        return len(self.raw)

    def equals(self, other: Any) -> bool:
        """Whether both have the same; what the schema does not know is compared as plain JSON."""
        if not is_map(other) or len(self) != len(other):
            return False
        is_object = self.declared.shape == "object"
        for name, value in self.raw.items():
            if is_object and name not in self.declared.properties:
                theirs = other.raw.get(name, MISSING) if isinstance(other, ObjectValue) else MISSING
                if theirs is not MISSING and value != theirs:
                    return False
                continue
            key = (escape(name) or name) if is_object else name
            mine, theirs = self.find(key), find(other, key)
            if (mine is MISSING) != (theirs is MISSING):
                return False
            if mine is not MISSING and not equal(mine, theirs):
                return False
        return True


class ListValue(Sequence):
    """A JSON array whose schema is known; as a set or a map it takes no notice of order."""

    __slots__ = ("declared", "raw")

    def __init__(self, declared: Declared, raw: list[Any]) -> None:
        self.declared = declared
        self.raw = raw

    def __len__(self) -> int:
        return len(self.raw)

    def __iter__(self) -> Iterator[Any]:
        element = self.declared.element
        assert element is not None
        return (element.read(raw) for raw in self.raw)

    def at(self, index: int) -> Any:
        """The element of that index, read."""
        element = self.declared.element
        assert element is not None
        return element.read(self.raw[index])

    def equals(self, other: Any) -> bool:
        """Whether both hold the same, in the sense of their kind of list."""
        if not is_list(other) or len(self) != len(other):
            return False
        if self.declared.list_type == "set":
            mine = {_token(raw) for raw in self.raw}
            return all(_token(raw_of(theirs)) in mine for theirs in other)
        if self.declared.list_type == "map":
            by_key = {self._key(raw): raw for raw in self.raw}
            element = self.declared.element
            assert element is not None
            for theirs in other:
                raw = by_key.get(self._key(raw_of(theirs)), MISSING)
                if raw is MISSING or not equal(element.read(raw), theirs):
                    return False
            return True
        return all(equal(mine, theirs) for mine, theirs in zip(self, other, strict=True))

    def plus(self, other: Any) -> Any:
        """Both: sets united, maps merged by key, other lists one after the other."""
        raws = [raw_of(value) for value in other]
        elements = list(self.raw)
        if self.declared.list_type == "set":
            seen = {_token(raw) for raw in elements}
            for raw in raws:
                if _token(raw) not in seen:
                    seen.add(_token(raw))
                    elements.append(raw)
        elif self.declared.list_type == "map":
            places = {self._key(raw): n for n, raw in enumerate(elements)}
            for raw in raws:
                place = places.get(self._key(raw))
                if place is None:
                    elements.append(raw)
                else:
                    elements[place] = raw
        else:
            return [*self, *other]
        return ListValue(self.declared, elements)

    def _key(self, raw: Any) -> Any:
        if not isinstance(raw, dict):
            raise EvaluationError("no such overload")
        return tuple(_token(raw.get(name)) for name in self.declared.map_keys)  # pyright: ignore[reportUnknownMemberType, reportUnknownArgumentType] - JSON


@dataclass(frozen=True, slots=True, eq=False)
class Unknown:
    """A value of which the schema says nothing: it can only be compared."""

    raw: Any

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Unknown) and self.raw == other.raw

    __hash__ = None  # type: ignore[assignment] - it is never a key


def raw_of(value: Any) -> Any:
    """The JSON that a value stands for."""
    if isinstance(value, (ObjectValue, ListValue, Unknown)):
        return value.raw
    if isinstance(value, Mapping):
        return {str(key): raw_of(find(value, key)) for key in keys(value)}
    return [raw_of(item) for item in value] if is_list(value) else value


def _token(raw: Any) -> Any:
    """What tells scalars apart that Python holds for equal."""
    if isinstance(raw, (dict, list)):
        return repr(raw)  # pyright: ignore[reportUnknownArgumentType] - JSON
    return (type(raw) is bool, raw)


def _object(declared: Declared, raw: Any) -> Any:
    if not isinstance(raw, dict):
        raise EvaluationError("invalid data, expected a map for the provided schema with type=object")
    return ObjectValue(declared, raw)  # pyright: ignore[reportUnknownArgumentType] - JSON


def _list(declared: Declared, raw: Any) -> Any:
    if not isinstance(raw, list):
        raise EvaluationError("invalid data, expected an array for the provided schema with type=array")
    return ListValue(declared, raw)  # pyright: ignore[reportUnknownArgumentType] - JSON


def _text(raw: Any) -> str:
    if not isinstance(raw, str):
        raise EvaluationError(f"invalid data, expected string, got {_go_type(raw)}")
    return raw


def _go_type(raw: Any) -> str:
    if isinstance(raw, bool):
        return "bool"
    names = {int: "int64", float: "float64", dict: "map[string]interface {}", list: "[]interface {}", str: "string"}
    return names[type(raw)]


def _duration(_declared: Declared, raw: Any) -> Any:
    duration = parse_lenient_duration(_text(raw))
    if duration is None:
        raise EvaluationError(f'Invalid duration {raw}: unable to parse "{raw}" as duration')
    return duration


def _date(_declared: Declared, raw: Any) -> Any:
    moment = parse_date(_text(raw))
    if moment is None:
        raise EvaluationError(f'Invalid date formatted string {raw}: parsing time "{raw}"')
    return moment


def _date_time(_declared: Declared, raw: Any) -> Any:
    moment = parse_date_time(_text(raw))
    if moment is None:
        raise EvaluationError(f'Invalid date-time formatted string {raw}: parsing time "{raw}"')
    return moment


def _octets(_declared: Declared, raw: Any) -> Any:
    try:
        return base64.b64decode(_text(raw), altchars=b"-_", validate=True)
    except binascii.Error:
        raise EvaluationError(f"Invalid byte formatted string {raw}: illegal base64 data") from None


def _number(_declared: Declared, raw: Any) -> Any:
    if isinstance(raw, bool) or not isinstance(raw, (int, float)):
        raise EvaluationError(f"invalid data, expected float, got {_go_type(raw)}")
    return float(raw)


def _integer(_declared: Declared, raw: Any) -> Any:
    if isinstance(raw, bool) or not isinstance(raw, int):
        raise EvaluationError(f"invalid data, expected int, got {_go_type(raw)}")
    return raw


def _boolean(_declared: Declared, raw: Any) -> Any:
    if not isinstance(raw, bool):
        raise EvaluationError(f"invalid data, expected bool, got {_go_type(raw)}")
    return raw


def _int_or_string(_declared: Declared, raw: Any) -> Any:
    if isinstance(raw, bool) or not isinstance(raw, (int, str)):
        raise EvaluationError("invalid data, expected XIntOrString value to be either a string or integer")
    return raw


_READERS: Final[dict[str, Callable[[Declared, Any], Any]]] = {
    "object": _object,
    "map": _object,
    "list": _list,
    "string": lambda _, raw: _text(raw),
    "bytes": _octets,
    "duration": _duration,
    "date": _date,
    "date-time": _date_time,
    "number": _number,
    "integer": _integer,
    "boolean": _boolean,
    "int-or-string": _int_or_string,
    "unknown": lambda _, raw: Unknown(raw),
}

"""What is wrong with a field, in the words of an API server: each cause names a field, a reason and a message."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final, cast

import msgspec

_ESCAPES: Final = {
    '"': '\\"', "\\": "\\\\", "\a": "\\a", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\v": "\\v",
}  # fmt: skip
_ASCII: Final = 0x7F
_BMP: Final = 0xFFFF


@dataclass(frozen=True, slots=True)
class Cause:
    """One fault of a request."""

    reason: str
    message: str
    field: str = ""

    def __str__(self) -> str:
        return f"{self.field}: {self.message}" if self.field else self.message

    def body(self) -> dict[str, str]:
        """As it stands in a Status."""
        made = {"reason": self.reason, "message": self.message, "field": self.field}
        return {name: text for name, text in made.items() if text}


def invalid(field: str, value: Any, why: str) -> Cause:
    """The value breaks a rule."""
    return Cause("FieldValueInvalid", _with_value("Invalid value", value, why), field)


def type_invalid(field: str, value: Any, why: str) -> Cause:
    """The value is of another type."""
    return Cause("FieldValueTypeInvalid", _with_value("Invalid value", value, why), field)


def unsupported(field: str, value: Any, supported: Iterable[str]) -> Cause:
    """The value is none of those that there are."""
    why = "supported values: " + ", ".join(quoted(each) for each in supported)
    return Cause("FieldValueNotSupported", _with_value("Unsupported value", value, why), field)


def duplicate(field: str, value: Any) -> Cause:
    """The value stands there twice."""
    return Cause("FieldValueDuplicate", _with_value("Duplicate value", value, ""), field)


def not_found(field: str, value: Any) -> Cause:
    """The value names something that is not there."""
    return Cause("FieldValueNotFound", _with_value("Not found", value, ""), field)


def required(field: str, why: str = "") -> Cause:
    """The field has to be set."""
    return Cause("FieldValueRequired", _without_value("Required value", why), field)


def forbidden(field: str, why: str = "") -> Cause:
    """The field must not be set, or not to that."""
    return Cause("FieldValueForbidden", _without_value("Forbidden", why), field)


def too_long(field: str, why: str) -> Cause:
    """The value is too long."""
    return Cause("FieldValueTooLong", _without_value("Too long", why), field)


def too_many(field: str, count: int, most: int) -> Cause:
    """There are too many values."""
    why = f"must have at most {most} item{'' if most == 1 else 's'}"
    return Cause("FieldValueTooMany", _with_value("Too many", count, why), field)


def quoted(text: str) -> str:
    """The text as Go's `%q` writes it."""
    return '"' + "".join(_ESCAPES.get(c) or (c if c.isprintable() else _escaped(c)) for c in text) + '"'


def _escaped(char: str) -> str:
    code = ord(char)
    if code <= _ASCII:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code <= _BMP else f"\\U{code:08x}"


def _with_value(what: str, value: Any, why: str) -> str:
    shown = quoted(value) if isinstance(value, str) else _json(value)
    return f"{what}: {shown}" + (f": {why}" if why else "")


class Struct(dict[str, Any]):
    """Something of the server's own: it is shown with its fields in their order, where a map's keys are sorted."""


def _as_go(value: Any) -> Any:
    if isinstance(value, dict):
        items = cast("dict[str, Any]", value).items()
        return {key: _as_go(inner) for key, inner in (items if isinstance(value, Struct) else sorted(items))}
    if isinstance(value, list | tuple):
        return [_as_go(inner) for inner in cast("list[Any]", value)]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _json(value: Any) -> str:
    """As Go's encoder writes it: the keys of maps sorted, and fit for HTML."""
    text = msgspec.json.encode(_as_go(value)).decode()
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _without_value(what: str, why: str) -> str:
    return f"{what}: {why}" if why else what

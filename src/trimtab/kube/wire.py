"""Objects to JSON and back.

Reading is msgspec's, at its speed; what it refuses is read once more as Go would read it (`reading.py`).
Writing sends what was set and nothing else.
"""

from __future__ import annotations

from datetime import datetime
from functools import cache
from typing import Any, TypeVar, cast, overload

import msgspec

from trimtab.kube.base import Struct
from trimtab.kube.dynamic import Dynamic
from trimtab.kube.frozen import plain_class
from trimtab.kube.objects import Object
from trimtab.kube.reading import as_go_reads
from trimtab.kube.shapes import Shape, fields
from trimtab.kube.timestamps import format_micro_time

K = TypeVar("K", bound="Object | Dynamic")
S = TypeVar("S", bound=Struct)


@overload
def decode(cls: type[K], data: bytes | msgspec.Raw) -> K: ...
@overload
def decode(cls: type[S], data: bytes | msgspec.Raw) -> S: ...
def decode(cls: type[Any], data: bytes | msgspec.Raw) -> Any:
    """An object of the class from JSON. Raises msgspec.DecodeError where it is no JSON or of another shape."""
    try:
        return _decode(cls, data)
    except (UnicodeDecodeError, RecursionError) as error:  # no UTF-8, or nested deeper than Python goes
        raise msgspec.DecodeError(str(error)) from error


def _decode(cls: type[Any], data: bytes | msgspec.Raw) -> Any:
    if issubclass(cls, Dynamic):
        return cls(msgspec.json.decode(data, type=dict[str, Any]))
    try:
        return _decoder(cls).decode(data)
    except msgspec.ValidationError:
        # A null, or a field missing that this class takes for certain: both are common in what servers of other
        # versions send, and Go reads both as the field's zero. An error that stays is one of the shape.
        return from_wire(cls, msgspec.json.decode(data))


def from_wire(cls: type[S], value: Any) -> S:
    """An object of the class from decoded JSON, read as Go would read it."""
    return msgspec.convert(as_go_reads(cls, value), cls)


@cache
def _decoder(cls: type[S]) -> msgspec.json.Decoder[S]:
    return msgspec.json.Decoder(cls)


def encode(obj: Struct | Dynamic) -> bytes:
    """The object as JSON."""
    return msgspec.json.encode(to_wire(obj))


def to_wire(obj: Struct | Dynamic) -> dict[str, Any]:
    """The object as JSON's dicts and lists, with its apiVersion and kind, and with what was set alone."""
    if isinstance(obj, Dynamic):
        return obj.to_wire()
    body = cast("dict[str, Any]", msgspec.to_builtins(obj))
    _tidy(plain_class(type(obj)), body)
    if isinstance(obj, Object):
        return {"apiVersion": obj.api_version, "kind": obj.kind, **body}
    return body


def _tidy(cls: type[msgspec.Struct], body: dict[str, Any]) -> None:
    """Drop nested values that nobody set, and write times of six digits with six digits."""
    for name, shape, nested in _untidy(cls):
        value = body.get(name)
        if value is None:
            continue
        if shape.micro:
            body[name] = format_micro_time(msgspec.convert(value, datetime))
            continue
        _tidy_value(shape, value)
        if nested and not value:
            del body[name]


def _tidy_value(shape: Shape, value: Any) -> None:
    if isinstance(value, dict):
        if shape.struct is not None:
            _tidy(shape.struct, cast("dict[str, Any]", value))
        elif shape.values is not None:
            for item in cast("dict[str, Any]", value).values():
                _tidy_value(shape.values, item)
    elif isinstance(value, list) and shape.items is not None:
        for item in cast("list[Any]", value):
            _tidy_value(shape.items, item)


@cache
def _untidy(cls: type[msgspec.Struct]) -> tuple[tuple[str, Shape, bool], ...]:
    """The fields of a class that `_tidy` has to look at: most have nothing to tidy below them."""
    return tuple((f.name, f.shape, f.nested) for f in fields(cls) if f.nested or _needs_tidying(f.shape, {cls}))


def _needs_tidying(shape: Shape, seen: set[type[msgspec.Struct]]) -> bool:
    if shape.micro or any(inner and _needs_tidying(inner, seen) for inner in (shape.items, shape.values)):
        return True
    if shape.struct is None or shape.struct in seen:
        return False
    return any(f.nested or _needs_tidying(f.shape, {*seen, shape.struct}) for f in fields(shape.struct))

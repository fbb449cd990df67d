"""What a class says of its JSON, as far as walks over decoded JSON have to know.

msgspec turns JSON into objects and back by itself. Three walks need more than that: leaving out nested values that
were never set, reading what only Go's decoder takes (`reading.py`), and carrying unknown fields over an edit
(`editing.py`). They share this description, made once for each class.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, Union, cast, get_args, get_origin

import msgspec

from trimtab.kube.hints import MICRO, Default, ListMap, QuantityLike, Strategic


@dataclass(frozen=True, slots=True)
class Shape:
    """A JSON value: an object of a class, a list, a map, or a scalar; of a union, whatever it may be."""

    struct: type[msgspec.Struct] | None = None
    items: Shape | None = None  # of a list
    values: Shape | None = None  # of a map
    keys: tuple[str, ...] = ()  # that tell a list's items apart
    micro: bool = False  # a time with six digits
    zero: object = None  # what Go reads where the value is missing
    default: object = None  # what the API server puts there


@dataclass(frozen=True, slots=True)
class Field:
    """One field of a class, under its JSON name."""

    name: str
    shape: Shape
    required: bool
    nested: bool  # a nested value that is always there: empty means never set
    nullable: bool  # null is a value of its own


@cache
def fields(cls: type[msgspec.Struct]) -> tuple[Field, ...]:
    """The fields of a class. Resolving its hints takes a millisecond, hence the cache: classes are few and live on."""
    return tuple(
        Field(
            name=f.encode_name,
            shape=_shape(f.type),
            required=f.required,
            nested=isinstance(f.default_factory, type) and issubclass(f.default_factory, msgspec.Struct),
            nullable=f.type is Any,
        )
        for f in msgspec.structs.fields(cls)
    )


_ZEROS: dict[object, object] = {
    str: "",
    int: 0,
    bool: False,
    float: 0.0,
    bytes: "",
    datetime: datetime(1, 1, 1, tzinfo=UTC),
    QuantityLike: "0",
}


def _shape(hint: Any) -> Shape:
    if isinstance(hint, type) and issubclass(hint, msgspec.Struct):
        return Shape(struct=hint)
    origin, args = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return _marked(_shape(args[0]), args[1:])
    if origin is list:
        return Shape(items=_shape(args[0]))
    if origin is dict:
        return Shape(values=_shape(args[1]))
    if origin in (Union, UnionType) and hint not in _ZEROS:
        parts = [_shape(arg) for arg in args if arg is not NoneType]
        return Shape(
            struct=next((p.struct for p in parts if p.struct), None),
            items=next((p.items for p in parts if p.items), None),
            values=next((p.values for p in parts if p.values), None),
            micro=any(p.micro for p in parts),
            zero=parts[0].zero,
        )
    return Shape(zero=_ZEROS.get(cast("object", hint)))


def _marked(shape: Shape, marks: Iterable[object]) -> Shape:
    for mark in marks:
        match mark:
            case ListMap(keys=keys):
                shape = replace(shape, keys=keys)
            case Strategic(key=str(key)) if not shape.keys:
                shape = replace(shape, keys=(key,))
            case Default(value=value):
                shape = replace(shape, default=value)
            case _ if mark is MICRO:
                shape = replace(shape, micro=True)
            case _:
                pass  # how appliers share a field matters to no walk
    return shape

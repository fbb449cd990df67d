"""Reading JSON as Go's decoder reads it: a null leaves a field as it is, and a missing field is zero.

API servers rely on that. They send `"rules": null` for an empty list, and a server of another version lacks fields
that this one's schema calls required. msgspec is stricter, so this walk mends what it refused.
"""

from __future__ import annotations

from typing import Any, cast

import msgspec

from trimtab.kube.shapes import Shape, fields


def as_go_reads(cls: type[msgspec.Struct], value: Any) -> Any:
    """Decoded JSON for the class with nulls dropped and required fields filled in; what is of another shape stays."""
    if not isinstance(value, dict):
        return value
    body = cast("dict[str, Any]", value)
    read = dict(body)
    for field in fields(cls):
        item = body.get(field.name)
        if item is not None:
            read[field.name] = _read(field.shape, item)
        elif field.required:
            read[field.name] = _zero(field.shape)
        elif not field.nullable:
            read.pop(field.name, None)
    return read


def _read(shape: Shape, value: Any) -> Any:
    if value is None:
        return _zero(shape)
    if shape.items is not None and isinstance(value, list):
        return [_read(shape.items, item) for item in cast("list[Any]", value)]
    if shape.struct is not None:
        return as_go_reads(shape.struct, value)
    if shape.values is not None and isinstance(value, dict):
        return {key: _read(shape.values, item) for key, item in cast("dict[str, Any]", value).items()}
    return value


def _zero(shape: Shape) -> Any:
    if shape.struct is not None:
        return as_go_reads(shape.struct, {})
    if shape.items is not None:
        return []
    if shape.values is not None:
        return {}
    return shape.zero

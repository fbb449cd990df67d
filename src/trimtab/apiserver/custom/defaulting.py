"""Filling in defaults, and taking out nulls that may not be. Works in place; the schema is compiled once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeAlias, cast

import msgspec

Json: TypeAlias = dict[str, Any]
Default: TypeAlias = Callable[[Any], None]

_decode: Final = msgspec.json.decode


def compile_defaulting(schema: Json) -> Default:
    """The function that defaults an object in place."""
    nulls, fill = _nulls(schema), _fill(schema)

    def run(obj: Any) -> None:
        nulls(obj)
        fill(obj)

    return run


def _nothing(_value: Any) -> None:
    """There is nothing to do."""


def _goes(schema: Json | None) -> bool:
    """Whether a null is taken out: it may not be null, and nothing takes its place."""
    return schema is not None and not schema.get("nullable") and schema.get("default") is None


def _nulls(schema: Json) -> Default:
    fields = {name: (_nulls(field), _goes(field)) for name, field in schema.get("properties", {}).items()}
    additional = schema.get("additionalProperties")
    others = (_nothing, False)
    if isinstance(additional, dict):
        others = (_nulls(cast("Json", additional)), _goes(cast("Json", additional)))
    items = _nulls(schema["items"]) if isinstance(schema.get("items"), dict) else _nothing
    if not fields and others == (_nothing, False) and items is _nothing:
        return _nothing

    def run(value: Any) -> None:
        if isinstance(value, dict):
            obj = cast("Json", value)
            doomed = [key for key, inner in obj.items() if inner is None and fields.get(key, others)[1]]
            for key in doomed:
                del obj[key]
            for key, inner in obj.items():
                if isinstance(inner, (dict, list)):
                    fields.get(key, others)[0](inner)
        elif isinstance(value, list):
            for inner in cast("list[Any]", value):
                items(inner)

    return run


def _maker(schema: Json) -> Callable[[], Any]:
    """Makes the default anew each time, so that no two objects share it."""
    default = schema["default"]
    if isinstance(default, (dict, list)):
        packed = msgspec.json.encode(default)
        return lambda: _decode(packed)
    return lambda: default


def _fill(schema: Json) -> Default:  # noqa: C901 - the closure in it is counted too
    properties: dict[str, Json] = schema.get("properties", {})
    missing = [
        (name, _maker(field), not field.get("nullable"))
        for name, field in properties.items()
        if field.get("default") is not None
    ]
    inside = {name: fill for name, field in properties.items() if (fill := _fill(field)) is not _nothing}
    rest = _filler_of(schema.get("additionalProperties"))
    items = _filler_of(schema.get("items"))
    if not missing and not inside and rest is None and items is None:
        return _nothing

    def run(value: Any) -> None:
        if isinstance(value, dict):
            obj = cast("Json", value)
            for name, make, replaces_null in missing:
                if name not in obj or (replaces_null and obj[name] is None):
                    obj[name] = make()
            if rest is not None:
                for key in obj:
                    if key not in properties:
                        obj[key] = rest(obj[key])
            for name, fill in inside.items():
                if name in obj:
                    fill(obj[name])
        elif isinstance(value, list) and items is not None:
            values = cast("list[Any]", value)
            for index, inner in enumerate(values):
                values[index] = items(inner)

    return run


def _filler_of(schema: Any) -> Callable[[Any], Any] | None:
    """What is done to each value of a map or list; None where there is nothing to do."""
    if not isinstance(schema, dict):
        return None
    known = cast("Json", schema)
    fill = _fill(known)
    make = _maker(known) if known.get("default") is not None and not known.get("nullable") else None
    if make is None and fill is _nothing:
        return None

    def run(value: Any) -> Any:
        if value is None and make is not None:
            value = make()
        fill(value)
        return value

    return run

"""Which old value a new one belongs to, and whether two values of JSON are the same."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeAlias, cast

Json: TypeAlias = dict[str, Any]

Same: TypeAlias = Callable[[Any, Any], bool]

UNCORRELATED: Final = object()
"""There is no old value that the new one belongs to."""


def same(a: Any, b: Any) -> bool:
    """Whether two values are the same: in Python True is 1 and 1 is 1.0, in JSON they are not."""
    if isinstance(a, dict):
        if not isinstance(b, dict):
            return False
        mine, theirs = cast("Json", a), cast("Json", b)
        return mine.keys() == theirs.keys() and all(same(value, theirs[key]) for key, value in mine.items())
    if isinstance(a, list):
        if not isinstance(b, list):
            return False
        left, right = cast("list[Any]", a), cast("list[Any]", b)
        return len(left) == len(right) and all(same(x, y) for x, y in zip(left, right, strict=True))
    return type(a) is type(b) and a == b


def compile_same(schema: Any) -> Same:
    """Whether two values of a schema are the same, where items of a map list count only if their keys tell them."""
    if not isinstance(schema, dict) or not _has_map_lists(cast("Json", schema)):
        return same
    known = cast("Json", schema)
    is_map = known.get("x-kubernetes-list-type") == "map"
    items, rest = compile_same(known.get("items")), compile_same(known.get("additionalProperties"))
    fields = {name: compile_same(field) for name, field in part(known, "properties").items()}

    def run(a: Any, b: Any) -> bool:
        if isinstance(a, dict) and isinstance(b, dict):
            mine, theirs = cast("Json", a), cast("Json", b)
            return mine.keys() == theirs.keys() and all(
                fields.get(key, rest)(value, theirs[key]) for key, value in mine.items()
            )
        if is_map and isinstance(a, list) and isinstance(b, list):
            values, olds = cast("list[Any]", a), cast("list[Any]", b)
            before = correlate_items(known, values, olds) or []
            return len(values) == len(olds) and all(
                was is not UNCORRELATED and items(item, was) for item, was in zip(values, before, strict=True)
            )
        return same(a, b)

    return run


def _has_map_lists(schema: Json) -> bool:
    inside = [schema.get("items"), schema.get("additionalProperties"), *part(schema, "properties").values()]
    return schema.get("x-kubernetes-list-type") == "map" or any(
        _has_map_lists(cast("Json", each)) for each in inside if isinstance(each, dict)
    )


def token(value: Any) -> Any:
    """What tells values apart in a set of them."""
    if isinstance(value, dict):
        return ("{", tuple(sorted((key, token(inner)) for key, inner in cast("Json", value).items())))
    if isinstance(value, list):
        return ("[", tuple(token(inner) for inner in cast("list[Any]", value)))
    return (type(value).__name__, value)


def key_of(item: Any, keys: list[str]) -> Any:
    """The key of an item in a list of type map; None for what is no object, or lacks a key."""
    if not isinstance(item, dict) or any(key not in item for key in keys):
        return None
    return tuple(token(cast("Json", item)[key]) for key in keys)


def correlate_items(schema: Json, values: list[Any], old: Any) -> list[Any] | None:
    """For each item of a list the one that it was before; None where items do not belong together."""
    if schema.get("x-kubernetes-list-type") != "map" or not isinstance(old, list):
        return None
    keys: list[str] = schema.get("x-kubernetes-list-map-keys") or []
    before: dict[Any, Any] = {}
    for item in cast("list[Any]", old):
        before.setdefault(key_of(item, keys), item)
    before.pop(None, None)
    return [before.get(key_of(item, keys), UNCORRELATED) for item in values]


def part(obj: Json, name: str) -> Json:
    """An object inside another; an empty one where there is none."""
    value = obj.get(name)
    return cast("Json", value) if isinstance(value, dict) else {}

"""Which old value a new one belongs to, and whether two values of JSON are the same."""

from __future__ import annotations

from typing import Any, Final, TypeAlias, cast

Json: TypeAlias = dict[str, Any]

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


def token(value: Any) -> Any:
    """What tells values apart in a set of them."""
    if isinstance(value, dict):
        return ("{", tuple(sorted((key, token(inner)) for key, inner in cast("Json", value).items())))
    if isinstance(value, list):
        return ("[", tuple(token(inner) for inner in cast("list[Any]", value)))
    return (type(value).__name__, value)


def key_of(item: Any, keys: list[str]) -> Any:
    """The key of an item in a list of type map; None for what is no object."""
    if not isinstance(item, dict):
        return None
    return tuple(token(cast("Json", item).get(key)) for key in keys)


def correlate_items(schema: Json, values: list[Any], old: Any) -> list[Any] | None:
    """For each item of a list the one that it was before; None where items do not belong together."""
    if schema.get("x-kubernetes-list-type") != "map" or not isinstance(old, list):
        return None
    keys: list[str] = schema.get("x-kubernetes-list-map-keys") or []
    before: dict[Any, Any] = {}
    for item in cast("list[Any]", old):
        before.setdefault(key_of(item, keys), item)
    return [before.get(key_of(item, keys), UNCORRELATED) for item in values]


def part(obj: Json, name: str) -> Json:
    """An object inside another; an empty one where there is none."""
    value = obj.get(name)
    return cast("Json", value) if isinstance(value, dict) else {}

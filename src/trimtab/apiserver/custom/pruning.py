"""Taking out of an object what its schema does not know. Works in place; the schema is compiled once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeAlias, cast

Json: TypeAlias = dict[str, Any]
Prune: TypeAlias = Callable[[Any, str, list[str]], None]
"""Prunes a value at a path, and notes the paths of what it took out."""

_META: Final = frozenset({"apiVersion", "kind", "metadata"})


def compile_pruning(schema: Json, *, root: bool) -> Callable[[Any], list[str]]:
    """The function that prunes in place and tells the paths of what was unknown, sorted."""
    prune = _compile({**schema, "x-kubernetes-embedded-resource": True} if root else schema)

    def run(obj: Any) -> list[str]:
        unknown: list[str] = []
        prune(obj, "", unknown)
        return sorted(unknown)

    return run


def _compile(schema: Json | None) -> Prune:  # noqa: C901 - the closure in it is counted too
    if schema is None:
        return _everything
    if schema.get("x-kubernetes-preserve-unknown-fields"):
        return _specified(schema)
    embedded = bool(schema.get("x-kubernetes-embedded-resource"))
    fields = {name: _compile(field) for name, field in schema.get("properties", {}).items()}
    additional = schema.get("additionalProperties")
    rest = _compile(cast("Json", additional)) if isinstance(additional, dict) else _everything if additional else None
    items = _compile(schema["items"]) if isinstance(schema.get("items"), dict) else _everything

    def prune(value: Any, path: str, unknown: list[str]) -> None:
        if isinstance(value, dict):
            obj = cast("Json", value)
            doomed: list[str] | None = None
            for key, inner in obj.items():
                field = fields.get(key)
                if embedded and key in _META:
                    continue
                field = field or rest
                if field is None:
                    if doomed is None:
                        doomed = []
                    doomed.append(key)
                elif isinstance(inner, (dict, list)):
                    field(inner, f"{path}.{key}" if path else key, unknown)
            for key in doomed or ():
                del obj[key]
                if path or key not in _META:
                    unknown.append(f"{path}.{key}" if path else key)
        elif isinstance(value, list):
            for index, inner in enumerate(cast("list[Any]", value)):
                if isinstance(inner, (dict, list)):
                    items(inner, f"{path}[{index}]", unknown)

    return prune


def _everything(value: Any, path: str, unknown: list[str]) -> None:
    """Nothing is known: objects become empty, lists keep their shape."""
    if isinstance(value, dict):
        obj = cast("Json", value)
        unknown.extend(f"{path}.{key}" if path else key for key in obj)
        obj.clear()
    elif isinstance(value, list):
        for index, inner in enumerate(cast("list[Any]", value)):
            _everything(inner, f"{path}[{index}]", unknown)


def _specified(schema: Json) -> Prune:
    """Where unknown fields stay, those that are specified are still pruned inside."""
    embedded = bool(schema.get("x-kubernetes-embedded-resource"))
    fields = {name: _compile(field) for name, field in schema.get("properties", {}).items()}
    additional = schema.get("additionalProperties")
    rest = _compile(cast("Json", additional)) if isinstance(additional, dict) else _everything if additional else None
    items = _specified(schema["items"]) if isinstance(schema.get("items"), dict) else None

    def prune(value: Any, path: str, unknown: list[str]) -> None:
        if isinstance(value, dict):
            for key, inner in cast("Json", value).items():
                field = fields.get(key) or rest
                if field is not None and not (embedded and key in _META):
                    field(inner, f"{path}.{key}" if path else key, unknown)
        elif isinstance(value, list) and items is not None:
            for index, inner in enumerate(cast("list[Any]", value)):
                items(inner, f"{path}[{index}]", unknown)

    return prune

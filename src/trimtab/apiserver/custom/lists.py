"""Lists that are sets or maps: no element, or key, twice."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias, cast

from trimtab.apiserver import causes
from trimtab.apiserver.causes import Cause
from trimtab.apiserver.custom.equality import token

Json: TypeAlias = dict[str, Any]
Check: TypeAlias = Callable[[Any, str, list[Cause]], None]


def compile_lists(schema: Json) -> Check | None:  # noqa: C901 - the closure in it is counted too
    """The function that finds duplicates; None where there is nothing to look for."""
    fields: dict[str, Check] = {}
    for name, field in schema.get("properties", {}).items():
        inner_check = compile_lists(field)
        if inner_check is not None:
            fields[name] = inner_check
    additional = schema.get("additionalProperties")
    rest = compile_lists(cast("Json", additional)) if isinstance(additional, dict) else None
    items = compile_lists(schema["items"]) if isinstance(schema.get("items"), dict) else None
    kind = schema.get("x-kubernetes-list-type")
    keys: list[str] = schema.get("x-kubernetes-list-map-keys") or []
    unique = kind in ("set", "map")
    if not fields and rest is None and items is None and not unique:
        return None

    def check(value: Any, path: str, faults: list[Cause]) -> None:
        if isinstance(value, dict):
            for key, inner in cast("Json", value).items():
                if rest is not None:
                    rest(inner, f"{path}[{key}]", faults)
                field = fields.get(key)
                if field is not None:
                    field(inner, f"{path}.{key}" if path else key, faults)
        elif isinstance(value, list):
            values = cast("list[Any]", value)
            if unique:
                faults.extend(_duplicates(values, path) if kind == "set" else _duplicate_keys(values, keys, path))
            if items is not None:
                for index, inner in enumerate(values):
                    items(inner, f"{path}[{index}]", faults)

    return check


def _repeated(tokens: list[Any]) -> list[int]:
    """The places where something stands for the second time."""
    times: dict[Any, int] = {}
    found: list[int] = []
    for index, each in enumerate(tokens):
        times[each] = times.get(each, 0) + 1
        if times[each] == 2:
            found.append(index)
    return found


def _duplicates(values: list[Any], path: str) -> list[Cause]:
    return [causes.duplicate(f"{path}[{index}]", values[index]) for index in _repeated([token(v) for v in values])]


def _duplicate_keys(values: list[Any], keys: list[str], path: str) -> list[Cause]:
    for index, item in enumerate(values):
        if item is not None and not isinstance(item, dict):
            return [causes.invalid(f"{path}[{index}]", item, "must be an object for an array of list-type map")]
    found: list[Json] = []
    for item in values:
        given = cast("Json", item or {})
        found.append({key: given[key] for key in keys if key in given})
    return [causes.duplicate(f"{path}[{index}]", found[index]) for index in _repeated([token(key) for key in found])]

"""Looking into values: `a.b`, `a[b]`, `has(a.b)`, and the same with optionals."""

from __future__ import annotations

from typing import Any

from trimtab.apiserver.cel.errors import EvaluationError
from trimtab.apiserver.cel.numbers import shortest
from trimtab.apiserver.cel.values import MISSING, NONE, Mapping, Optional, Sequence, Uint, find


def select(value: Any, field: str) -> Any:
    """`value.field`, or an error; looking into an optional gives one."""
    if isinstance(value, Mapping):
        found = value.find(field)
    elif isinstance(value, dict):
        found = value.get(field, MISSING)  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType] - JSON
    elif isinstance(value, Optional):
        return select_optional(value, field)
    else:
        found = MISSING
    if found is MISSING:
        raise EvaluationError(f"no such key: {field}")
    return found  # pyright: ignore[reportUnknownVariableType] - JSON


def select_optional(value: Any, field: str) -> Optional:
    """`value.?field`."""
    if isinstance(value, Optional):
        if not value.present:
            return NONE
        value = value.value
    if not isinstance(value, (dict, Mapping)):
        raise EvaluationError(f"no such key: {field}")
    found = find(value, field)
    return NONE if found is MISSING else Optional(found)


def present(value: Any, field: str) -> bool:
    """`has(value.field)`."""
    if isinstance(value, Optional):
        return value.present and present(value.value, field)
    return isinstance(value, (dict, Mapping)) and find(value, field) is not MISSING


def index(value: Any, key: Any, *, optional: bool) -> Any:
    """`value[key]`, or `value[?key]`; looking into an optional gives one."""
    if isinstance(value, Optional):
        if not value.present:
            return NONE
        value, optional = value.value, True
    if isinstance(value, (list, Sequence)):
        found = _element(value, key)  # pyright: ignore[reportUnknownArgumentType] - JSON
        problem = f"index out of bounds: {_written(key)}"
    elif isinstance(value, (dict, Mapping)):
        found = find(value, key)
        problem = f"no such key: {_written(key)}"
    else:
        found, problem = MISSING, f"no such key: {_written(key)}"
    if found is not MISSING:
        return Optional(found) if optional else found
    if optional:
        return NONE
    raise EvaluationError(problem)


def _element(items: list[Any] | Sequence, key: Any) -> Any:
    if isinstance(key, float) and key.is_integer():
        key = int(key)
    if isinstance(key, bool) or not isinstance(key, int):
        raise EvaluationError(f"unsupported index value {_written(key)} in list")
    if not 0 <= key < len(items):
        return MISSING
    return items[key] if isinstance(items, list) else items.at(key)


def _written(key: Any) -> str:
    if isinstance(key, bool):
        return "true" if key else "false"
    if isinstance(key, float):
        return shortest(key)
    return str(int(key)) if isinstance(key, Uint) else str(key)

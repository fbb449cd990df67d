"""What expressions of mutating policies make: parts of an object by the way to them, and operations of a JSON patch.

`Object.spec{replicas: 1}` is of the type `Object.spec`. Of the fields of an object nothing is known while checking.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

from trimtab.apiserver.cel import types as t
from trimtab.apiserver.cel.errors import EvaluationError
from trimtab.apiserver.cel.frames import Frame
from trimtab.apiserver.cel.runtimecosts import NEW_STRUCT
from trimtab.apiserver.cel.values import MISSING, Mapping, Optional, find, is_list, is_map, kind_name
from trimtab.apiserver.cel.values import keys as keys_of

OBJECT: Final = "Object"
PATCH: Final = "JSONPatch"
_PATCH_FIELDS: Final = {"op": t.STRING, "path": t.STRING, "from": t.STRING, "value": t.DYN}


class StructValue(Mapping):
    """One of them."""

    __slots__ = ("fields", "type_name")

    def __init__(self, type_name: str, fields: dict[str, Any]) -> None:
        self.type_name = type_name
        self.fields = fields

    def find(self, key: Any) -> Any:
        """The value of a field."""
        return self.fields.get(key, MISSING)

    def keys(self) -> list[Any]:
        """The fields that were set."""
        return list(self.fields)

    def __len__(self) -> int:
        return len(self.fields)

    def equals(self, other: Any) -> bool:
        """Whether both are of one type and have equal fields."""
        return isinstance(other, StructValue) and other.type_name == self.type_name and super().equals(other)


def making(type_name: str, fields: list[tuple[str, Callable[[Frame], Any], bool]]) -> Callable[[Frame], Any]:
    """What makes one while an expression is evaluated: of each field its name, its value, and whether it may lack."""

    def run(frame: Frame) -> Any:
        made: dict[str, Any] = {}
        for name, step, optional in fields:
            value = step(frame)
            if optional:
                if not isinstance(value, Optional):
                    why = f"cannot initialize optional entry '{name}' from non-optional value {value}"
                    raise EvaluationError(why)
                if not value.present:
                    continue
                value = value.value
            made[name] = value
        frame.cost += NEW_STRUCT
        return StructValue(type_name, made)

    return run


def struct_type(name: str) -> t.Type | None:
    """The type of that name, if it is one of these."""
    if name in (OBJECT, PATCH) or name.startswith(f"{OBJECT}."):
        return t.struct(name)
    return None


def field_type(struct: str, name: str) -> t.Type | None:
    """The type of a field of one of them."""
    if struct == PATCH:
        return _PATCH_FIELDS.get(name)
    return t.DYN if struct_type(struct) is not None else None


def misnamed(value: Any, way: str = OBJECT) -> Iterator[str]:
    """What is wrong with the types of parts: each has to be named as the way to it."""
    if isinstance(value, StructValue):
        if value.type_name != way:
            shown = f'unexpected type name "{value.type_name}", expected "{way}"'
            yield f"{shown}, which matches field name path from root Object type"
        for name, inner in value.fields.items():
            yield from misnamed(inner, f"{way}.{name}")
    elif is_list(value):
        for inner in value:
            yield from misnamed(inner, way)
    elif is_map(value):
        for key in keys_of(value):
            yield from misnamed(find(value, key), way)


def to_json(value: Any) -> Any:
    """A value as JSON has it, or EvaluationError where JSON has none such."""
    if value is None or isinstance(value, (bool, str, int, float)):
        return value
    if is_list(value):
        return [to_json(item) for item in value]
    if is_map(value):
        return {_key(key): to_json(find(value, key)) for key in keys_of(value)}
    raise EvaluationError(f"no value of JSON: {kind_name(value)}")


def _key(key: Any) -> str:
    if not isinstance(key, str):
        raise EvaluationError(f'map key "{key}" is of type {kind_name(key)}, not string')
    return key

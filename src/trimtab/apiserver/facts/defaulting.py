"""Defaults of built-in kinds, filled in as far as facts tell them."""

from __future__ import annotations

from typing import Any, Final, TypeGuard

import msgspec

from trimtab.apiserver.facts.fields import pointer_fields
from trimtab.apiserver.facts.reader import Facts
from trimtab.apiserver.facts.schema import Schema

Json = dict[str, Any]

_ZEROS: Final[tuple[Any, ...]] = ("", 0, False)


def with_defaults(facts: Facts, schema: Schema, obj: Json) -> Json:
    """The object with what its kind takes for what was left out. Parts that lack nothing are the very same.

    These are the defaults that do not depend on more than one field beside them; what is copied from elsewhere in the
    object (a Service's target port, limits that become requests) is for the code of the kind.
    """
    return _Filling(facts, obj.get("kind", "")).struct(schema, obj, "")


class _Filling:
    def __init__(self, facts: Facts, kind: str) -> None:
        self._facts = facts
        self._kind = kind

    def struct(self, schema: Schema, obj: Json, name: str) -> Json:
        """A struct that is held under a name."""
        filled: Json | None = None
        for key, value in obj.items():
            child = schema.field(key)
            after = value if child is None else self._value(child, value, key)
            if after is not value:
                filled = dict(obj) if filled is None else filled
                filled[key] = after
        return self._lacking(schema, obj if filled is None else filled, name)

    def _value(self, schema: Schema, value: Any, name: str) -> Any:
        if _is_map(value):
            return self.struct(schema, value, name) if schema.is_map and not schema.scalar else value
        if _is_list(value) and schema.is_list and not schema.scalar:
            after = [self._value(schema.items, item, name) for item in value]
            return value if all(new is old for new, old in zip(after, value, strict=True)) else after
        return value

    def _lacking(self, schema: Schema, obj: Json, name: str) -> Json:
        defaults = self._facts.defaults(schema.name)
        pointers = pointer_fields(schema.name)
        filled = obj
        for key, value in defaults.always.items():
            filled = _with(filled, key, value, pointer=key in pointers)
        for key, decides, choices in defaults.when:
            there = {"(kind)": self._kind, "(field)": name}.get(decides, filled.get(decides))
            for choice, value in choices:
                if type(choice) is type(there) and choice == there:
                    filled = _with(filled, key, value, pointer=key in pointers)
        return filled


def _with(obj: Json, key: str, value: Any, *, pointer: bool) -> Json:
    """The object with a default where it lacks the field: what is empty there is as good as nothing to Go, unless it
    stands behind a pointer."""
    there = obj.get(key)
    lacks = there is None or there == {} or (not pointer and there in _ZEROS)
    return {**obj, key: _copied(value)} if lacks and (there != value or key not in obj) else obj


def _copied(value: Any) -> Any:
    return msgspec.json.decode(msgspec.json.encode(value))


def _is_list(value: Any) -> TypeGuard[list[Any]]:
    return isinstance(value, list)


def _is_map(value: Any) -> TypeGuard[Json]:
    return isinstance(value, dict)

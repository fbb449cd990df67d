"""What a patch made of an object, as a refusal quotes it: Go leaves what the patch did not touch as its types write it.

So the maps that were patched have their keys in order, and all else has the fields of its types in theirs.
"""

from __future__ import annotations

from typing import Any

import msgspec

from trimtab.apiserver.facts import Schema
from trimtab.apiserver.facts.fields import fields_of
from trimtab.apiserver.patching.typedsets import equal
from trimtab.apiserver.patching.values import Json, is_list, is_map


def patched_text(schema: Schema | None, made: Json, live: Json) -> str:
    """The object as JSON."""
    return msgspec.json.encode(_touched(schema, made, live)).decode()


def _touched(schema: Schema | None, made: Json, live: Json) -> Json:
    shown: Json = {}
    for key in sorted(made):
        value, before = made[key], live.get(key)
        below = schema.field(key) if schema is not None and schema.is_map else None
        if key in live and equal(value, before):
            shown[key] = _as_typed(below, value)
        elif is_map(value) and is_map(before):
            shown[key] = _touched(below, value, before)
        else:
            shown[key] = _in_order(value)
    return shown


def _as_typed(schema: Schema | None, value: Any) -> Any:
    if schema is None:
        return _in_order(value)
    if is_map(value):
        known = [field.name for field in fields_of(schema.name)] if schema.name else []
        names = [name for name in known if name in value]
        names += sorted(name for name in value if name not in known)
        return {name: _as_typed(schema.field(name) if schema.is_map else None, value[name]) for name in names}
    if is_list(value):
        return [_as_typed(schema.items if schema.is_list else None, item) for item in value]
    return value


def _in_order(value: Any) -> Any:
    if is_map(value):
        return {key: _in_order(value[key]) for key in sorted(value)}
    return [_in_order(item) for item in value] if is_list(value) else value

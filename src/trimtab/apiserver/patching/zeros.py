"""The object of a kind before anybody set anything: what a create is compared with."""

from __future__ import annotations

from typing import Any

from trimtab.apiserver.facts import Schema

Json = dict[str, Any]


def zero(schema: Schema, like: Json) -> Json:
    """An empty object of the kind of `like`: structs that are always there are there, and nothing else."""
    return {"apiVersion": like.get("apiVersion", ""), "kind": like.get("kind", ""), **_zero(schema)}


def _zero(schema: Schema) -> Json:
    found: Json = {}
    for name, field in schema.fields.items():
        if field.default == {} and field.is_map:
            found[name] = _zero(field)
        elif name in schema.required and not field.scalar:
            found[name] = None
    return found

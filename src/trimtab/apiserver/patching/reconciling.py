"""Sets that were written when the schema was another: what became atomic is owned as a whole."""

from __future__ import annotations

from trimtab.apiserver.facts import Schema
from trimtab.apiserver.facts.schema import deduced
from trimtab.apiserver.patching.fieldsets import LEAF, SELF, Node


def reconciled(schema: Schema, fields: Node) -> Node:
    """The set as the schema would have it; the very same where nothing is different."""
    return _children(schema, fields)


def _children(schema: Schema, node: Node) -> Node:
    changed: Node | None = None
    for element, below in node.items():
        if element == SELF or not below:
            continue
        child = _below(schema, element)
        if child is None:
            continue
        now = LEAF if _is_atomic(child) else _children(child, below)
        if now is not below:
            changed = dict(node) if changed is None else changed
            changed[element] = now
    return node if changed is None else changed


def _below(schema: Schema, element: str) -> Schema | None:
    """The schema of what an element names; None where nothing is known of it."""
    if schema.is_map and element[0] == "f":
        child = schema.fields.get(element[2:]) or schema.values
        return None if child is deduced() else child
    return schema.items if schema.is_list and not schema.is_map else None


def _is_atomic(schema: Schema) -> bool:
    return schema.atomic_map if schema.is_map else not schema.scalar and schema.atomic_list

"""Two objects made one, and fields taken out of one: what apply does to an object."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from trimtab.apiserver.facts import Schema
from trimtab.apiserver.patching.checking import NoKeyError, element_of
from trimtab.apiserver.patching.fieldsets import LEAF, SELF, Node, is_member
from trimtab.apiserver.patching.typedsets import ABSENT, SCALARS, below, elements, equal, shape_of
from trimtab.apiserver.patching.values import Json, is_list, is_map


def merge(schema: Schema, live: Any, applied: Any) -> Any:
    """The live object with what was applied: nothing goes, and what both have is as applied.

    Parts are shared with the two; whoever changes the result copies them first. What stays as it was is the very same.
    """
    if live is ABSENT:
        return applied
    shape = shape_of(schema, applied)
    if shape == "map" and not schema.atomic_map:
        before, after = live if is_map(live) else {}, applied if is_map(applied) else {}
        if before or after:
            return _merge_maps(schema, before, after)
    elif shape == "list" and not schema.atomic_list:
        had, has = live if is_list(live) else [], applied if is_list(applied) else []
        if had or has:
            return _merge_lists(schema, had, has)
    return live if equal(live, applied) else applied


def _merge_maps(schema: Schema, live: Json, applied: Json) -> Json:
    merged: Json | None = None
    for key, value in applied.items():
        before = live.get(key, ABSENT)
        if type(value) in SCALARS:
            after = before if type(before) is type(value) and before == value else value
        else:
            after = merge(below(schema, key), before, value)
        if after is not before:
            merged = dict(live) if merged is None else merged
            merged[key] = after
    return live if merged is None else merged


def _merge_lists(schema: Schema, live: list[Any], applied: list[Any]) -> list[Any]:
    """Items as the applied list orders them; those that only the live one has keep their places between them."""
    there, wanted = list(elements(schema, live)), dict(elements(schema, applied))
    known: dict[str, list[Any]] = {}
    for element, item in there:
        known.setdefault(element, []).append(item)
    merged: list[Any] = []
    for place, element in _order([element for element, _ in there], list(wanted)):
        if place is not None:
            merged.append(there[place][1])
            continue
        items = known.get(element, [ABSENT])
        # Of an item that stands there twice nobody knows which is meant: the applied one is all that remains.
        merged.append(merge(schema.items, items[0] if len(items) == 1 else None, wanted[element]))
    same = len(merged) == len(live) and all(after is before for after, before in zip(merged, live, strict=True))
    return live if same else merged


def _order(live: list[str], applied: list[str]) -> Iterator[tuple[int | None, str]]:
    """The order of a merged list: items that only the live one has by their place in it, the others without one."""
    there, wanted = set(live), set(applied)
    shared = [element for element in applied if element in there]
    done: set[str] = set()
    at, to, upcoming = 0, 0, 0
    while at < len(live) or to < len(applied):
        element = live[at] if at < len(live) else None
        following = applied[to] if to < len(applied) else None
        if element is not None and element not in wanted:
            yield at, element
            at += 1
        elif element is not None and following not in (None, element) and _waits(element, shared, upcoming):
            at += 1  # it comes where the applied list has it
        elif following is not None:
            yield None, following
            done.add(following)
            at += element == following or element in done
            upcoming += shared[upcoming : upcoming + 1] == [following]
            to += 1
        else:
            at += 1


def _waits(element: str, shared: list[str], upcoming: int) -> bool:
    return upcoming < len(shared) and shared[upcoming] != element


def remove(schema: Schema, value: Any, fields: Node) -> Any:
    """The value without these fields; None where nothing of a list or map is left."""
    shape = shape_of(schema, value)
    if shape == "map" and is_map(value):
        return _remove_from_map(schema, value, fields)
    if shape == "list" and is_list(value):
        return _remove_from_list(schema, value, fields)
    return value if shape == "scalar" else None


def _has_more(node: Node) -> bool:
    """Whether anything below a node is in the set."""
    return len(node) > 1 or (len(node) == 1 and SELF not in node)


def _remove_from_map(schema: Schema, value: Json, fields: Node) -> Json | None:
    if schema.atomic_map:
        return None
    left: Json = {}
    for key, child in value.items():
        node = fields.get("f:" + key)
        if node is None:
            left[key] = child
        elif not is_member(node):
            left[key] = remove(below(schema, key), child, node)
    return left or None


def _remove_from_list(schema: Schema, value: list[Any], fields: Node) -> list[Any] | None:
    if schema.atomic_list:
        return None
    left: list[Any] = []
    for item in value:
        try:
            node = fields.get(element_of(schema, item))
        except NoKeyError:
            node = None
        if node is None:
            left.append(item)
        elif not is_member(node):
            left.append(remove(schema.items, item, node))
    return left or None


def with_named(schema: Schema, fields: Node) -> Node:
    """The set with every declared struct that has something below it: as if structs were fields too."""
    found: Node = {}
    for element, node in fields.items():
        if element == SELF or not _has_more(node):
            found[element] = node
            continue
        if element[0] == "f" and schema.is_map:
            key = element[2:]
            inner = with_named(below(schema, key), node)
            named = SELF not in inner and key in schema.fields
        else:
            inner = with_named(schema.items, node) if element[0] == "k" and schema.is_list else node
            named = False
        found[element] = {SELF: LEAF, **inner} if named else inner
    return found

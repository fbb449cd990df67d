"""Which fields an object sets, and which of them two objects have differently: walks of values along their schema."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, NamedTuple, TypeAlias

import msgspec

from trimtab.apiserver.facts import Schema
from trimtab.apiserver.facts.schema import untyped
from trimtab.apiserver.patching.checking import NoKeyError, element_of
from trimtab.apiserver.patching.fieldsets import LEAF, NOTHING, SELF, Node, union, with_self
from trimtab.apiserver.patching.values import Json, is_list, is_map


class Changes(NamedTuple):
    """What became different."""

    removed: Node
    modified: Node
    added: Node


ABSENT: Final[Any] = object()

SCALARS: Final = frozenset({str, int, float, bool})

_encode = msgspec.json.Encoder().encode

_Parts: TypeAlias = "tuple[Node | None, Node | None, Node | None]"
_SAME: Final[_Parts] = (None, None, None)


def field_set(schema: Schema, value: Any) -> Node:
    """The fields that an object sets: its leaves, and the items of its lists and maps. Structs are no fields."""
    return _set(schema, value) or NOTHING


def compare(schema: Schema, old: Any, new: Any) -> Changes:
    """The fields that differ between two objects; structs that one lacks are among them."""
    removed, modified, added = _compare(schema, old, new)
    return Changes(removed or NOTHING, modified or NOTHING, added or NOTHING)


def shape_of(schema: Schema, value: Any) -> str:
    """As what a value is read here: what it is, where that may be; else what may be here."""
    if is_map(value):
        if schema.is_map:
            return "map"
    elif is_list(value):
        if schema.is_list:
            return "list"
    elif value is not None and schema.scalar:
        return "scalar"
    return "map" if schema.is_map else "scalar" if schema.scalar else "list"


def below(schema: Schema, key: str) -> Schema:
    """What is below a key; what no schema declares is a value as a whole."""
    return schema.fields.get(key) or schema.values or untyped()


def elements(schema: Schema, items: list[Any]) -> Iterator[tuple[str, Any]]:
    """A list's items with their path elements. What has none is left out: nobody can own it."""
    for item in items:
        try:
            element = element_of(schema, item)
        except NoKeyError:
            continue
        yield element, item


def grouped(schema: Schema, items: list[Any]) -> dict[str, list[Any]]:
    """A list's items by their elements: more than one where they stand there twice."""
    found: dict[str, list[Any]] = {}
    for element, item in elements(schema, items):
        found.setdefault(element, []).append(item)
    return found


def _set(schema: Schema, value: Any) -> Node | None:
    """A leaf, or what is below, or None where there is nothing."""
    match shape_of(schema, value):
        case "map":
            if schema.atomic_map:
                return LEAF
            return _set_of_map(schema, value) if is_map(value) else None
        case "list":
            if schema.atomic_list:
                return LEAF
            return _set_of_list(schema, value) if is_list(value) else None
        case _:
            return LEAF


def _set_of_map(schema: Schema, value: Json) -> Node | None:
    found: Node = {}
    fields = schema.fields
    for key, child in value.items():
        declared = fields.get(key)
        if type(child) in SCALARS:
            found["f:" + key] = LEAF
            continue
        node = _set(declared or schema.values or untyped(), child)
        if node is None:
            if declared is not None and child is not None and child != {}:
                continue
            node = LEAF
        elif node and declared is None:
            node = {SELF: LEAF, **node}
        found["f:" + key] = node
    return found or None


def _set_of_list(schema: Schema, value: list[Any]) -> Node | None:
    found: Node = {}
    for element, item in elements(schema, value):
        # An item that stands there twice is one field, of which nothing more can be told.
        found[element] = LEAF if element in found else with_self(_set(schema.items, item))
    return found or None


def _whole(schema: Schema, value: Any) -> Node:
    """A field that only one of two objects has: it, and all that is below it."""
    children: Node = {}
    if is_map(value):
        if schema.is_map and not schema.atomic_map:
            for key, child in value.items():
                children["f:" + key] = LEAF if type(child) in SCALARS else _whole(below(schema, key), child)
    elif is_list(value) and schema.is_list and not schema.atomic_list:
        for element, item in elements(schema, value):
            children[element] = LEAF if element in children else _whole(schema.items, item)
    return {SELF: LEAF, **children} if children else LEAF


def equal(old: Any, new: Any) -> bool:
    """Whether two values are the same. To Python a boolean is a number; here it is not."""
    if old is new:
        return True
    if old != new:
        return False
    if is_map(old) or is_list(old):
        return _encode(old) == _encode(new) or _alike(old, new)
    return isinstance(old, bool) == isinstance(new, bool)


def _alike(old: Any, new: Any) -> bool:
    """Of two values that Python calls equal: whether what is a boolean in one is so in the other."""
    if is_map(old):
        return all(_alike(part, new[key]) for key, part in old.items())
    if is_list(old):
        return all(map(_alike, old, new))
    return isinstance(old, bool) == isinstance(new, bool)


def _compare(schema: Schema, old: Any, new: Any) -> _Parts:
    if equal(old, new):
        return _SAME
    then, now = shape_of(schema, old), shape_of(schema, new)
    if then == now:
        return _compare_as(now, schema, old, new)
    # It changed what it is: one goes, the other comes.
    before, after = _compare_as(then, schema, old, new), _compare_as(now, schema, old, new)
    return (_both(before[0], after[0]), _both(before[1], after[1]), _both(before[2], after[2]))


def _both(one: Node | None, other: Node | None) -> Node | None:
    if one is None or other is None:
        return other if one is None else one
    return union({"": one}, {"": other})[""]


def _compare_as(shape: str, schema: Schema, old: Any, new: Any) -> _Parts:
    match shape:
        case "map":
            before, after = old if is_map(old) else {}, new if is_map(new) else {}
            if not schema.atomic_map and (before or after):
                return _compare_maps(schema, before, after)
        case "list":
            had, has = old if is_list(old) else [], new if is_list(new) else []
            if not schema.atomic_list and (had or has):
                return _compare_lists(schema, had, has)
        case _:
            pass
    return (None, LEAF, None)


class _Found:
    """The parts of a map or list that differ."""

    __slots__ = ("_added", "_modified", "_removed")

    def __init__(self) -> None:
        self._removed: Node = {}
        self._modified: Node = {}
        self._added: Node = {}

    def note(self, element: str, parts: _Parts) -> None:
        """Put what differs in one of them to the rest."""
        removed, modified, added = parts
        if removed is not None:
            self._removed[element] = removed
        if modified is not None:
            self._modified[element] = modified
        if added is not None:
            self._added[element] = added

    def parts(self) -> _Parts:
        """All together."""
        return (self._removed or None, self._modified or None, self._added or None)


def _compare_maps(schema: Schema, old: Json, new: Json) -> _Parts:
    found = _Found()
    for key, after in new.items():
        before = old.get(key, ABSENT)
        if before is after:
            continue
        if before is ABSENT:
            found.note("f:" + key, (None, None, _whole(below(schema, key), after)))
        elif not equal(before, after):
            found.note("f:" + key, _compare(below(schema, key), before, after))
    for key, before in old.items():
        if key not in new:
            found.note("f:" + key, (_whole(below(schema, key), before), None, None))
    return found.parts()


def _compare_lists(schema: Schema, old: list[Any], new: list[Any]) -> _Parts:
    found = _Found()
    before, after = grouped(schema, old), grouped(schema, new)
    for element in before | after:
        found.note(element, _compare_items(schema.items, before.get(element, []), after.get(element, [])))
    return found.parts()


def _compare_items(schema: Schema, then: list[Any], now: list[Any]) -> _Parts:
    """What became of the items of one path element. Where there are several, they are one field."""
    if len(then) == len(now) == 1:
        return _compare(schema, then[0], now[0])
    if len(then) > 1 and len(now) > 1:
        return _SAME if equal(then, now) else (None, LEAF, None)
    gone = LEAF if len(then) > 1 else _whole(schema, then[0]) if then else None
    come = LEAF if len(now) > 1 else _whole(schema, now[0]) if now else None
    return (gone, None, come)

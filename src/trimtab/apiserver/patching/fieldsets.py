"""Sets of fields, as managedFields write them down.

A set is the JSON of FieldsV1 itself, so that reading and writing it costs nothing: a node holds its children by path
element, and is in the set where it is empty or holds `"."`. Path elements are strings:

- `f:name` a field of a struct or a key of a map,
- `k:{"name":"web"}` an item of a list, by its keys,
- `v:"text"` an item of a set, by its value.

A root is not in its own set: `{}` is the empty set there. Nodes are shared between sets, so nobody changes one.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any, Final, TypeAlias

import msgspec

from trimtab.apiserver.causes import quoted
from trimtab.apiserver.patching.values import is_list, is_map

Node: TypeAlias = "dict[str, Node]"
Path: TypeAlias = "tuple[str, ...]"

SELF: Final = "."
LEAF: Final[Node] = {}
NOTHING: Final[Node] = {}

# Items of a list follow its fields; the kinds of path elements have an order of their own.
_KINDS: Final = {"f": 0, "k": 1, "v": 2, "i": 3}


def is_member(node: Node) -> bool:
    """Whether a node that is no root is itself in the set."""
    return not node or SELF in node


def with_self(children: Node | None) -> Node:
    """A node that is in the set, with these children."""
    return {SELF: LEAF, **children} if children else LEAF


def of(*paths: Path) -> Node:
    """The set of these paths."""
    root: Node = {}
    for path in paths:
        added: Node = LEAF
        for element in reversed(path):
            added = {element: added}
        root = union(root, added)
    return root


def union(one: Node, other: Node) -> Node:
    """What is in either set."""
    if not one or one is other:
        return other
    return _joined(one, other) if other else one


def _union(one: Node, other: Node) -> Node:
    if one is other:
        return one
    if not one or not other:
        node = one or other
        return node if not node or SELF in node else {SELF: LEAF, **node}
    return _joined(one, other)


def _joined(one: Node, other: Node) -> Node:
    joined = dict(one)
    for element, theirs in other.items():
        mine = one.get(element)
        joined[element] = theirs if mine is None else _union(mine, theirs)
    return joined


def difference(one: Node, other: Node) -> Node:
    """What is in the first set and not in the second. A parent does not take its children with it."""
    return _rest(one, other) if other else one


def _difference(one: Node, other: Node) -> Node | None:
    member = is_member(one) and not is_member(other)
    children = _rest(one, other)
    if not children:
        return LEAF if member else None
    return {SELF: LEAF, **children} if member else children


def _rest(one: Node, other: Node) -> Node:
    rest: Node = {}
    for element, mine in one.items():
        if element == SELF:
            continue
        theirs = other.get(element)
        kept = mine if theirs is None else _difference(mine, theirs)
        if kept is not None:
            rest[element] = kept
    return rest


def without(one: Node, other: Node) -> Node:
    """The first set without the fields of the second and all that is below them."""
    if not other:
        return one
    rest: Node = {}
    for element, mine in one.items():
        theirs = other.get(element)
        if theirs is None:
            rest[element] = mine
        elif not is_member(theirs):
            below = without(mine, theirs)
            if below and (len(below) > 1 or SELF not in below):
                rest[element] = below
            elif is_member(mine):
                rest[element] = LEAF
    return rest


def intersection(one: Node, other: Node) -> Node:
    """What is in both sets."""
    both: Node = {}
    for element, mine in one.items():
        theirs = other.get(element)
        if theirs is None or element == SELF:
            continue
        below = intersection(mine, theirs)
        if is_member(mine) and is_member(theirs):
            both[element] = {SELF: LEAF, **below} if below else LEAF
        elif below:
            both[element] = below
    return both


def has(fields: Node, path: Path) -> bool:
    """Whether a path is in the set."""
    for element in path:
        found = fields.get(element)
        if found is None:
            return False
        fields = found
    return bool(path) and is_member(fields)


def paths(fields: Node, prefix: Path = ()) -> Iterator[Path]:
    """Every path in the set, in order: those right here before those below."""
    ordered = [element for element in sorted(fields, key=_rank) if element != SELF]
    for element in ordered:
        if is_member(fields[element]):
            yield (*prefix, element)
    for element in ordered:
        yield from paths(fields[element], (*prefix, element))


def in_order(fields: Node) -> Node:
    """A copy of the set as an API server writes it: each node's elements in their order, `"."` before them."""
    elements = list(fields)
    if len(elements) > 1:
        # Fields, which are most, order as strings do, and "." comes before them.
        plain = all(element[0] in "f." for element in elements)
        elements.sort(key=None if plain else _rank)
    return {element: in_order(fields[element]) for element in elements}


def as_read(fields: Any) -> Node:
    """A set as somebody else wrote it, with the elements in the form in which they are compared.

    ValueError where it is none. Elements of a kind that nobody knows are left out.
    """
    if not is_map(fields):
        raise ValueError("fields are no object")  # whoever reads wants one kind of error
    read: Node = {}
    for element, below in fields.items():
        if element == SELF:
            read[element] = LEAF
        elif element[:2] == "f:":
            read[element] = as_read(below)
        elif element[1:2] != ":":
            raise ValueError(f"missing colon: {element}")
        elif element[0] in _KINDS:
            read[canonical(element)] = as_read(below)
    return read


@lru_cache(4096)
def canonical(element: str) -> str:
    """An element that names an item, with its JSON as it is written here."""
    kind, said = element[0], element[2:]
    if kind == "i":
        return f"i:{int(said)}"
    value = msgspec.json.decode(said)
    if kind == "k":
        if not is_map(value):
            raise ValueError(f"keys are no object: {element}")
        return item_by_keys.__wrapped__(*(part for pair in sorted(value.items()) for part in pair))
    return f"{kind}:{_text(value)}"


@lru_cache(4096, typed=True)
def item_by_keys(*pairs: Any) -> str:
    """The element of a list's item that has these keys: each name, in order, and its value."""
    named = zip(pairs[::2], pairs[1::2], strict=True)
    return "k:{" + ",".join(f"{_text(name)}:{_text(value)}" for name, value in named) + "}"


@lru_cache(4096, typed=True)
def item_by_value(value: Any) -> str:
    """The element of a set's item."""
    return "v:" + _text(value)


def _text(value: Any) -> str:
    """JSON as Go writes it: no number with a needless fraction, nothing that HTML could take for its own."""
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e21:  # where Go's exponents begin
        value = int(value)
    text = msgspec.json.encode(value).decode()
    return text if type(value) is str and value.isalnum() else for_html(text)


def for_html(text: str) -> str:
    """JSON without what HTML could take for its own."""
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def path_text(path: Path) -> str:
    """`.spec.containers[name="web"].image`, as messages name a field."""
    return "".join(map(_element_text, path))


def _element_text(element: str) -> str:
    kind, said = element[0], element[2:]
    match kind:
        case "f":
            return f".{said}"
        case "k":
            keys: dict[str, Any] = msgspec.json.decode(said)
            return "[" + ",".join(f"{name}={_shown(value)}" for name, value in keys.items()) + "]"
        case "v":
            return f"[={_shown(msgspec.json.decode(said))}]"
        case _:
            return f"[{said}]"


def _shown(value: Any) -> str:
    if is_map(value):
        return "".join(f"{key}={_shown(part)}" for key, part in value.items())
    if is_list(value):
        return f"[{','.join(map(_shown, value))}]"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return quoted(value)
    return "null" if value is None else str(value)


@lru_cache(4096)
def _rank(element: str) -> tuple[Any, ...]:
    """Where an element stands among its siblings."""
    kind, said = element[0], element[2:]
    if kind in "f.":
        return (0, element)
    value = msgspec.json.decode(said)
    if kind == "k":
        return (1, *((name, *_value_rank(part)) for name, part in value.items()))
    return (_KINDS[kind], _value_rank(value))


def _value_rank(value: Any) -> tuple[int, Any]:
    """Numbers before strings before booleans before lists, maps and null."""
    match value:
        case bool():
            return (2, value)
        case int() | float():
            return (0, value)
        case str():
            return (1, value)
        case _:
            return (3, _text(value))

"""From an edit of a typed object to a merge patch that loses nothing.

A class may be older than the server: the object has fields that it does not know. In maps and nested objects a merge
patch leaves those alone, but it replaces lists whole. So the edit is first laid over the JSON that was read, where
items of lists find their own unknown fields again, and the patch is the difference between that JSON and the result.
"""

from __future__ import annotations

from typing import Any, TypeAlias, cast

import msgspec

from trimtab.kube.shapes import Shape, fields

JSON: TypeAlias = Any


def edit_patch(
    cls: type[msgspec.Struct], raw: dict[str, JSON], before: dict[str, JSON], after: dict[str, JSON]
) -> dict[str, JSON]:
    """The merge patch that makes of `raw`, as it was read, what the edit from `before` to `after` made of the object.

    `before` and `after` are the typed object's JSON (`to_wire`). Empty where nothing was changed.
    """
    return merge_patch(raw, lay_over(cls, raw, before, after))


def merge_patch(old: dict[str, JSON], new: dict[str, JSON]) -> dict[str, JSON]:
    """The JSON merge patch (RFC 7386) from one object to the other; it cannot set anything to null."""
    patch: dict[str, JSON] = {name: None for name in old if name not in new}
    for name, value in new.items():
        if name not in old:
            patch[name] = value
        elif isinstance(value, dict) and isinstance(old[name], dict):
            if inner := merge_patch(old[name], cast("dict[str, JSON]", value)):
                patch[name] = inner
        elif _text(value) != _text(old[name]):
            patch[name] = value
    return patch


def lay_over(
    cls: type[msgspec.Struct], raw: dict[str, JSON], before: dict[str, JSON], after: dict[str, JSON]
) -> dict[str, JSON]:
    """`raw` with the edit from `before` to `after`."""
    return _lay_over_object(Shape(struct=cls), raw, before, after)


def _lay_over(shape: Shape, raw: JSON, before: JSON, after: JSON) -> JSON:
    if _text(before) == _text(after):
        return raw
    versions: list[JSON] = [raw, before, after]
    if all(isinstance(v, dict) for v in versions):
        return _lay_over_object(shape, raw, before, after)
    if shape.items and all(isinstance(v, list) for v in versions):
        partners = _partners(shape.items, shape.keys, before, after)
        return [
            _lay_over(shape.items, raw[partners[i]], before[partners[i]], value) if i in partners else value
            for i, value in enumerate(after)
        ]
    return after


def _lay_over_object(
    shape: Shape, raw: dict[str, JSON], before: dict[str, JSON], after: dict[str, JSON]
) -> dict[str, JSON]:
    known = {f.name: f for f in fields(shape.struct)} if shape.struct else {}
    # A nested value that is always there is left out of JSON where nothing in it is set.
    empty: dict[str, JSON] = {name: {} for name, field in known.items() if field.nested and name in raw}
    before, after = empty | before, empty | after
    result = {name: value for name, value in raw.items() if name in after or name not in before}
    for name, value in after.items():
        if name not in before:
            result[name] = value
        elif name in raw:
            inner = known[name].shape if name in known else shape.values or Shape()
            result[name] = _lay_over(inner, raw[name], before[name], value)
        elif _text(before[name]) != _text(value):
            result[name] = value
    return result


def _partners(shape: Shape, keys: tuple[str, ...], before: list[JSON], after: list[JSON]) -> dict[int, int]:
    """Which item of the old list each one of the new list was.

    It is the one with the same keys. Where a list has none: an equal one; else, if none came, went or moved, the one at
    the same place; else the one that is most alike.
    """
    waiting: dict[bytes, list[int]] = {}
    for i, item in enumerate(before):
        waiting.setdefault(_identity(shape, keys, item), []).append(i)
    partners: dict[int, int] = {}
    for i, item in enumerate(after):
        if same := waiting.get(_identity(shape, keys, item)):
            partners[i] = same.pop(0)
    if keys:
        return partners
    if len(before) == len(after) and all(i == j for i, j in partners.items()):
        return {i: i for i in range(len(after))}
    return partners | _most_alike(before, after, partners)


def _most_alike(before: list[JSON], after: list[JSON], partners: dict[int, int]) -> dict[int, int]:
    """Partners among the items that have none, those with the most in common first."""
    old = {*range(len(before))} - {*partners.values()}
    new = {*range(len(after))} - partners.keys()
    alike = sorted((-_likeness(before[j], after[i]), i, j) for i in new for j in old)
    found: dict[int, int] = {}
    for unlikeness, i, j in alike:
        if unlikeness <= -_ALIKE and i in new and j in old:
            found[i] = j
            new.remove(i)
            old.remove(j)
    return found


_ALIKE = 0.5  # of two items, the share of fields from which on one is taken for an edit of the other


def _likeness(one: JSON, other: JSON) -> float:
    """The share of fields that are the same in both."""
    if not isinstance(one, dict) or not isinstance(other, dict):
        return 0.0
    fields_of_one, fields_of_other = cast("dict[str, JSON]", one), cast("dict[str, JSON]", other)
    names = fields_of_one.keys() | fields_of_other.keys()
    shared = fields_of_one.keys() & fields_of_other.keys()
    return sum(_text(fields_of_one[name]) == _text(fields_of_other[name]) for name in shared) / len(names)


def _identity(shape: Shape, keys: tuple[str, ...], item: JSON) -> bytes:
    if not keys or not isinstance(item, dict) or shape.struct is None:
        return _text(item)
    defaults = {f.name: f.shape.default for f in fields(shape.struct)}
    return _text([cast("dict[str, JSON]", item).get(key, defaults.get(key)) for key in keys])


def _text(value: JSON) -> bytes:
    """The text that is the same for equal JSON: to Python, 1 equals true."""
    return msgspec.json.encode(value, order="sorted")

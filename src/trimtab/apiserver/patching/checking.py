"""Whether an object is what its schema says, as far as ownership of its fields can be told: types, keys of lists."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any, Final, TypeAlias

from trimtab.apiserver.facts import Schema
from trimtab.apiserver.patching.fieldsets import item_by_keys, item_by_value, path_text
from trimtab.apiserver.patching.gotext import go_syntax, go_text, go_type
from trimtab.apiserver.patching.values import is_list, is_map

Fault: TypeAlias = "tuple[str, str]"
"""Where, and what."""


_ACCEPTED: Final[dict[type, frozenset[str]]] = {
    str: frozenset({"string", "untyped"}),
    bool: frozenset({"boolean", "untyped"}),
    int: frozenset({"numeric", "untyped"}),
    float: frozenset({"numeric", "untyped"}),
}
"""Which scalars of a schema a value may be."""

_accepted: Final[Callable[[Any], frozenset[str] | None]] = _ACCEPTED.get

_ABSENT: Final[Any] = object()


class NoKeyError(ValueError):
    """An item of a list that cannot be told from others."""


def element_of(schema: Schema, item: Any) -> str:
    """The path element of a list's item; NoKeyError where it has none."""
    if not schema.keys:
        if item is None:
            raise NoKeyError("associative list without keys has an element that's an explicit null")
        if isinstance(item, dict):
            raise NoKeyError("associative list without keys has an element that's a map type")
        if isinstance(item, list):
            raise NoKeyError("not supported: associative list with lists as elements")
        return item_by_value(item)
    if not is_map(item):
        what = "a null element" if item is None else "non-map elements"
        raise NoKeyError(f"associative list with keys may not have {what}")
    pairs: list[Any] = []
    for key in sorted(schema.keys):
        value = item.get(key, _ABSENT)
        if value is _ABSENT:
            field = schema.items.fields.get(key)
            value = None if field is None else field.json.get("default")
            if value is None:
                continue
        pairs += (key, value)
    if not pairs:
        keys = " ".join(json.dumps(key) for key in schema.keys)
        raise NoKeyError(
            f"associative list with keys has an element that omits all key fields [{keys}] "
            "(and doesn't have default values for any key fields)"
        )
    try:
        return item_by_keys(*pairs)
    except TypeError:  # a key that is a list or a map
        return item_by_keys.__wrapped__(*pairs)


def fits_update(schema: Schema, obj: Any) -> bool:
    """Whether it can be told who set what in an object: items of lists may be there twice, all else has to fit."""
    return obj is None or fits(schema, obj, twice=True)


def fits(schema: Schema, value: Any, *, twice: bool = False) -> bool:
    """Whether there are no faults; said without looking for where they are. Items may be there `twice`."""
    if is_map(value):
        if not schema.is_map:
            return False
        fields = schema.fields
        for key, child in value.items():
            below = fields.get(key) or schema.values
            if below is None:
                return False
            accepted = _accepted(child.__class__)
            if below.scalar not in accepted if accepted else not fits(below, child, twice=twice):
                return False
        return True
    if is_list(value):
        return schema.is_list and _items_fit(schema, value, twice=twice)
    return value is None or _scalar_fits(schema.scalar, value)


def _items_fit(schema: Schema, value: list[Any], *, twice: bool) -> bool:
    if not schema.atomic_list:
        try:
            if len({element_of(schema, item) for item in value}) < len(value) and not twice:
                return False
        except NoKeyError:
            return False
    return all(fits(schema.items, item, twice=twice) for item in value)


def faults(schema: Schema, value: Any) -> list[Fault]:
    """All that is wrong with an object that somebody applies."""
    return list(_faults(schema, value, ""))


def told(found: list[Fault]) -> str:
    """The faults in one message."""
    lines = [f"{where}: {what}" if where else what for where, what in found]
    return lines[0] if len(lines) == 1 else "\n".join(["errors:", *(f"  {line}" for line in lines)])


def _faults(schema: Schema, value: Any, where: str) -> Iterator[Fault]:
    if value is None:
        return
    if is_map(value) and schema.is_map:
        yield from _faults_of_map(schema, value, where)
    elif is_list(value) and schema.is_list:
        yield from _faults_of_list(schema, value, where)
    elif is_map(value) or is_list(value) or not _scalar_fits(schema.scalar, value):
        yield where, _mismatch(schema, value)


def _faults_of_map(schema: Schema, value: dict[str, Any], where: str) -> Iterator[Fault]:
    fields = schema.fields
    for key, child in value.items():
        below = fields.get(key) or schema.values
        if below is None:
            yield f"{where}.{key}", "field not declared in schema"
            return
        yield from _faults(below, child, f"{where}.{key}")


def _faults_of_list(schema: Schema, value: list[Any], where: str) -> Iterator[Fault]:
    seen: set[str] = set()
    for index, item in enumerate(value):
        if schema.atomic_list:
            yield from _faults(schema.items, item, f"{where}[{index}]")
            continue
        try:
            element = element_of(schema, item)
        except NoKeyError as error:
            yield where, f"element {index}: {error}"
            return
        shown = path_text((element,))
        if element in seen:
            yield where, f"duplicate entries for key {shown}"
        seen.add(element)
        yield from _faults(schema.items, item, f"{where}{shown}")


def _scalar_fits(scalar: str, value: Any) -> bool:
    return scalar in (_accepted(value.__class__) or ())


def _mismatch(schema: Schema, value: Any) -> str:
    """What was expected, in Go's words as far as they can be told."""
    if schema.is_map:
        return f"expected map, got {_go_value(value)}"
    match schema.scalar:
        case "numeric":
            return f"expected numeric (int or float), got {go_type(value)}"
        case "string":
            return f"expected string, got &value.valueUnstructured{{Value:{go_syntax(value)}}}"
        case "boolean":
            return f"expected boolean, got {_go_value(value)}"
        case "untyped":
            return f"expected any scalar, got {_go_value(value)}"
        case _:
            return f"expected list, got {_go_value(value)}"


def _go_value(value: Any) -> str:
    return f"&{{{go_text(value)}}}"

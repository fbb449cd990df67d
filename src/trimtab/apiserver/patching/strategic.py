"""Strategic merge patch: a merge patch that knows by which key the items of a list are told from each other.

A patch may hold directives beside its fields:

- `$patch: replace` or `delete`, in an object or an item of a list,
- `$deleteFromPrimitiveList/field`: values that go from a list,
- `$setElementOrder/field`: the order in which the items of a list are to be,
- `$retainKeys`: the only fields that an object keeps.
"""

from __future__ import annotations

from typing import Any, Final, NoReturn

from trimtab.apiserver.facts import Schema
from trimtab.apiserver.patching.gotext import go_kind, go_text
from trimtab.apiserver.patching.mergepatch import without_nulls
from trimtab.apiserver.patching.refusals import Unexplained, not_too_deep
from trimtab.apiserver.patching.strategiclists import (
    DIRECTIVE,
    bad_type,
    check_order,
    delete_values,
    in_order,
    merge_items,
    merge_values,
    of_objects,
    order_left,
    without_directives,
)
from trimtab.apiserver.patching.values import Json, is_list, is_map
from trimtab.apiserver.statuses import bad_request

_DELETE_FROM: Final = "$deleteFromPrimitiveList"
_SET_ORDER: Final = "$setElementOrder"
_RETAIN: Final = "$retainKeys"


@not_too_deep
def strategic_merge(obj: Json, patch: Any, schema: Schema) -> Json:
    """The object after the patch; Refused where the patch makes no sense. The schema is that of the object's kind."""
    if patch is None:
        return obj
    if not is_map(patch):
        raise bad_request(f"json: cannot unmarshal {go_kind(patch)} into Go value of type map[string]interface {{}}")
    return _merge_maps(obj, patch, schema)


def _merge_maps(original: Json, patch: Json, schema: Schema) -> Json:
    if DIRECTIVE in patch:
        return _directed(patch)
    merged, patch = dict(original), dict(patch)
    _retain(merged, patch)
    for key in [key for key in patch if key.startswith(_SET_ORDER)]:
        _set_order(key, merged, patch, schema)
    for key, value in patch.items():
        deletes = key.startswith(_DELETE_FROM)
        field = _named(key, _DELETE_FROM, "invalid patch format of primitive list") if deletes else key
        if value is None:
            merged.pop(field, None)
        elif field in merged and type(merged[field]) is type(value):
            _merge_field(field, merged, value, schema, deletes=deletes)
        elif not deletes:
            kept = without_directives(without_nulls(value))
            merged.pop(field, None)
            if kept is not None:
                merged[field] = kept
    return merged


def _directed(patch: Json) -> Json:
    match patch[DIRECTIVE]:
        case "replace":
            return {key: value for key, value in patch.items() if key != DIRECTIVE}
        case "delete":
            return {}
        case other:
            raise Unexplained(f"unknown patch type: {go_text(other)} in map: {go_text(patch)}")


def _merge_field(field: str, merged: Json, value: Any, schema: Schema, *, deletes: bool) -> None:
    """Of a field that both have, and as the same type."""
    before = merged[field]
    if is_map(value):
        below = _field_of(schema, field)
        merged[field] = value if _strategy(below) == "replace" else _merge_maps(before, value, below)
    elif is_list(value):
        below = _field_of(schema, field)
        merged[field] = _merge_lists(before, value, below, deletes=deletes)
    else:
        merged[field] = value


def _merge_lists(original: list[Any], patch: list[Any], field: Schema, *, deletes: bool) -> list[Any]:
    if not deletes and _strategy(field) != "merge":
        return patch
    if not original and not patch:
        return original
    if not of_objects(original, patch):
        if deletes:
            return delete_values(original, patch)
        if field.merge_key:
            raise bad_type("map[string]interface {}", [*original, *patch][0])
        return merge_values(original, patch)
    if not field.merge_key:
        raise Unexplained("cannot merge lists without merge key for struct")
    return merge_items(original, patch, field.merge_key, lambda one, other: _merge_maps(one, other, field.items))


def _retain(merged: Json, patch: Json) -> None:
    """Keep only what `$retainKeys` names, and let the patch name nothing else."""
    if _RETAIN not in patch:
        return
    kept = patch.pop(_RETAIN)
    if not is_list(kept):
        raise bad_request("invalid patch format of retainKeys")
    for key, value in patch.items():
        if value is not None and not key.startswith((_DELETE_FROM, _SET_ORDER)) and key not in kept:
            raise bad_request("invalid patch format of retainKeys")
    for key in [key for key in merged if key not in kept]:
        del merged[key]


def _set_order(key: str, merged: Json, patch: Json, schema: Schema) -> None:
    """Merge the list that `$setElementOrder/field` speaks of, and put it in order."""
    order = patch.pop(key)
    if not is_list(order):
        raise bad_type("[]interface {}", order)
    field = _named(key, _SET_ORDER, "invalid patch format of setElementOrder list")
    for found in (each[field] for each in (merged, patch) if field in each):
        if not is_list(found):
            raise bad_type("[]interface {}", found)
    original, changes = merged.get(field), patch.pop(field, None)
    below = _field_of(schema, field)
    check_order(changes or [], order, below.merge_key)
    if original is None and changes is None:
        return
    if changes is None:
        items: list[Any] = original or []
    elif original is None:
        items = without_directives(changes) or []
    else:
        items = _merge_lists(original, changes, below, deletes=False)
    if not original and not changes:
        raise Unexplained("no elements in any of the given slices")
    had: list[Any] = original or []
    if below.merge_key and _strategy(below) == "merge":
        had = order_left(had, changes or [], below.merge_key)
    merged[field] = in_order(items, order, had, below.merge_key)


def _named(key: str, prefix: str, fault: str) -> str:
    """The field that a directive speaks of."""
    found, slash, field = key.partition("/")
    if found != prefix or not slash:
        raise bad_request(fault)
    return field


def _field_of(schema: Schema, name: str) -> Schema:
    """The schema of a field whose merging matters: the values of a map have no rules of their own."""
    field = schema.fields.get(name)
    if field is None:
        _no_field(schema, name)
    return field


def _no_field(schema: Schema, name: str) -> NoReturn:
    if schema.fields:
        struct = schema.name.rpartition(".")[2]
        raise Unexplained(f'unable to find api field in struct {struct} for the json field "{name}"')
    raise Unexplained("merging an object in json but data type is not struct, instead is: map")


def _strategy(field: Schema) -> str:
    return next((strategy for strategy in field.strategies if strategy != "retainKeys"), "")

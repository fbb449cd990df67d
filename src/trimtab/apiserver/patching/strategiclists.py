"""Lists in strategic merge patches: of values, and of objects that a key tells from each other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from trimtab.apiserver.patching.gotext import go_text, go_type
from trimtab.apiserver.patching.refusals import Unexplained, unprocessable
from trimtab.apiserver.patching.values import Json, is_list, is_map
from trimtab.apiserver.statuses import Refused

MergeMaps = Callable[[Json, Json], Json]

DIRECTIVE: Final = "$patch"


def bad_type(expected: str, value: Any) -> Refused:
    """Something is of another type than the patch says."""
    return Unexplained(f"expected a {expected}, but received a {go_type(value)}")


def without_directives(value: Any) -> Any:
    """A part of a patch that comes anew, without what only says how to merge; None where it says nothing else."""
    if is_map(value):
        if DIRECTIVE in value:
            return None
        kept = {key: without_directives(part) for key, part in value.items()}
        return {key: part for key, part in kept.items() if part is not None or value[key] is None}
    if is_list(value):
        return [kept for item in value if (kept := without_directives(item)) is not None or item is None]
    return value


def of_objects(*lists: list[Any]) -> bool:
    """Whether the items are objects; Refused where they are not all of one type."""
    items = [item for each in lists for item in each]
    if is_list(items[0]):
        raise unprocessable()
    if any(type(item) is not type(items[0]) for item in items):
        raise Unexplained(f"list element types are not identical: {go_text(list(lists))}")
    return is_map(items[0])


def delete_values(original: list[Any], patch: list[Any]) -> list[Any]:
    """A list of values without some."""
    return [value for value in original if value not in patch]


def merge_values(original: list[Any], patch: list[Any]) -> list[Any]:
    """Two lists of values as one, each value once, in the order of the patch."""
    return in_order(list(dict.fromkeys([*original, *patch])), patch, original, "")


def merge_items(original: list[Json], patch: list[Json], key: str, merge: MergeMaps) -> list[Json]:
    """Two lists of objects as one, in the order of the patch."""
    original, patch = _with_directives(original, patch, key)
    merged = list(original)
    for item in patch:
        found = _find(merged, key, _key(item, key))
        if found < 0:
            merged.append(item)
        else:
            merged[found] = merge(merged[found], item)
    return in_order(merged, patch, original, key)


def _with_directives(original: list[Json], patch: list[Json], key: str) -> tuple[list[Json], list[Json]]:
    """What the items say that only say what to do."""
    plain: list[Json] = []
    replaces = False
    for item in patch:
        match item.get(DIRECTIVE):
            case None if DIRECTIVE not in item:
                plain.append(item)
            case "delete":
                gone = _key(item, key)
                original = [each for each in original if key not in each or not _same(each[key], gone)]
            case "replace":
                replaces = True
            case "merge":
                raise Unexplained("merging lists cannot yet be specified in the patch")
            case other:
                raise Unexplained(f"unknown patch type: {go_text(other)} in map: {go_text(item)}")
    return (plain, []) if replaces else (original, plain)


def check_order(patch: list[Any], order: list[Any], key: str) -> None:
    """Refuse an order that does not name the patch's items as they follow each other."""
    if not patch or not order:
        return
    plain = patch
    if key:
        for item in patch:
            if not is_map(item):
                raise bad_type("map[string]interface {}", item)
        plain = [item for item in patch if item.get(DIRECTIVE) != "delete"]
    at = place = 0
    while at < len(plain) and place < len(order):
        # Other directives are passed over too, but for those that come after all that the order names.
        if is_map(plain[at]) and DIRECTIVE in plain[at]:
            at += 1
            continue
        at += _same(_value(plain[at], key), _value(order[place], key))
        place += 1
    if at < len(plain):
        raise Unexplained(
            f"The order in patch list:\n{go_text(patch)}\n doesn't match $setElementOrder list:\n{go_text(order)}\n"
        )


def order_left(original: list[Json], patch: list[Json], key: str) -> list[Json]:
    """The order that a live list leaves behind: what is new takes the place of what was deleted, as in Go's slices."""
    if not all(map(is_map, [*original, *patch])):
        return original
    gone = [item[key] for item in patch if item.get(DIRECTIVE) == "delete" and key in item]
    left = [item for item in original if not any(_same(item.get(key), value) for value in gone)]
    replaced = any(item.get(DIRECTIVE) == "replace" for item in patch)
    new = [] if replaced else [item for item in patch if DIRECTIVE not in item and _find(left, key, item.get(key)) < 0]
    return [*left, *new][: len(original)]


def in_order(items: list[Any], order: list[Any], original: list[Any], key: str) -> list[Any]:
    """The items that `order` names, as it orders them; the others stay between them where they were."""
    wanted, had = [_value(each, key) for each in order], [_value(each, key) for each in original]
    named = [item for item in items if _index(wanted, _value(item, key)) >= 0]
    others = [item for item in items if _index(wanted, _value(item, key)) < 0]
    named = _as_ordered(named, [_index(wanted, _value(item, key)) for item in named])
    others = _as_ordered(others, [_index(had, _value(item, key)) for item in others])
    out: list[Any] = []
    while named and others:
        one, other = _index(had, _value(others[0], key)), _index(had, _value(named[0], key))
        out.append((others if 0 <= one < other else named).pop(0))
    return [*out, *named, *others]


def _as_ordered(items: list[Any], places: list[int]) -> list[Any]:
    """The items by their places. One that has none goes before what comes before it, as by Kubernetes' comparison."""
    done: list[tuple[int, Any]] = []
    for place, item in zip(places, items, strict=True):
        at = len(done)
        while at and (place < 0 or done[at - 1][0] < 0 or place < done[at - 1][0]):
            at -= 1
        done.insert(at, (place, item))
    return [item for _, item in done]


def _value(item: Any, key: str) -> Any:
    if not key:
        return item
    if not is_map(item):
        raise bad_type("map[string]interface {}", item)
    return _key(item, key)


def _key(item: Json, key: str) -> Any:
    if key not in item:
        raise Unexplained(f"map: {go_text(item)} does not contain declared merge key: {key}")
    return item[key]


def _find(items: list[Json], key: str, value: Any) -> int:
    return next((at for at, item in enumerate(items) if key in item and _same(item[key], value)), -1)


def _index(values: list[Any], value: Any) -> int:
    return next((at for at, each in enumerate(values) if _same(each, value)), -1)


def _same(one: Any, other: Any) -> bool:
    return type(one) is type(other) and bool(one == other)

"""Functions on lists and sets: Kubernetes' own, and CEL's extensions."""

from __future__ import annotations

import functools
from itertools import pairwise
from typing import Any, Final

from trimtab.apiserver.cel import types as t
from trimtab.apiserver.cel.errors import CostExceededError, EvaluationError
from trimtab.apiserver.cel.functions import Library
from trimtab.apiserver.cel.values import Duration, MapValue, Uint, compare, equal, find, is_list, keys

LISTS: Final = Library()
SETS: Final = Library()
FOLDS: Final = Library()

_LONGEST_RANGE: Final = 1_000_000
_COMPARABLE: Final = (
    ("int", t.INT), ("uint", t.UINT), ("double", t.DOUBLE), ("bool", t.BOOL), ("duration", t.DURATION),
    ("timestamp", t.TIMESTAMP), ("string", t.STRING), ("bytes", t.BYTES),
)  # fmt: skip
_SUMMABLE: Final[tuple[tuple[str, t.Type, Any], ...]] = (
    ("int", t.INT, 0), ("uint", t.UINT, Uint(0)), ("double", t.DOUBLE, 0.0), ("duration", t.DURATION, Duration(0)),
)  # fmt: skip


def _is_sorted(items: Any) -> bool:
    values = list(items)
    return all(compare(a, b) <= 0 for a, b in pairwise(values))


def _sum(nothing: Any) -> Any:
    def run(items: Any) -> Any:
        if isinstance(nothing, Duration):
            return Duration(_within(sum(item.nanos for item in items), t.INT))
        if isinstance(nothing, Uint):
            return Uint(_within(sum(int(item) for item in items), t.UINT))
        if isinstance(nothing, float):
            return float(sum(items, 0.0))
        return _within(sum(int(item) for item in items), t.INT)

    return run


def _within(total: int, kind: t.Type) -> int:
    if kind is t.UINT and total >= 2**64:
        raise EvaluationError("unsigned integer overflow")
    if kind is t.INT and not -(2**63) <= total < 2**63:
        raise EvaluationError("integer overflow")
    return total


def _best(name: str, sign: int) -> Any:
    def run(items: Any) -> Any:
        values = list(items)
        if not values:
            raise EvaluationError(f"{name} called on empty list")
        best = values[0]
        for value in values[1:]:
            if compare(value, best) * sign > 0:
                best = value
        return best

    return run


def _index_of(items: Any, wanted: Any) -> int:
    return next((n for n, item in enumerate(items) if equal(item, wanted)), -1)


def _last_index_of(items: Any, wanted: Any) -> int:
    values = list(items)
    return next((n for n in range(len(values) - 1, -1, -1) if equal(values[n], wanted)), -1)


def _slice(items: Any, start: int, end: int) -> list[Any]:
    if start < 0 or end < 0:
        raise EvaluationError(f"cannot slice({start}, {end}), negative indexes not supported")
    if start > end:
        raise EvaluationError(f"cannot slice({start}, {end}), start index must be less than or equal to end index")
    if len(items) < end:
        raise EvaluationError(f"cannot slice({start}, {end}), list is length {len(items)}")
    return list(items)[start:end]


def _flatten(items: Any, depth: int = 1) -> list[Any]:
    if depth < 0:
        raise EvaluationError("level must be non-negative")
    values = list(items)
    while depth and any(is_list(value) for value in values):
        values = [part for value in values for part in (value if is_list(value) else [value])]
        depth -= 1
    return values


def _sort_by(items: Any, ranks: Any) -> list[Any]:
    values, order = list(items), list(ranks)
    if len(values) != len(order):
        raise EvaluationError(
            "@sortByAssociatedKeys() expected a list of the same size as the associated keys list, but got "
            f"{len(values)} and {len(order)} elements respectively"
        )
    if any(type(rank) is not type(order[0]) for rank in order[1:]):
        raise EvaluationError("list elements must have the same type")
    places = sorted(range(len(order)), key=functools.cmp_to_key(lambda a, b: compare(order[a], order[b])))
    return [values[place] for place in places]


def _range(count: int) -> list[int]:
    if count > _LONGEST_RANGE:
        raise CostExceededError
    return list(range(count))


def _distinct(items: Any) -> list[Any]:
    seen: list[Any] = []
    for item in items:
        if not any(equal(item, other) for other in seen):
            seen.append(item)
    return seen


_A, _T = t.param("A"), t.param("T")
_LIST = t.list_of(_T)
for _name, _of in _COMPARABLE:
    LISTS.member("isSorted", f"list_{_name}_is_sorted_bool", [t.list_of(_of)], t.BOOL, _is_sorted)
    LISTS.member("max", f"list_{_name}_max_{_name}", [t.list_of(_of)], _of, _best("max", 1))
    LISTS.member("min", f"list_{_name}_min_{_name}", [t.list_of(_of)], _of, _best("min", -1))
    LISTS.member(
        "sort", f"list_{_of.name}_sort", [t.list_of(_of)], t.list_of(_of), lambda items: _sort_by(items, items)
    )
    LISTS.member(
        "@sortByAssociatedKeys", f"list_{_of.name}_sortByAssociatedKeys", [_LIST, t.list_of(_of)], _LIST, _sort_by
    )
for _name, _of, _zero in _SUMMABLE:
    LISTS.member("sum", f"list_{_name}_sum_{_name}", [t.list_of(_of)], _of, _sum(_zero))
LISTS.member("indexOf", "list_a_index_of_int", [t.list_of(_A), _A], t.INT, _index_of)
LISTS.member("lastIndexOf", "list_a_last_index_of_int", [t.list_of(_A), _A], t.INT, _last_index_of)
LISTS.member("slice", "list_slice", [_LIST, t.INT, t.INT], _LIST, _slice)
LISTS.member("flatten", "list_flatten", [t.list_of(_LIST)], _LIST, _flatten)
LISTS.member("flatten", "list_flatten_int", [t.list_of(t.DYN), t.INT], t.list_of(t.DYN), _flatten)
LISTS.function("lists.range", "lists_range", [t.INT], t.list_of(t.INT), _range)
LISTS.member("reverse", "list_reverse", [_LIST], _LIST, lambda items: list(items)[::-1])
LISTS.member("distinct", "list_distinct", [_LIST], _LIST, _distinct)


def _contains(items: Any, part: Any) -> bool:
    values = list(items)
    return all(any(equal(wanted, value) for value in values) for wanted in part)


def _intersects(a: Any, b: Any) -> bool:
    values = list(b)
    return any(any(equal(wanted, value) for value in values) for wanted in a)


SETS.function("sets.contains", "list_sets_contains_list", [_LIST, _LIST], t.BOOL, _contains)
SETS.function(
    "sets.equivalent",
    "list_sets_equivalent_list",
    [_LIST, _LIST],
    t.BOOL,
    lambda a, b: _contains(a, b) and _contains(b, a),
)
SETS.function("sets.intersects", "list_sets_intersects_list", [_LIST, _LIST], t.BOOL, _intersects)


def _insert(target: Any, key: Any, value: Any) -> MapValue:
    """Add an entry in place: what is added to is the accumulator of one loop, and nobody else has it."""
    if not target.insert(key, value):
        from trimtab.apiserver.cel.library.formatting import format_string  # noqa: PLC0415 - for an error alone

        raise EvaluationError(f"insert failed: key {format_string('%s', [key])} already exists")
    return target


def _insert_all(target: Any, more: Any) -> MapValue:
    for key in keys(more):
        _insert(target, key, find(more, key))
    return target


_MAP = t.map_of(t.param("K"), t.param("V"))
FOLDS.function("cel.@mapInsert", "@mapInsert_map_key_value", [_MAP, t.param("K"), t.param("V")], _MAP, _insert)
FOLDS.function("cel.@mapInsert", "@mapInsert_map_map", [_MAP, _MAP], _MAP, _insert_all)

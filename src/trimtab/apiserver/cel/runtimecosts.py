"""What a call is charged when it runs, in the units of Kubernetes' limits."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Final, TypeAlias

from trimtab.apiserver.cel.library.formats import NamedFormat
from trimtab.apiserver.cel.library.net import Cidr, Ip
from trimtab.apiserver.cel.values import find, is_list, is_map, keys, size

Charge: TypeAlias = Callable[[Sequence[Any], Any], int]
"""From the arguments and the result of a call to its cost."""

TRAVERSAL: Final = 0.1
REGEX_LENGTH: Final = 0.25
NEW_LIST: Final = 10
NEW_MAP: Final = 30
NEW_STRUCT: Final = 40
CHECK: Final = 350_000


def _traversed(factor: float = TRAVERSAL) -> Charge:
    return lambda args, _: math.ceil(size(args[0]) * factor)


def _result_traversed(_args: Sequence[Any], result: Any) -> int:
    return math.ceil(size(result) * 2 * TRAVERSAL)


def _every_element(args: Sequence[Any], _result: Any) -> int:
    return _traversal(args[0])


def _traversal(value: Any) -> int:
    if isinstance(value, str):
        return int(len(value.encode()) * TRAVERSAL)
    if isinstance(value, bytes):
        return int(len(value) * TRAVERSAL)
    if is_list(value):
        return sum(_traversal(item) for item in value)
    if is_map(value):
        return sum(_traversal(key) + _traversal(find(value, key)) for key in keys(value))
    return 1


def _searched(args: Sequence[Any], _result: Any) -> int:
    return math.ceil((1 + size(args[0])) * TRAVERSAL) * math.ceil(size(args[1]) * REGEX_LENGTH)


def _validated(args: Sequence[Any], _result: Any) -> int:
    named: NamedFormat = args[0]
    return math.ceil((1 + size(args[1])) * TRAVERSAL) * math.ceil(named.pattern_size * REGEX_LENGTH)


def _contained(args: Sequence[Any], _result: Any) -> int:
    return math.ceil(size(args[0]) * TRAVERSAL) * math.ceil(size(args[1]) * TRAVERSAL)


def _compared(args: Sequence[Any], _result: Any) -> int:
    if isinstance(args[0], (Ip, Cidr, NamedFormat)) or getattr(args[0], "type_name", "").startswith("kubernetes."):
        return 1
    return math.ceil(min(size(args[0]), size(args[1])) * TRAVERSAL)


def _concatenated(args: Sequence[Any], _result: Any) -> int:
    return math.ceil((size(args[0]) + size(args[1])) * TRAVERSAL)


def _selector(args: Sequence[Any], _result: Any) -> int:
    length = size(args[1])
    return NEW_LIST + math.ceil(length * TRAVERSAL) + math.ceil(math.ceil(length * 0.5) * float(NEW_LIST + NEW_STRUCT))


def _in_network(*, networks: bool, text: bool) -> Charge:
    def charge(args: Sequence[Any], _result: Any) -> int:
        own = size(args[0])
        cost = math.ceil(2 * own * TRAVERSAL)
        if networks:
            cost += math.ceil(own * TRAVERSAL) + 1
        return cost + (math.ceil(size(args[1]) * TRAVERSAL) if text else 0)

    return charge


def _list_of(factor: float, amount: Callable[[Sequence[Any], Any], int]) -> Charge:
    return lambda args, result: int(amount(args, result) * factor) + 1 + NEW_LIST


def _flattened(args: Sequence[Any], _result: Any) -> int:
    depth = args[1] if len(args) > 1 else 1
    return int(size(args[0]) * depth) + 1 + NEW_LIST


def _self_compared(index: int) -> Charge:
    def charge(args: Sequence[Any], _result: Any) -> int:
        items = list(args[index])
        factor = 2 + TRAVERSAL if items and isinstance(items[0], (str, bytes)) else 2.0
        return int(len(items) ** 2 * factor) + 1 + NEW_LIST

    return charge


def _sets(factor: int) -> Charge:
    return lambda args, _: 1 + size(args[0]) * size(args[1]) * factor


_BY_OVERLOAD: Final[dict[str, Charge]] = {
    **dict.fromkeys(
        (
            "starts_with_string",
            "ends_with_string",
            "string_to_bytes",
            "bytes_to_string",
            "strings_quote",
            "string_format",
        ),
        _traversed(),
    ),
    "in_list": lambda args, _: size(args[1]),
    "matches_string": _searched,
    "contains_string": _contained,
    "add_string": _concatenated,
    "add_bytes": _concatenated,
    "equals": _compared,
    "not_equals": _compared,
    "cidr_contains_ip_string": _in_network(networks=False, text=True),
    "cidr_contains_ip_ip": _in_network(networks=False, text=False),
    "cidr_contains_cidr_string": _in_network(networks=True, text=True),
    "cidr_contains_cidr": _in_network(networks=True, text=False),
    "list_slice": _list_of(1, lambda _, result: size(result)),
    "lists_range": _list_of(1, lambda _, result: size(result)),
    "list_reverse": _list_of(1, lambda _, result: size(result)),
    "list_flatten": _flattened,
    "list_flatten_int": _flattened,
    "list_distinct": _self_compared(0),
    "list_sets_contains_list": _sets(1),
    "list_sets_intersects_list": _sets(1),
    "list_sets_equivalent_list": _sets(2),
    "string_to_ip": _traversed(),
    "ip_is_canonical": _traversed(2 * TRAVERSAL),
    "format-validate": _validated,
    **{
        f"{word}_{kind}": (lambda args, _: math.ceil(min(size(args[0]), size(args[1])) * TRAVERSAL))
        for word in ("less", "greater", "less_equals", "greater_equals")
        for kind in ("string", "bytes")
    },
}
_BY_FUNCTION: Final[dict[str, Charge]] = {
    **dict.fromkeys(("isSorted", "sum", "max", "min", "indexOf", "lastIndexOf"), _every_element),
    **dict.fromkeys(("url", "lowerAscii", "upperAscii", "substring", "trim", "jsonpatch.escapeKey"), _traversed()),
    **dict.fromkeys(("cidr", "isIP", "isCIDR", "quantity", "isQuantity", "semver", "isSemver"), _traversed()),
    **dict.fromkeys(("replace", "split"), _traversed(2 * TRAVERSAL)),
    "join": _result_traversed,
    "find": _searched,
    "findAll": _searched,
    "check": lambda _args, _result: CHECK,
    "fieldSelector": _selector,
    "labelSelector": _selector,
}


def charge(function: str, overload: str) -> Charge | None:
    """How a call is charged; None is one unit, whatever its arguments."""
    found = _BY_FUNCTION.get(function) or _BY_OVERLOAD.get(overload)
    if found is None and overload.endswith("_sort"):
        return _self_compared(0)
    if found is None and overload.endswith("_sortByAssociatedKeys"):
        return _self_compared(1)
    return found

"""What calls can cost at worst, and how large their results can be.

The numbers are Kubernetes': they decide which rules a custom resource may have, so they must be the same.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final, TypeAlias

from trimtab.apiserver.cel.bounds import UNLIMITED, Bounds, fixed
from trimtab.apiserver.cel.runtimecosts import CHECK, NEW_LIST, NEW_STRUCT, REGEX_LENGTH, TRAVERSAL
from trimtab.apiserver.cel.syntax import Call, Expr, Literal
from trimtab.apiserver.cel.values import Uint

if TYPE_CHECKING:
    from typing import Protocol

    class Sizes(Protocol):
        """Who knows how large values can be."""

        def size(self, node: Expr) -> Bounds:
            """Of the value itself."""
            ...

        def element_size(self, node: Expr) -> Bounds:
            """Of its elements."""
            ...


Answer: TypeAlias = tuple[Bounds, Bounds | None]
"""A cost, and the size of the result where it is known."""

_ONE: Final = fixed(1)
_NAME_PATTERN: Final = 128
_NET_BYTES: Final = Bounds(4, 16)
_LARGEST_FORMAT: Final = 64

_ACCESSORS: Final = frozenset(
    [
        "serviceAccount",
        "path",
        "group",
        "resource",
        "subresource",
        "namespace",
        "name",
        "allowed",
        "reason",
        "error",
        "errored",
        "masked",
        "prefixLength",
        "family",
        "isUnspecified",
        "isLoopback",
        "isLinkLocalMulticast",
        "isLinkLocalUnicast",
        "isGlobalUnicast",
        "format.named",
        "sign",
        "asInteger",
        "isInteger",
        "asApproximateFloat",
        "isGreaterThan",
        "isLessThan",
        "compareTo",
        "add",
        "sub",
        "major",
        "minor",
        "patch",
        "getScheme",
        "getHostname",
        "getHost",
        "getPort",
        "getEscapedPath",
        "getQuery",
    ]
)
_PARSERS: Final = frozenset({"cidr", "isIP", "isCIDR", "quantity", "isQuantity", "semver", "isSemver"})
_SCANS: Final = frozenset({"isSorted", "sum", "max", "min", "indexOf", "lastIndexOf"})
_COPIES: Final = frozenset({"lowerAscii", "upperAscii", "substring", "trim"})


class Arguments:
    """The sizes of what a call is given."""

    def __init__(self, sizes: Sizes, node: Call) -> None:
        self._sizes = sizes
        self.node = node
        self.target = node.target
        self.args = node.args

    def of_target(self) -> Bounds:
        """The size of what it is called on."""
        assert self.node.target is not None
        return self._sizes.size(self.node.target)

    def of(self, index: int) -> Bounds:
        """The size of an argument."""
        return self._sizes.size(self.args[index])

    def of_elements(self) -> Bounds:
        """The size of the elements of what it is called on."""
        assert self.node.target is not None
        return self._sizes.element_size(self.node.target)


def kubernetes(function: str, overload: str, sized: Arguments) -> Answer | None:
    """Calls that Kubernetes has an estimate of its own for."""
    if function in _ACCESSORS:
        return _ONE, None
    if function in _PARSERS and sized.args:
        return sized.of(0).scaled(TRAVERSAL), None
    if function in _SCANS and sized.target is not None:
        return _scan(sized), None
    if function in _COPIES and sized.target is not None:
        return sized.of_target().scaled(TRAVERSAL), sized.of_target()
    special = _SPECIAL.get(function)
    return special(overload, sized) if special else None


def _scan(sized: Arguments) -> Bounds:
    assert sized.target is not None
    assert sized.target.type is not None
    if not sized.target.type.params:
        return sized.of_target().scaled(TRAVERSAL)
    each = _ONE
    if sized.target.type.params[0].kind in ("string", "bytes"):
        each = each + sized.of_elements().scaled(TRAVERSAL)
    return sized.of_target().times(each)


def _check(_overload: str, _sized: Arguments) -> Answer:
    return fixed(CHECK), None


def _selector(_overload: str, sized: Arguments) -> Answer:
    length = sized.of(0)
    requirements = length.scaled(0.5).scaled(float(NEW_LIST + NEW_STRUCT))
    return fixed(NEW_LIST) + length.scaled(TRAVERSAL) + requirements, None


def _url(_overload: str, sized: Arguments) -> Answer:
    return sized.of(0).scaled(TRAVERSAL), sized.of(0)


def _replace(_overload: str, sized: Arguments) -> Answer:
    text, old, new = sized.of_target(), sized.of(0), sized.of(1)
    if old.least == 0:  # nothing is found around every character
        most, kept_most = min(text.most + 1, UNLIMITED), text.most
    elif new.most <= old.least:
        most, kept_most = 0, text.most
    else:
        most, kept_most = math.ceil(float(text.most) / float(old.least)), 0
    if old.most == 0:
        least, kept_least = min(text.least + 1, UNLIMITED), text.least
    elif old.most <= new.least:
        least, kept_least = 0, text.least
    else:
        least, kept_least = math.ceil(float(text.least) / float(old.most)), 0
    size = Bounds(least, most).times(new) + Bounds(kept_least, kept_most)
    return text.scaled(2 * TRAVERSAL), size


def _split(_overload: str, sized: Arguments) -> Answer:
    text = sized.of_target()
    most = text.most
    if len(sized.args) > 1 and (limit := _int(sized.args[1])) is not None:
        most = limit % (UNLIMITED + 1)
    return text.scaled(2 * TRAVERSAL), Bounds(0, most)


def _join(_overload: str, sized: Arguments) -> Answer:
    count = sized.of_target()
    size = count.times(sized.of_elements())
    if sized.args:
        separators = Bounds(max(count.least - 1, 0), max(count.most - 1, 0))
        size = size + sized.of(0).times(separators)
    return size.scaled(TRAVERSAL), size


def _find(_overload: str, sized: Arguments) -> Answer:
    text = (sized.of_target() + _ONE).scaled(TRAVERSAL)
    return text.times(sized.of(0).scaled(REGEX_LENGTH)), Bounds(0, sized.of_target().most)


def _ip(overload: str, sized: Arguments) -> Answer:
    return (_ONE if overload == "cidr_ip" else sized.of(0).scaled(TRAVERSAL)), None


def _canonical(_overload: str, sized: Arguments) -> Answer:
    return sized.of(0).scaled(2 * TRAVERSAL), None


def _contains(overload: str, sized: Arguments) -> Answer:
    cost = (_NET_BYTES + _NET_BYTES).scaled(TRAVERSAL)
    if "contains_cidr" in overload:
        cost = cost + _NET_BYTES.scaled(TRAVERSAL) + _ONE
    if overload.endswith("_string"):
        cost = cost + sized.of(0).scaled(TRAVERSAL)
    return cost, None


def _validate(_overload: str, sized: Arguments) -> Answer:
    return sized.of(0).scaled(TRAVERSAL).scaled(_NAME_PATTERN * REGEX_LENGTH), None


def _equal(_overload: str, sized: Arguments) -> Answer | None:
    left, right = sized.args[0].type, sized.args[1].type
    if left is None or left != right:
        return None
    if left.name in ("net.IP", "net.CIDR"):
        return _ONE, None
    if left.kind == "struct" and left.name.startswith("kubernetes."):
        if left.name == "kubernetes.NamedFormat":
            return Bounds(1, _LARGEST_FORMAT).scaled(TRAVERSAL), None
        if left.name == "kubernetes.URL":
            size = sized.of(1)
            most = size.most if size.most != UNLIMITED else 1
            return Bounds(1, most).scaled(TRAVERSAL), None
        return _ONE, None
    return None


_SPECIAL: Final = {
    "check": _check,
    "fieldSelector": _selector,
    "labelSelector": _selector,
    "url": _url,
    "jsonpatch.escapeKey": _url,
    "replace": _replace,
    "split": _split,
    "join": _join,
    "find": _find,
    "findAll": _find,
    "ip": _ip,
    "ip.isCanonical": _canonical,
    "containsIP": _contains,
    "containsCIDR": _contains,
    "validate": _validate,
    "_==_": _equal,
}


def extension(overload: str, sized: Arguments) -> Answer | None:
    """Calls of CEL's extensions for lists and sets."""
    if overload.startswith("list_sets_"):
        factor = 2 if "equivalent" in overload else 1
        return sized.of(0).times(sized.of(1)).scaled(factor) + _ONE, None
    if overload == "list_slice":
        size = sized.of_target()
        start, end = _natural(sized.args[0], 0), _natural(sized.args[1], size.most)
        return _new_list(1, fixed((end - start) % (UNLIMITED + 1)))
    if overload == "lists_range":
        return _new_list(1, fixed(_natural(sized.args[0], UNLIMITED)))
    if overload == "list_reverse":
        return _new_list(1, sized.of_target())
    if overload in ("list_flatten", "list_flatten_int"):
        return _new_list(_natural(sized.args[0], UNLIMITED) if sized.args else 1, sized.of_target())
    if overload == "list_distinct":
        return _new_list(2, sized.of_target().times(sized.of_target()))
    if overload.endswith(("_sort", "_sortByAssociatedKeys")):
        size = sized.of_target() if overload.endswith("_sort") else sized.of(0)
        text = overload.startswith(("list_string", "list_bytes"))
        return _new_list(2 + TRAVERSAL if text else 2, size.times(size))
    return None


def _new_list(factor: float, size: Bounds) -> Answer:
    return size.scaled(factor) + _ONE + fixed(NEW_LIST), size


def standard(overload: str, sized: Arguments) -> Answer:
    """All other calls."""
    match overload:
        case "string_format":
            return sized.of_target().scaled(TRAVERSAL), None
        case "string_to_bytes":
            size = sized.of(0)
            return size.scaled(TRAVERSAL), Bounds(size.least, min(size.most * 4, UNLIMITED))
        case "bytes_to_string":
            size = sized.of(0)
            return size.scaled(TRAVERSAL), Bounds(size.least // 4, size.most)
        case "strings_quote":
            size = sized.of(0)
            return size.scaled(TRAVERSAL), Bounds(size.least + 2, min(size.most * 2 + 2, UNLIMITED))
        case "starts_with_string" | "ends_with_string":
            return sized.of(0).scaled(TRAVERSAL), None
        case "in_list":
            return sized.of(1), None
        case "matches_string":
            text = (sized.of_target() + _ONE).scaled(TRAVERSAL)
            return text.times(sized.of(0).scaled(REGEX_LENGTH)), None
        case "contains_string":
            return sized.of_target().scaled(TRAVERSAL).times(sized.of(0).scaled(TRAVERSAL)), None
        case "equals" | "not_equals":
            return _comparison(sized), None
        case _ if overload.startswith(("less", "greater")) and overload.endswith(("_string", "_bytes")):
            return _comparison(sized), None
        case _:
            return _ONE, None


def _comparison(sized: Arguments) -> Bounds:
    most = min(sized.of(0).most, sized.of(1).most)
    return Bounds(1 if most > 0 else 0, most).scaled(TRAVERSAL)


def _int(node: Expr) -> int | None:
    if not isinstance(node, Literal) or isinstance(node.value, (bool, Uint)) or not isinstance(node.value, int):
        return None
    return node.value


def _natural(node: Expr, default: int) -> int:
    value = _int(node)
    return default if value is None else max(value, 0)

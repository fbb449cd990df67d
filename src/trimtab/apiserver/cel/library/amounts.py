"""Quantities, and versions of software."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any, Final

from trimtab.apiserver.cel import types as t
from trimtab.apiserver.cel.errors import EvaluationError
from trimtab.apiserver.cel.functions import Library
from trimtab.apiserver.cel.uris import go_quote
from trimtab.apiserver.cel.values import INT_MAX, INT_MIN
from trimtab.kube.invalid import InvalidValueError
from trimtab.kube.quantity import Quantity

QUANTITIES: Final = Library()
SEMVERS: Final = Library()

_ONE: Final = 10**9
_WRITTEN: Final = re.compile(r"[+-]?[0-9]*(?:\.([0-9]*))?([numkMGTPE]?|[KMGTPE]i|[eE][+-]?[0-9]+)")
_POWERS: Final = {"": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_NO_QUANTITY: Final = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"


@dataclass(frozen=True, slots=True)
class Amount:
    """A quantity as a value. One that was written with a fraction, or in parts of one, is not taken for an integer."""

    quantity: Quantity
    whole: bool = field(compare=False)
    type_name = "kubernetes.Quantity"


def _quantity(text: str) -> Amount:
    try:
        return Amount(Quantity(text), _written_whole(text))
    except InvalidValueError:
        raise EvaluationError(_NO_QUANTITY) from None


def _written_whole(text: str) -> bool:
    found = _WRITTEN.fullmatch(text)
    if found is None:
        return False
    fraction, suffix = found.groups()
    if suffix.endswith("i"):
        return not fraction
    power = int(suffix[1:]) if suffix[:1] in ("e", "E") and len(suffix) > 1 else _POWERS.get(suffix, -9)
    return power >= len(fraction or "")


def _is_quantity(text: str) -> bool:
    try:
        Quantity(text)
    except InvalidValueError:
        return False
    return True


def _is_integer(amount: Amount) -> bool:
    nano = amount.quantity.nano
    return amount.whole and nano % _ONE == 0 and INT_MIN <= nano // _ONE <= INT_MAX


def _as_integer(amount: Amount) -> int:
    if not _is_integer(amount):
        raise EvaluationError("cannot convert value to integer")
    return amount.quantity.nano // _ONE


def _order(a: Amount, b: Amount) -> int:
    return (a.quantity.nano > b.quantity.nano) - (a.quantity.nano < b.quantity.nano)


_Q = t.QUANTITY
QUANTITIES.function("quantity", "string_to_quantity", [t.STRING], _Q, _quantity)
QUANTITIES.function("isQuantity", "is_quantity_string", [t.STRING], t.BOOL, _is_quantity)
QUANTITIES.function("sign", "quantity_sign", [_Q], t.INT, lambda a: (a.quantity.nano > 0) - (a.quantity.nano < 0))
QUANTITIES.member("isGreaterThan", "quantity_is_greater_than", [_Q, _Q], t.BOOL, lambda a, b: _order(a, b) > 0)
QUANTITIES.member("isLessThan", "quantity_is_less_than", [_Q, _Q], t.BOOL, lambda a, b: _order(a, b) < 0)
QUANTITIES.member("compareTo", "quantity_compare_to", [_Q, _Q], t.INT, _order)
QUANTITIES.member("asApproximateFloat", "quantity_get_float", [_Q], t.DOUBLE, lambda a: float(a.quantity))
QUANTITIES.member("asInteger", "quantity_get_int", [_Q], t.INT, _as_integer)
QUANTITIES.member("isInteger", "quantity_is_integer", [_Q], t.BOOL, _is_integer)
QUANTITIES.member(
    "add", "quantity_add", [_Q, _Q], _Q, lambda a, b: Amount(a.quantity + b.quantity, a.whole and b.whole)
)
QUANTITIES.member("add", "quantity_add_int", [_Q, t.INT], _Q, lambda a, b: Amount(a.quantity + b, a.whole))
QUANTITIES.member(
    "sub", "quantity_sub", [_Q, _Q], _Q, lambda a, b: Amount(a.quantity - b.quantity, a.whole and b.whole)
)
QUANTITIES.member("sub", "quantity_sub_int", [_Q, t.INT], _Q, lambda a, b: Amount(a.quantity - b, a.whole))


@dataclass(frozen=True, slots=True, eq=False)
class Semver:
    """A semantic version; what it was built from takes no part in its order."""

    major: int
    minor: int
    patch: int
    pre: tuple[int | str, ...]
    build: tuple[str, ...]
    type_name = "kubernetes.Semver"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Semver) and order_versions(self, other) == 0

    __hash__ = None  # type: ignore[assignment] - it is never a key


_IDENTIFIER: Final = re.compile(r"[0-9A-Za-z-]+")
_LARGEST: Final = 2**64


def _number(text: str, what: str) -> int:
    if not (text.isascii() and text.isdigit()) and text:
        raise EvaluationError(f"Invalid character(s) found in {what} number {go_quote(text)}")
    if len(text) > 1 and text[0] == "0":
        raise EvaluationError(f"{what.capitalize()} number must not contain leading zeroes {go_quote(text)}")
    if not text:
        raise EvaluationError('strconv.ParseUint: parsing "": invalid syntax')
    if len(text) > 20 or int(text) >= _LARGEST:
        raise EvaluationError(f"strconv.ParseUint: parsing {go_quote(text)}: value out of range")
    return int(text)


def _pre(text: str) -> int | str:
    if not text:
        raise EvaluationError("Prerelease is empty")
    if text.isascii() and text.isdigit():
        if len(text) > 1 and text[0] == "0":
            raise EvaluationError(f"Numeric PreRelease version must not contain leading zeroes {go_quote(text)}")
        return int(text[:20])
    if not _IDENTIFIER.fullmatch(text):
        raise EvaluationError(f"Invalid character(s) found in prerelease {go_quote(text)}")
    return text


def _semver(text: str, normalize: bool = False) -> Semver:
    if normalize:
        text = _normalized(text)
    if not text:
        raise EvaluationError("Version string empty")
    parts = text.split(".", 2)
    if len(parts) != 3:
        raise EvaluationError("No Major.Minor.Patch elements found")
    major, minor = _number(parts[0], "major"), _number(parts[1], "minor")
    rest, plus, build = parts[2].partition("+")
    patch, minus, pre = rest.partition("-")
    number = _number(patch, "patch")
    before = tuple(_pre(part) for part in pre.split(".")) if minus else ()
    if plus:
        for part in build.split("."):
            if not part:
                raise EvaluationError("Build meta data is empty")
            if not _IDENTIFIER.fullmatch(part):
                raise EvaluationError(f"Invalid character(s) found in build meta data {go_quote(part)}")
    return Semver(major, minor, number, before, tuple(build.split(".")) if plus else ())


def _normalized(text: str) -> str:
    parts = text.removeprefix("v").split(".", 2)
    for n, part in enumerate(parts):
        if len(part) > 1:
            stripped = part.lstrip("0")
            parts[n] = stripped if stripped[:1].isdigit() else "0" + stripped
    if len(parts) < 3:
        if "+" in parts[-1] or "-" in parts[-1]:
            raise EvaluationError("short version cannot contain PreRelease/Build meta data")
        parts += ["0"] * (3 - len(parts))
    return ".".join(parts)


def order_versions(a: Semver, b: Semver) -> int:
    """Which of two versions is the later one."""
    left, right = (a.major, a.minor, a.patch), (b.major, b.minor, b.patch)
    if left != right:
        return 1 if left > right else -1
    if not a.pre or not b.pre:
        return bool(b.pre) - bool(a.pre)
    for x, y in zip(a.pre, b.pre, strict=False):
        if x != y:
            return _order_pre(x, y)
    return (len(a.pre) > len(b.pre)) - (len(a.pre) < len(b.pre))


def _order_pre(x: Any, y: Any) -> int:
    if isinstance(x, int) != isinstance(y, int):
        return -1 if isinstance(x, int) else 1
    return 1 if x > y else -1


def _is_semver(text: str, normalize: bool = False) -> bool:
    try:
        _semver(text, normalize)
    except EvaluationError:
        return False
    return True


_V = t.SEMVER
SEMVERS.function("semver", "string_to_semver", [t.STRING], _V, _semver)
SEMVERS.function("semver", "string_bool_to_semver", [t.STRING, t.BOOL], _V, _semver)
SEMVERS.function("isSemver", "is_semver_string", [t.STRING], t.BOOL, _is_semver)
SEMVERS.function("isSemver", "is_semver_string_bool", [t.STRING, t.BOOL], t.BOOL, _is_semver)
SEMVERS.member("isGreaterThan", "semver_is_greater_than", [_V, _V], t.BOOL, lambda a, b: order_versions(a, b) > 0)
SEMVERS.member("isLessThan", "semver_is_less_than", [_V, _V], t.BOOL, lambda a, b: order_versions(a, b) < 0)
SEMVERS.member("compareTo", "semver_compare_to", [_V, _V], t.INT, order_versions)
SEMVERS.member("major", "semver_major", [_V], t.INT, lambda version: version.major)
SEMVERS.member("minor", "semver_minor", [_V], t.INT, lambda version: version.minor)
SEMVERS.member("patch", "semver_patch", [_V], t.INT, lambda version: version.patch)

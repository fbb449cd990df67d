"""Quantities: exact amounts of a resource, such as `500m` of CPU or `128Mi` of memory.

Typed objects keep a quantity as it is written on the wire; `Quantity` reads it to compare and to compute.
An amount is a whole number of billionths, the finest that Kubernetes knows: nothing is lost to binary fractions.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction
from functools import total_ordering
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from trimtab.kube.invalid import InvalidValueError

if TYPE_CHECKING:
    from decimal import Decimal

    from trimtab.kube.hints import QuantityLike

Notation: TypeAlias = Literal["DecimalSI", "BinarySI", "DecimalExponent"]
"""How a quantity is written: `5M`, `5Mi` or `5e6`."""

_ONE: Final = 10**9
_MILLI: Final = 10**6
_set: Final = object.__setattr__  # how a frozen class fills its fields

_DECIMAL_SUFFIXES: Final = ("n", "u", "m", "", "k", "M", "G", "T", "P", "E")
_POWER_OF_ONE: Final = _DECIMAL_SUFFIXES.index("")
_BINARY_SUFFIXES: Final = ("", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei")
_UNITS: Final[dict[str, tuple[int, Notation]]] = {
    **{suffix: (1024**power * _ONE, "BinarySI") for power, suffix in enumerate(_BINARY_SUFFIXES)},
    **{suffix: (1000**power, "DecimalSI") for power, suffix in enumerate(_DECIMAL_SUFFIXES)},
}
_LARGEST_BINARY: Final = (2**63 - 1) * _ONE  # what Kubernetes caps quantities with a binary suffix at

# A few characters must not make a number of gigabytes. Kubernetes writes none this long.
_LONGEST: Final = 100
_LARGEST_EXPONENT: Final = 100

_WRITTEN: Final = re.compile(r"([+-]?)(?=\.?[0-9])([0-9]*+)\.?([0-9]*)([numkMGTPE]?|[KMGTPE]i|[eE][+-]?[0-9]+)")


@total_ordering
@dataclass(init=False, eq=False, repr=False, frozen=True, slots=True)
class Quantity:
    """An exact, immutable amount: `Quantity("1.5Gi")`, `Quantity("500m")`, `Quantity(2)`.

    It adds, subtracts, scales, compares and hashes by its value, whatever the suffix. `str()` is the canonical form
    of Kubernetes, in the notation it was read in. What is finer than a billionth is rounded away from zero.
    """

    nano: int
    """The exact amount, in billionths."""
    notation: Notation
    """How it is written; sums and products keep that of their first operand that is not zero."""

    def __init__(self, value: QuantityLike | Quantity, *, notation: Notation | None = None) -> None:
        if isinstance(value, str):
            nano, own_notation = _parse(value)
        elif isinstance(value, Quantity):
            nano, own_notation = value.nano, value.notation
        elif isinstance(value, int) and not isinstance(value, bool):
            nano, own_notation = value * _ONE, "DecimalSI"
        else:
            nano, own_notation = _parse(repr(value))
        _set(self, "nano", nano)
        _set(self, "notation", notation or own_notation)

    @classmethod
    def from_nano(cls, nano: int, notation: Notation = "DecimalSI") -> Quantity:
        """So many billionths."""
        quantity = object.__new__(cls)
        _set(quantity, "nano", nano)
        _set(quantity, "notation", notation)
        return quantity

    def value(self) -> int:
        """The amount in whole units, rounded up (away from zero): 2 for `1500m`."""
        return _round_up(self.nano, _ONE)

    def milli(self) -> int:
        """The amount in thousandths, rounded up (away from zero): 1500 for `1.5`."""
        return _round_up(self.nano, _MILLI)

    def __int__(self) -> int:
        return int(Fraction(self.nano, _ONE))

    def __float__(self) -> float:
        return self.nano / _ONE

    def __bool__(self) -> bool:
        return self.nano != 0

    def __str__(self) -> str:
        if not self.nano:
            return "0"
        # Small or broken amounts would have to be rounded to wear a binary suffix.
        if self.notation == "BinarySI" and abs(self.nano) >= 1024 * _ONE and self.nano % _ONE == 0:
            number, power = _reduce(self.nano // _ONE, 1024, len(_BINARY_SUFFIXES) - 1)
            return f"{number}{_BINARY_SUFFIXES[power]}"
        if self.notation == "DecimalExponent":
            number, power = _reduce(self.nano, 1000, _LARGEST_EXPONENT)
            return f"{number}e{power * 3 - 9}" if power != _POWER_OF_ONE else str(number)
        number, power = _reduce(self.nano, 1000, len(_DECIMAL_SUFFIXES) - 1)
        return f"{number}{_DECIMAL_SUFFIXES[power]}"

    def __repr__(self) -> str:
        return f"Quantity({str(self)!r})"

    def __hash__(self) -> int:
        whole, rest = divmod(self.nano, _ONE)
        return hash(self.nano if rest else whole)  # a whole amount equals an int, so it hashes like one

    def __eq__(self, other: object) -> bool:
        operand = _operand(other)
        return NotImplemented if operand is None else self.nano == operand.nano

    def __lt__(self, other: Quantity | int) -> bool:
        operand = _operand(other)
        return NotImplemented if operand is None else self.nano < operand.nano

    def __add__(self, other: Quantity | int) -> Quantity:
        operand = _operand(other)
        if operand is None:
            return NotImplemented
        return Quantity.from_nano(self.nano + operand.nano, self.notation if self.nano else operand.notation)

    def __radd__(self, other: int) -> Quantity:
        return self + other  # so that sum() works, which starts at 0

    def __sub__(self, other: Quantity | int) -> Quantity:
        operand = _operand(other)
        return NotImplemented if operand is None else self + -operand

    def __rsub__(self, other: int) -> Quantity:
        return -self + other

    def __mul__(self, factor: float | Decimal | Fraction) -> Quantity:
        # A float is taken for the decimal that it prints as: 0.8 is meant as eight tenths.
        exact = Fraction(str(factor)) if isinstance(factor, float) else Fraction(factor)
        return Quantity.from_nano(_round_up(self.nano * exact.numerator, exact.denominator), self.notation)

    __rmul__ = __mul__

    def __neg__(self) -> Quantity:
        return Quantity.from_nano(-self.nano, self.notation)

    def __abs__(self) -> Quantity:
        return Quantity.from_nano(abs(self.nano), self.notation)


def _operand(other: object) -> Quantity | None:
    if isinstance(other, Quantity):
        return other
    return Quantity(other) if isinstance(other, int) else None


def _parse(text: str) -> tuple[int, Notation]:
    written = _WRITTEN.fullmatch(text) if len(text) <= _LONGEST else None
    if written is None:
        raise InvalidValueError(
            f"{text[:_LONGEST]!r} is not a quantity: write a number and a suffix (n u m k M G T P E Ki Mi Gi Ti Pi Ei) "
            "or exponent, such as 500m, 1.5Gi or 2e3"
        )
    sign, whole, fraction, suffix = written.groups()
    unit = _UNITS.get(suffix)
    per_unit, notation = unit or (1, "DecimalExponent")
    nano = int(whole + fraction) * per_unit
    decimals = len(fraction) if unit else len(fraction) - 9 - _exponent(text, suffix)
    if decimals > 0:
        nano = _round_up(nano, 10**decimals)
    elif decimals < 0:
        nano *= 10**-decimals
    if notation == "BinarySI":
        nano = min(nano, _LARGEST_BINARY)
        if 0 < nano < _ONE:
            notation = "DecimalSI"  # no binary suffix can write a part of one
    return (-nano if sign == "-" else nano), notation


def _exponent(text: str, suffix: str) -> int:
    exponent = int(suffix[1:])
    if exponent > _LARGEST_EXPONENT:
        raise InvalidValueError(f"quantity {text!r} is too large: write an exponent of at most {_LARGEST_EXPONENT}")
    return max(exponent, -2 * _LONGEST)  # nothing that fits into a text is left of a billionth below that


def _round_up(amount: int, divisor: int) -> int:
    """Divide, away from zero: who asks for a little of something gets some of it."""
    return amount // divisor if amount < 0 else -(-amount // divisor)


def _reduce(amount: int, base: int, most: int) -> tuple[int, int]:
    """Take out the factors of `base`, at most so many: what is left, and how many they were."""
    times = 0
    while times < most and amount % base == 0:
        amount //= base
        times += 1
    return amount, times

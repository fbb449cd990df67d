"""How Go writes floating point numbers."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Final

_EXPONENT_FROM: Final = 6


def shortest(number: float) -> str:
    """As few digits as tell the number from its neighbours; with an exponent from 10^6 on, or below 10^-4."""
    if math.isnan(number):
        return "NaN"
    if math.isinf(number):
        return "+Inf" if number > 0 else "-Inf"
    sign, digits, exponent = Decimal(repr(number)).normalize().as_tuple()
    assert isinstance(exponent, int)
    if not any(digits):
        return "-0" if math.copysign(1, number) < 0 else "0"
    text = "".join(str(d) for d in digits)
    magnitude = len(text) + exponent - 1
    prefix = "-" if sign else ""
    if magnitude < -4 or magnitude >= _EXPONENT_FROM:
        point = "." if len(text) > 1 else ""
        return f"{prefix}{text[0]}{point}{text[1:]}e{'-' if magnitude < 0 else '+'}{abs(magnitude):02d}"
    return prefix + plain(text, exponent)


def plain(digits: str, exponent: int) -> str:
    """Digits and a power of ten as an ordinary number."""
    if exponent >= 0:
        return digits + "0" * exponent
    whole = digits[:exponent] or "0"
    return f"{whole}.{digits[exponent:].rjust(-exponent, '0')}"


def decimal(number: float) -> str:
    """As few digits as needed, and never an exponent."""
    if math.isnan(number) or math.isinf(number):
        return shortest(number)
    sign, digits, exponent = Decimal(repr(number)).normalize().as_tuple()
    assert isinstance(exponent, int)
    text = "".join(str(d) for d in digits)
    if not any(digits):
        return "-0" if math.copysign(1, number) < 0 else "0"
    return ("-" if sign else "") + plain(text, exponent)

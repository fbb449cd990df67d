"""A least and a most, of sizes and of costs; arithmetic stops at what 64 bits hold."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

UNLIMITED: Final = 2**64 - 1


@dataclass(frozen=True, slots=True)
class Bounds:
    """Somewhere between the two."""

    least: int
    most: int

    def __add__(self, other: Bounds) -> Bounds:
        return Bounds(min(self.least + other.least, UNLIMITED), min(self.most + other.most, UNLIMITED))

    def times(self, other: Bounds) -> Bounds:
        """The product."""
        return Bounds(min(self.least * other.least, UNLIMITED), min(self.most * other.most, UNLIMITED))

    def scaled(self, factor: float) -> Bounds:
        """The product with a number, rounded up."""
        return Bounds(_scale(self.least, factor), _scale(self.most, factor))

    def union(self, other: Bounds) -> Bounds:
        """What covers both."""
        return Bounds(min(self.least, other.least), max(self.most, other.most))


def fixed(amount: int) -> Bounds:
    """Exactly so much."""
    return Bounds(amount, amount)


def _scale(amount: int, factor: float) -> int:
    product = float(amount) * factor
    return UNLIMITED if product >= 2.0**64 else math.ceil(product)


CONSTANT: Final = fixed(0)
UNKNOWN: Final = Bounds(0, UNLIMITED)

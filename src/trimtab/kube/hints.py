"""What the hints of fields say besides a type of Python's: Kubernetes' scalars, and how a field is merged."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Final, TypeAlias


@dataclass(frozen=True, slots=True)
class Default:
    """The value that the API server gives a field that is absent.

    Not the field's Python default: what somebody set is sent even where it equals this.
    """

    value: str | int | bool


class ListMap:
    """A list whose items are known by the values of `keys`: appliers share it item by item."""

    __slots__ = ("keys",)

    def __init__(self, *keys: str) -> None:
        self.keys: Final = keys

    def __repr__(self) -> str:
        return f"ListMap({', '.join(map(repr, self.keys))})"


@dataclass(frozen=True, slots=True)
class Topology:
    """How appliers share a field, where that is not the rule for its type (lists whole, maps and objects by key)."""

    name: str


SET: Final = Topology("set")
"""A list of distinct scalars that appliers share value by value."""

ATOMIC: Final = Topology("atomic")
"""A map or object that one applier owns whole."""


@dataclass(frozen=True, slots=True)
class Strategic:
    """What a strategic merge patch does with a field: its strategy, and the key that tells items apart."""

    strategy: str
    key: str | None = None


@dataclass(frozen=True, slots=True)
class _Micro:
    """Marks a time whose text has exactly six digits after the seconds."""


MICRO: Final = _Micro()

Time: TypeAlias = datetime
MicroTime: TypeAlias = Annotated[datetime, MICRO]
QuantityLike: TypeAlias = str | int | float
"""A quantity as it is written: `"500m"`, `"1Gi"`, `2`. `trimtab.kube.Quantity` computes with it."""

IntOrString: TypeAlias = int | str

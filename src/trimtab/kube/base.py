"""The two bases of every typed object: `Struct` for its parts, `Object` for what has a kind of its own."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, ClassVar, Final, TypeAlias, dataclass_transform

import msgspec


@dataclass_transform(kw_only_default=True, field_specifiers=(msgspec.field,))
class StructMeta(msgspec.StructMeta):
    """Makes every Struct keyword-only: msgspec asks for that in each class anew."""

    def __new__(  # noqa: PYI034  # Self has no meaning in a metaclass
        cls, name: str, bases: tuple[type, ...], namespace: dict[str, Any], *, kw_only: bool = True, **options: Any
    ) -> StructMeta:
        """Make the class."""
        return super().__new__(cls, name, bases, namespace, kw_only=kw_only, **options)


class Struct(
    msgspec.Struct, metaclass=StructMeta, omit_defaults=True, repr_omit_defaults=True, rename="camel", gc=False
):
    """A part of an object: fields with Python names, sent under their JSON names, and only where they were set.

    An absent list, map or nested value reads as an empty one of its own, so that
    `for c in pod.status.conditions` needs no guard; an absent scalar reads as None.
    Not tracked by the cyclic collector: objects of Kubernetes are trees.
    """


@dataclass(frozen=True, slots=True)
class Resource:
    """Where a kind lives in the API: what discovery says of it."""

    group: str
    version: str
    kind: str
    plural: str
    namespaced: bool = True
    subresources: tuple[str, ...] = ()

    @property
    def api_version(self) -> str:
        """`apps/v1`, or `v1` for the core group."""
        return f"{self.group}/{self.version}" if self.group else self.version

    def __str__(self) -> str:
        """`deployments.apps`, as kubectl and the API server's messages name it."""
        return f"{self.plural}.{self.group}" if self.group else self.plural


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
class Patch:
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


class ResourceClass:
    """What typed kinds and `Dynamic` have in common: the class knows where its objects live."""

    __slots__ = ()
    resource: ClassVar[Resource]

    @property
    def api_version(self) -> str:
        """`apps/v1`, or `v1` for the core group."""
        return self.resource.api_version

    @property
    def kind(self) -> str:
        """`Deployment`."""
        return self.resource.kind

"""Types of expressions, and how they are written in messages."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

Kind: TypeAlias = Literal[
    "bool", "int", "uint", "double", "string", "bytes", "null", "duration", "timestamp", "dyn", "error", "type", "list",
    "map", "struct", "opaque", "param",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Type:
    """A type; lists, maps, types and opaque types have parameters."""

    kind: Kind
    name: str
    params: tuple[Type, ...] = ()

    def __str__(self) -> str:
        if self.kind == "null":
            return "null"
        if self.kind in ("duration", "timestamp"):
            return self.kind
        if not self.params:
            return self.name
        return f"{self.name}({', '.join(str(p) for p in self.params)})"

    @property
    def declared(self) -> str:
        """By its full name, as it stands where it is told what an expression evaluates to."""
        inside = ", ".join(each.declared for each in self.params)
        return f"{self.name}({inside})" if inside else self.name


BOOL: Final = Type("bool", "bool")
INT: Final = Type("int", "int")
UINT: Final = Type("uint", "uint")
DOUBLE: Final = Type("double", "double")
STRING: Final = Type("string", "string")
BYTES: Final = Type("bytes", "bytes")
NULL: Final = Type("null", "null_type")
DURATION: Final = Type("duration", "google.protobuf.Duration")
TIMESTAMP: Final = Type("timestamp", "google.protobuf.Timestamp")
DYN: Final = Type("dyn", "dyn")
ERROR: Final = Type("error", "!error!")
TYPE: Final = Type("type", "type")

URL: Final = Type("struct", "kubernetes.URL")
QUANTITY: Final = Type("struct", "kubernetes.Quantity")
SEMVER: Final = Type("struct", "kubernetes.Semver")
FORMAT: Final = Type("struct", "kubernetes.NamedFormat")
IP: Final = Type("opaque", "net.IP")
CIDR: Final = Type("opaque", "net.CIDR")

SCALARS: Final = frozenset({"bool", "double", "duration", "int", "timestamp", "uint"})


def list_of(element: Type) -> Type:
    """A list of one type of elements."""
    return Type("list", "list", (element,))


def map_of(key: Type, value: Type) -> Type:
    """A map."""
    return Type("map", "map", (key, value))


def optional_of(value: Type) -> Type:
    """A value that may be missing."""
    return Type("opaque", "optional_type", (value,))


def type_of(instance: Type) -> Type:
    """The type of a type."""
    return Type("type", "type", (instance,))


def struct(name: str) -> Type:
    """A type with declared fields."""
    return Type("struct", name)


def param(name: str) -> Type:
    """A type that is found out while checking."""
    return Type("param", name)


def unwrap_optional(t: Type) -> tuple[Type, bool]:
    """What an optional holds, and whether it was one."""
    if t.kind == "opaque" and t.name == "optional_type":
        return t.params[0], True
    return t, False

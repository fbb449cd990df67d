"""`Schema`: a typed tree of what may be in an object, out of OpenAPI; each node is made when it is first looked at.

Built-in kinds and custom resources have the same: what a node says of merging follows the same rules as in Kubernetes
(an object without properties is free-form, a list without a type is atomic, and so on).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import msgspec

from trimtab.apiserver.facts.fields import dropped_zeros, kept_empties, shown_nothings, shown_nulls

Json = dict[str, Any]

Resolve = Callable[[str], Json]
"""From the name of a definition to what it says."""

# Definitions that stand for a value of any kind, whatever their schema says.
_ANY_SCALAR = "io.k8s.apimachinery.pkg.api.resource.Quantity"
_ATOMIC = "io.k8s.apimachinery.pkg.runtime.RawExtension"

TIMES = frozenset({"io.k8s.apimachinery.pkg.apis.meta.v1.Time", "io.k8s.apimachinery.pkg.apis.meta.v1.MicroTime"})
"""The definitions of points in time, which are null where they are not set."""

_SCALARS = {"integer": "numeric", "number": "numeric", "boolean": "boolean"}


def _reference(json: Json) -> str:
    """The definition that a schema points to, or ""."""
    ref = json.get("$ref")
    if ref is None:
        among = json.get("allOf", ())
        ref = among[0].get("$ref", "") if len(among) == 1 else ""
    return ref.rpartition("/")[2]


class Schema:
    """A node.

    A value may be one of several things: a scalar where `scalar` is not "", a map or struct where `is_map`, a list
    where `is_list`. Most nodes are one of the three; those that OpenAPI gives no type are all.
    """

    __slots__ = (
        "_resolve",
        "_unknown",
        "atomic_list",
        "atomic_map",
        "default",
        "enum",
        "fields",
        "format",
        "is_list",
        "is_map",
        "items",
        "json",
        "keys",
        "list_type",
        "merge_key",
        "name",
        "nullable",
        "preserve_unknown",
        "required",
        "scalar",
        "strategies",
        "type",
        "values",
        "zero",
    )

    name: str
    """The definition that it is, such as `io.k8s.api.core.v1.PodSpec`, or ""."""
    json: Json
    """What OpenAPI says, where it is used, before that of the definition that it refers to."""
    type: str
    """`object`, `array`, `string`, `integer`, `number`, `boolean`, or "" for anything."""
    format: str
    """Of a scalar: `int32`, `byte`, `date-time`, `int-or-string`, or ""."""
    nullable: bool
    default: Any
    """The default where it is used, or UNSET. `{}` is how Kubernetes marks a struct that is always there."""
    enum: tuple[Any, ...]
    required: frozenset[str]
    preserve_unknown: bool
    """Unknown fields are kept, here and in what is nested here."""

    scalar: str
    """`string`, `numeric`, `boolean`, `untyped` for any scalar, or "" where no scalar may be."""
    is_map: bool
    fields: Mapping[str, Schema]
    """The fields that are declared."""
    values: Schema | None
    """What any other key holds, or None where there may be no other."""
    atomic_map: bool
    """Whoever sets one key owns all."""

    zero: Json
    """Of a struct: what is there when nothing was set. Leave it as it is: others read it too."""

    is_list: bool
    items: Schema
    list_type: str
    """`atomic`, `set`, `map`, or "" where nothing is said."""
    keys: tuple[str, ...]
    """The keys of a list of type `map`; () for a set."""
    atomic_list: bool
    """Whoever sets one item owns all. One that is neither atomic nor has keys is a set."""

    strategies: tuple[str, ...]
    """How a strategic merge patch treats it: `merge`, `replace`, `retainKeys`."""
    merge_key: str
    """What tells the items of a list from each other in a strategic merge patch."""

    def __init__(self, json: Json, resolve: Resolve, *, preserve_unknown: bool = False) -> None:
        name = _reference(json)
        there = resolve(name) if name else {}
        self.json = json
        self.name = name
        self._resolve = resolve
        said = {**there, **json} if name else json
        self.type = said.get("type", "")
        self.format = said.get("format", "")
        self.default = json.get("default", msgspec.UNSET)
        # What a definition keeps is its own affair; what is written out in place inherits it.
        kept = bool(said.get("x-kubernetes-preserve-unknown-fields"))
        self.preserve_unknown = kept or (preserve_unknown and not name)
        self.strategies = tuple(filter(None, json.get("x-kubernetes-patch-strategy", "").split(",")))
        self.merge_key = json.get("x-kubernetes-patch-merge-key", "")
        self._shape(name, said)

    def _shape(self, name: str, said: Json) -> None:
        self.is_map = self.is_list = False
        self.scalar = ""
        self.atomic_map = said.get("x-kubernetes-map-type") == "atomic"
        self.list_type = said.get("x-kubernetes-list-type", "")
        self.keys = tuple(said.get("x-kubernetes-list-map-keys", ())) if self.list_type == "map" else ()
        self.atomic_list = self.list_type not in {"set", "map"}
        if not self.list_type and "merge" in self.strategies:
            self.atomic_list = False
            self.keys = (self.merge_key,) if self.merge_key else ()
        if name == _ANY_SCALAR:
            self.scalar = "untyped"
        elif name == _ATOMIC:
            self.scalar, self.is_map, self.is_list = "untyped", True, True
            self.atomic_map = self.atomic_list = True
        elif not self.type:
            self.scalar, self.is_map, self.is_list = "untyped", True, True
        elif self.type == "object":
            self.is_map = True
        elif self.type == "array":
            self.is_list = True
        elif self.type == "string":
            self.scalar = "string" if self.format in {"", "byte"} else "untyped"
        else:
            self.scalar = _SCALARS.get(self.type, "untyped")

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """Make what is made at first use: a slot that is not set yet comes here."""
            make = _LAZY.get(name)
            if make is None:
                raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
            value = make(self)
            setattr(self, name, value)
            return value

    def field(self, key: str) -> Schema | None:
        """What is below a key of a struct or map; None where no such key may be."""
        found = self.fields.get(key)
        return self.values if found is None else found

    def said(self) -> Json:
        """What is said where it is used, on top of what its definition says."""
        return {**self._resolve(self.name), **self.json} if self.name else self.json

    def child(self, json: Json) -> Schema:
        """A node below this one."""
        return Schema(json, self._resolve, preserve_unknown=self.preserve_unknown)

    def __repr__(self) -> str:
        return f"Schema({self.name or self.json})"


def _fields(node: Schema) -> Mapping[str, Schema]:
    properties: Json = node.said().get("properties") or {}
    return MappingProxyType({name: node.child(json) for name, json in properties.items()})


def _values(node: Schema) -> Schema | None:
    if node.name == _ATOMIC:
        return untyped()
    said = node.said()
    match said.get("additionalProperties"):
        case None:
            return deduced() if node.preserve_unknown or not said.get("properties") else None
        case True:
            return deduced()
        case False:
            return None
        case json:
            return node.child(json)


def _items(node: Schema) -> Schema:
    json: Json | None = node.said().get("items")
    return untyped() if node.name == _ATOMIC or json is None else node.child(json)


def _zero(node: Schema) -> Json:
    kept, shown = kept_empties(node.name), shown_nothings(node.name)
    kept |= shown_nulls(node.name) | (node.required - dropped_zeros(node.name))
    found: Json = {}
    for name, field in node.fields.items():
        if field.name in TIMES:
            if name in shown:
                found[name] = None
        elif field.name and field.default == {} and field.is_map:  # a struct; of a custom kind, what has a default
            found[name] = field.zero
        elif field.default is msgspec.UNSET:
            if not field.scalar and name in kept:
                found[name] = None
        elif node.name and not field.default:
            found[name] = field.default
    return found


# The two shapes of what nobody describes: in the one every map and list is atomic; in the other maps are granular.
_UNTYPED = {"x-kubernetes-map-type": "atomic", "additionalProperties": True}
_DEDUCED: Json = {"additionalProperties": True}
_NOTHING: Mapping[str, Schema] = MappingProxyType({})


def untyped() -> Schema:
    """A value that is set as a whole, whatever it is."""
    return _untyped


def deduced() -> Schema:
    """A value of which nothing is said: maps are granular, lists are atomic."""
    return _deduced


def _free(json: Json) -> Schema:
    node = Schema(json, lambda _: {})
    node.fields = _NOTHING
    node.required, node.enum = frozenset(), ()
    node.nullable = False
    return node


_untyped = _free(_UNTYPED)
_untyped.values = _untyped.items = _untyped
_deduced = _free(_DEDUCED)
_deduced.values = _deduced
_deduced.items = _untyped


_LAZY: dict[str, Callable[[Schema], Any]] = {
    "fields": _fields,
    "values": _values,
    "items": _items,
    "zero": _zero,
    "required": lambda node: frozenset(node.said().get("required", ())),
    "enum": lambda node: tuple(node.said().get("enum", ())),
    "nullable": lambda node: bool(node.said().get("nullable")),
}

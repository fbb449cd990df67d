"""From JSON to Kubernetes' protobuf: each definition becomes a function once, which is made of those of its fields.

What is not set is not written: for who reads it, that is the same as its zero.
"""

from __future__ import annotations

import base64
import struct
from collections.abc import Callable
from datetime import UTC, datetime
from functools import cache, lru_cache
from typing import Any, Final, TypeAlias

import msgspec

from trimtab.apiserver.facts import Schema, kubernetes
from trimtab.apiserver.facts.fields import fields_of
from trimtab.apiserver.protobuf.decoding import has_any_key
from trimtab.apiserver.protobuf.unlisted import named
from trimtab.kube.timestamps import parse_time

Json: TypeAlias = dict[str, Any]
Encode: TypeAlias = Callable[[Any], bytes]
Put: TypeAlias = Callable[[Any, list[bytes]], None]

_MAGIC: Final = b"k8s\0"
_META: Final = "io.k8s.apimachinery.pkg.apis.meta.v1"
_DEFINITIONS: Final = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1"
_OF_META: Final = frozenset({"Status", "APIGroup", "APIGroupList", "APIResourceList", "APIVersions", "DeleteOptions"})
_MESSAGES: Final = frozenset({(f"{_META}.APIResource", "verbs")})
"""Lists that have a type of their own in Go, and so are messages of their own."""
_VARINT, _FIXED64, _BYTES = 0, 1, 2
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_decode: Final = msgspec.json.Decoder(dict[str, Any]).decode


def to_protobuf(body: bytes) -> bytes:
    """What is told as JSON, in protobuf with its type before it."""
    obj = _decode(body)
    api_version, kind = obj.pop("apiVersion", "v1"), obj.pop("kind")
    raw = _struct(_definition(api_version, kind))(obj)
    about = _sized(_tag(1, _BYTES), api_version.encode()) + _sized(_tag(2, _BYTES), kind.encode())
    return b"".join((_MAGIC, _sized(b"\x0a", about), _sized(b"\x12", raw), b"\x1a\x00\x22\x00"))


def frame(kind: str, body: bytes) -> bytes:
    """One event of a watch, with its length before it."""
    event = _sized(b"\x0a", kind.encode()) + _sized(b"\x12", _sized(b"\x0a", to_protobuf(body)))
    return len(event).to_bytes(4, "big") + event


def known(schema: Schema | None) -> bool:
    """Whether there is a protobuf of what has this schema."""
    return schema is not None and bool(fields_of(schema.name))


@lru_cache(maxsize=1024)
def _definition(api_version: str, kind: str) -> str:
    group, _, version = api_version.rpartition("/")
    if group == "apidiscovery.k8s.io":
        return f"io.k8s.api.apidiscovery.v2.{kind}"
    if group == "meta.k8s.io" or (not group and kind in _OF_META):
        return f"{_META}.{kind}"
    schema = kubernetes().schema(group, version, kind)
    if schema is None or not known(schema):
        raise KeyError(f"{kind} of {api_version} has no protobuf")
    return schema.name


@cache
def _struct(definition: str) -> Encode:
    """The function that writes a struct."""
    return _encoder(definition, named(definition))


def _encoder(definition: str, schema: Schema) -> Encode:
    puts: dict[str, Put] = {}
    places: list[tuple[frozenset[str], Put]] = []

    def encode(obj: Json) -> bytes:
        if not puts and not places:  # at first use, since definitions may hold themselves
            _fill(definition, schema, puts, places)
        out: list[bytes] = []
        for name, value in obj.items():
            put = puts.get(name)
            if put is not None and value is not None:
                put(value, out)
        for names, put in places:
            within = {name: obj[name] for name in names if name in obj}
            if within:
                put(within, out)
        return b"".join(out)

    return encode


def _fill(definition: str, schema: Schema, puts: dict[str, Put], places: list[tuple[frozenset[str], Put]]) -> None:
    for field in fields_of(definition):
        if not field.number:
            continue
        if field.inline:  # its fields are among those of the struct around it
            inner = f"{definition.rpartition('.')[0]}.{field.name}"
            places.append((_names_in(inner), _message(field.number, _encoder(inner, schema))))
        elif (below := schema.fields.get(field.name)) is not None:
            listed = (definition, field.name) in _MESSAGES
            puts[field.name] = _message(field.number, _listed(below.items)) if listed else _field(field.number, below)


def _names_in(definition: str) -> frozenset[str]:
    """The fields of a struct in JSON, with those of structs that stand in place there."""
    package = definition.rpartition(".")[0]
    found: set[str] = set()
    for each in fields_of(definition):
        found |= _names_in(f"{package}.{each.name}") if each.inline else {each.name}
    return frozenset(found)


def _field(number: int, schema: Schema) -> Put:
    special = _SPECIAL.get(schema.name)
    if special is not None:
        return _message(number, special)
    if schema.type == "array":
        put_one = _field(number, schema.items)

        def put_all(value: Any, out: list[bytes]) -> None:
            for each in value:
                put_one(each, out)

        return put_all
    if schema.values is not None and has_any_key(schema):
        return _map(number, schema.values)
    match schema.type:
        case "string":
            return _message(number, base64.b64decode if schema.format == "byte" else str.encode)
        case "boolean":
            yes, no = _tag(number, _VARINT) + b"\x01", _tag(number, _VARINT) + b"\x00"
            return lambda value, out: out.append(yes if value else no)
        case "integer":
            tag = _tag(number, _VARINT)
            return lambda value, out: out.append(tag + _varint(value))
        case "number":
            double = _tag(number, _FIXED64)
            return lambda value, out: out.append(double + struct.pack("<d", value))
        case _:
            return _message(number, _struct(schema.name))


def _map(number: int, values: Schema) -> Put:
    tag = _tag(number, _BYTES)
    put_value = _message(2, _listed(values.items)) if values.type == "array" else _field(2, values)

    def put(value: Json, out: list[bytes]) -> None:
        for key, item in value.items():
            entry = [_sized(b"\x0a", key.encode())]
            put_value(item, entry)
            out.append(_sized(tag, b"".join(entry)))

    return put


def _listed(items: Schema) -> Encode:
    """A list where only one value may be: in a message of its own."""
    put_one = _field(1, items)

    def encode(value: list[Any]) -> bytes:
        out: list[bytes] = []
        for each in value:
            put_one(each, out)
        return b"".join(out)

    return encode


def _message(number: int, encode: Encode) -> Put:
    tag = _tag(number, _BYTES)

    def put(value: Any, out: list[bytes]) -> None:
        data = encode(value)
        out += (tag, _size(len(data)), data)

    return put


@lru_cache(maxsize=4096)
def _time(text: str) -> bytes:
    span = parse_time(text) - _EPOCH
    return b"\x08" + _varint(span.days * 86400 + span.seconds) + b"\x10" + _varint(span.microseconds * 1000)


def _quantity(value: Any) -> bytes:
    return _sized(b"\x0a", str(value).encode())


def _int_or_string(value: Any) -> bytes:
    if isinstance(value, str):
        return b"\x08\x01\x10\x00" + _sized(b"\x1a", value.encode())
    return b"\x08\x00\x10" + _varint(value) + b"\x1a\x00"


def _raw(value: Any) -> bytes:
    return _sized(b"\x0a", msgspec.json.encode(value))


def _schema_or_bool(value: Any) -> bytes:
    return b"\x08\x01" + _json_schema(b"\x12", value) if isinstance(value, dict) else b"\x08" + _varint(bool(value))


def _schema_or_schemas(value: Any) -> bytes:
    if isinstance(value, dict):
        return _json_schema(b"\x0a", value)
    return b"".join(_json_schema(b"\x12", each) for each in value)


def _schema_or_names(value: Any) -> bytes:
    if isinstance(value, dict):
        return _json_schema(b"\x0a", value)
    return b"".join(_sized(b"\x12", each.encode()) for each in value)


def _json_schema(tag: bytes, value: Any) -> bytes:
    return _sized(tag, _struct(f"{_DEFINITIONS}.JSONSchemaProps")(value))


_SPECIAL: Final[dict[str, Encode]] = {
    f"{_META}.Time": _time,
    f"{_META}.MicroTime": _time,
    f"{_META}.FieldsV1": _raw,
    "io.k8s.apimachinery.pkg.api.resource.Quantity": _quantity,
    "io.k8s.apimachinery.pkg.util.intstr.IntOrString": _int_or_string,
    "io.k8s.apimachinery.pkg.runtime.RawExtension": _raw,
    f"{_DEFINITIONS}.JSON": _raw,
    f"{_DEFINITIONS}.JSONSchemaPropsOrBool": _schema_or_bool,
    f"{_DEFINITIONS}.JSONSchemaPropsOrArray": _schema_or_schemas,
    f"{_DEFINITIONS}.JSONSchemaPropsOrStringArray": _schema_or_names,
}


def _tag(number: int, wire: int) -> bytes:
    return _varint(number << 3 | wire)


def _varint(value: int) -> bytes:
    if 0 <= value < 0x80:
        return _SMALL[value]
    value &= 2**64 - 1
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


_SMALL: Final = [bytes([value]) for value in range(0x80)]
_size: Final = lru_cache(maxsize=4096)(_varint)


def _sized(tag: bytes, data: bytes) -> bytes:
    return b"".join((tag, _size(len(data)), data))

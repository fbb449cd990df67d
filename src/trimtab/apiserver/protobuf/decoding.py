"""From Kubernetes' protobuf, as kubectl and Go's typed clients send objects, to JSON's dicts."""

from __future__ import annotations

import base64
import struct
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any, Final, TypeAlias

import msgspec

from trimtab.apiserver.facts import Facts, Schema, kubernetes
from trimtab.apiserver.facts.fields import fields_of
from trimtab.apiserver.reading import Unreadable
from trimtab.kube.timestamps import format_micro_time, format_time

Json: TypeAlias = dict[str, Any]

_MAGIC: Final = b"k8s\0"
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_DEEPEST: Final = 200
_META: Final = "io.k8s.apimachinery.pkg.apis.meta.v1"
_DEFINITIONS: Final = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1"


def read_protobuf(body: bytes, facts: Facts) -> Json:
    """The object in a body. Raises Unreadable."""
    if not body.startswith(_MAGIC):
        raise Unreadable("provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]")
    try:
        parts: dict[int, Any] = {number: value for number, _, value in _fields(body[len(_MAGIC) :])}
        about = {number: _text(value) for number, _, value in _fields(parts.get(1, b""))}
        api_version, kind = about.get(1, ""), about.get(2, "")
        schema = _schema(facts, api_version, kind)
        return {"apiVersion": api_version, "kind": kind, **_struct(schema, schema.name, parts.get(2, b""), 0)}
    except (ValueError, struct.error, TypeError, OverflowError) as error:
        raise Unreadable(f"proto: {error}") from error


def _schema(facts: Facts, api_version: str, kind: str) -> Schema:
    group, _, version = api_version.rpartition("/")
    schema = facts.named(f"{_META}.{kind}") if kind == "DeleteOptions" else facts.schema(group, version, kind)
    if schema is None or not fields_of(schema.name):
        raise Unreadable(f'no kind "{kind}" is registered for version "{api_version}" in protobuf')
    return schema


def has_any_key(schema: Schema) -> bool:
    """Whether it is a map: a struct without fields is none."""
    return "additionalProperties" in schema.said()


def _struct(schema: Schema, definition: str, data: bytes, depth: int) -> Json:
    if depth > _DEEPEST:
        raise ValueError("exceeded max depth")
    known = {each.number: each for each in fields_of(definition) if each.number}
    made: Json = {}
    for number, wire, value in _fields(data):
        field = known.get(number)
        if field is None:
            continue
        if field.inline:
            made |= _struct(schema, f"{definition.rpartition('.')[0]}.{field.name}", value, depth + 1)
            continue
        below = schema.fields.get(field.name)
        if below is None:
            continue
        if below.type == "array":
            made.setdefault(field.name, []).append(_value(below.items, wire, value, depth + 1))
        elif below.values is not None and has_any_key(below) and below.name not in _SPECIAL:
            key, item = _entry(below.values, value, depth + 1)
            made.setdefault(field.name, {})[key] = item
        else:
            read = _value(below, wire, value, depth + 1)
            if read or isinstance(read, dict) or not field.drops_zero:  # Go tells of zeros that nobody has set
                made[field.name] = read
    return made


def _value(schema: Schema, wire: int, value: Any, depth: int) -> Any:
    special = _SPECIAL.get(schema.name)
    if special is not None:
        return special(value)
    choice = _CHOICES.get(schema.name)
    if choice is not None:
        return choice(value, depth)
    match schema.type:
        case "boolean":
            return bool(value)
        case "integer":
            return _signed(value)
        case "number":
            return struct.unpack("<d", value)[0] if wire == _FIXED64 else value
        case "string":
            return base64.b64encode(value).decode() if schema.format == "byte" else _text(value)
        case _:
            return _struct(schema, schema.name, value, depth)


def _entry(values: Schema, data: bytes, depth: int) -> tuple[str, Any]:
    key, item = "", None
    for number, wire, value in _fields(data):
        if number == 1:
            key = _text(value)
        elif values.type == "array":
            item = [_value(values.items, w, v, depth) for _, w, v in _fields(value)]
        else:
            item = _value(values, wire, value, depth)
    return key, item if item is not None else ("" if values.type == "string" else None)


def _time(data: bytes) -> str | None:
    moment = _moment(data)
    return None if moment is None else format_time(moment)


def _micro_time(data: bytes) -> str | None:
    moment = _moment(data)
    return None if moment is None else format_micro_time(moment)


def _moment(data: bytes) -> datetime | None:
    parts = {number: value for number, _, value in _fields(data)}
    if not parts:
        return None
    seconds, nanos = _signed(parts.get(1, 0)), _signed(parts.get(2, 0))
    return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=seconds, microseconds=nanos // 1000)


def _quantity(data: bytes) -> str:
    return _text(next((value for number, _, value in _fields(data) if number == 1), b"")) or "0"


def _int_or_string(data: bytes) -> int | str:
    parts = {number: value for number, _, value in _fields(data)}
    return _text(parts.get(3, b"")) if parts.get(1) else _signed(parts.get(2, 0))


def _raw(data: bytes) -> Any:
    raw = next((value for number, _, value in _fields(data) if number == 1), b"")
    return msgspec.json.decode(raw) if raw else None


def _schema_or_bool(data: bytes, depth: int) -> Any:
    parts = {number: value for number, _, value in _fields(data)}
    return _json_schema(parts[2], depth) if 2 in parts else bool(parts.get(1))


def _schema_or_schemas(data: bytes, depth: int) -> Any:
    parts = [(number, _json_schema(value, depth)) for number, _, value in _fields(data)]
    return next((one for number, one in parts if number == 1), [one for _, one in parts])


def _schema_or_names(data: bytes, depth: int) -> Any:
    parts = list(_fields(data))
    one = next((value for number, _, value in parts if number == 1), None)
    return [_text(value) for _, _, value in parts] if one is None else _json_schema(one, depth)


def _json_schema(data: Any, depth: int) -> Json:
    schema = kubernetes().named(f"{_DEFINITIONS}.JSONSchemaProps")
    return _struct(schema, schema.name, data, depth + 1)


_SPECIAL: Final = {
    f"{_META}.Time": _time,
    f"{_META}.MicroTime": _micro_time,
    f"{_META}.FieldsV1": _raw,
    "io.k8s.apimachinery.pkg.api.resource.Quantity": _quantity,
    "io.k8s.apimachinery.pkg.util.intstr.IntOrString": _int_or_string,
    "io.k8s.apimachinery.pkg.runtime.RawExtension": _raw,
    f"{_DEFINITIONS}.JSON": _raw,
}
_CHOICES: Final = {
    f"{_DEFINITIONS}.JSONSchemaPropsOrBool": _schema_or_bool,
    f"{_DEFINITIONS}.JSONSchemaPropsOrArray": _schema_or_schemas,
    f"{_DEFINITIONS}.JSONSchemaPropsOrStringArray": _schema_or_names,
}
"""What in JSON is one of two things, and in protobuf a message with a field for each."""


def _fields(data: Any) -> Iterator[tuple[int, int, Any]]:
    """The fields of a message: number, wire type, value."""
    if not isinstance(data, bytes):
        raise TypeError("a message is expected where there is a number")
    place, end = 0, len(data)
    while place < end:
        tag, place = _varint(data, place)
        number, wire = tag >> 3, tag & 7
        if wire == _VARINT:
            value, place = _varint(data, place)
            yield number, wire, value
            continue
        if wire == _BYTES:
            size, place = _varint(data, place)
        elif wire in (_FIXED64, _FIXED32):
            size = 8 if wire == _FIXED64 else 4
        else:
            raise ValueError(f"illegal wire type {wire}")
        if place + size > end:
            raise ValueError("unexpected EOF")
        yield number, wire, data[place : place + size]
        place += size


def _varint(data: bytes, place: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        if place >= len(data):
            raise ValueError("unexpected EOF")
        if shift > 63:
            raise ValueError("integer overflow")
        byte = data[place]
        place += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value & (2**64 - 1), place
        shift += 7


def _signed(value: Any) -> int:
    if not isinstance(value, int):
        raise TypeError("a number is expected where there is a message")
    return value - 2**64 if value >= 2**63 else value


def _text(value: Any) -> str:
    if not isinstance(value, bytes):
        raise TypeError("text is expected where there is a number")
    return value.decode("utf-8", "replace")

"""OpenAPI 2 in protobuf, in the messages of gnostic: helm and older clients of Go ask for it so, and take no JSON.

A table says of each message which key has which number and what it holds. Keys that begin with `x-` are vendor
extensions, whose values are YAML; ours are JSON, which is YAML too. What a table does not name is left out.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias, cast

import msgspec

Json: TypeAlias = dict[str, Any]
_Encoder: TypeAlias = Callable[[Any], bytes]

MEDIA_TYPE: Final = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"
# Clients of Go ask for the first, which is no media type; the server answers with the other.
ASKED_FOR: Final = ("application/com.github.proto-openapi.spec.v2@v1.0+protobuf", MEDIA_TYPE)

_VARINT, _FIXED64, _BYTES = 0, 1, 2


def encode_openapi(document: Json) -> bytes:
    """The whole document."""
    return _message(_DOCUMENT, document)


class _Field:
    """Under which number a key's value goes, and how it is written there."""

    __slots__ = ("encode", "repeated", "tag")

    def __init__(self, number: int, encode: _Encoder, wire: int = _BYTES, *, repeated: bool = False) -> None:
        self.tag = _varint(number << 3 | wire)
        self.encode = encode
        self.repeated = repeated

    def write(self, value: Any) -> bytes:
        values = cast("list[Any]", value) if self.repeated else [value]
        return b"".join([self.tag + self.encode(each) for each in values])


class _Table:
    """The fields of one message by their keys in JSON, and the number of its vendor extensions."""

    def __init__(self, extensions: int = 0) -> None:
        self.fields: dict[str, _Field] = {}
        self.extension = _Field(extensions, _named(_any)) if extensions else None


def _message(table: _Table, value: Json) -> bytes:
    made: list[bytes] = []
    for key, item in value.items():
        field = table.fields.get(key)
        if field is not None:
            made.append(field.write(item))
        elif key.startswith("x-") and table.extension is not None:
            made.append(table.extension.write((key, item)))
    return b"".join(made)


def _varint(number: int) -> bytes:
    made = bytearray()
    while number > 0x7F:
        made.append(number & 0x7F | 0x80)
        number >>= 7
    made.append(number)
    return bytes(made)


def _sized(data: bytes) -> bytes:
    return _varint(len(data)) + data


def _text(value: str) -> bytes:
    return _sized(value.encode())


def _integer(value: float) -> bytes:
    return _varint(int(value) & 0xFFFF_FFFF_FFFF_FFFF)


def _double(value: float) -> bytes:
    return struct.pack("<d", value)


def _wrapped(number: int, encode: _Encoder, wire: int = _BYTES) -> _Encoder:
    """In a message of its own, in which it is the only field."""
    field = _Field(number, encode, wire)
    return lambda value: _sized(field.write(value))


def _any(value: Any) -> bytes:
    return _sized(_YAML.write(msgspec.json.encode(value).decode() + "\n"))


def _of(table: _Table) -> _Encoder:
    return lambda value: _sized(_message(table, value))


def _named(encode: _Encoder) -> _Encoder:
    """A name beside a value."""
    second = _Field(2, encode)
    return lambda pair: _sized(_NAME.write(pair[0]) + second.write(pair[1]))


def _map(number: int, encode: _Encoder) -> Callable[[Mapping[str, Any]], bytes]:
    """A message that is a map: its entries under this number."""
    entry = _Field(number, _named(encode), repeated=True)
    return lambda value: _sized(entry.write(list(value.items())))


def _strings(value: Any) -> bytes:
    values = cast("list[str]", value) if isinstance(value, list) else [cast("str", value)]
    return _sized(_VALUES.write(values))


def _additional(value: Any) -> bytes:
    return _MAY_BE(value) if isinstance(value, bool) else _MUST_BE(value)


_YAML: Final = _Field(2, _text)
_NAME: Final = _Field(1, _text)
_VALUES: Final = _Field(1, _text, repeated=True)

_DOCUMENT, _INFO, _SCHEMA = _Table(16), _Table(7), _Table(31)
_PATH, _OPERATION, _PARAMETER, _RESPONSE = _Table(10), _Table(13), _Table(23), _Table(5)
_MUST_BE: Final = _wrapped(1, _of(_SCHEMA))
_MAY_BE: Final = _wrapped(2, _integer, _VARINT)

_SCHEMA.fields = {
    "$ref": _Field(1, _text),
    "format": _Field(2, _text),
    "title": _Field(3, _text),
    "description": _Field(4, _text),
    "default": _Field(5, _any),
    "multipleOf": _Field(6, _double, _FIXED64),
    "maximum": _Field(7, _double, _FIXED64),
    "exclusiveMaximum": _Field(8, _integer, _VARINT),
    "minimum": _Field(9, _double, _FIXED64),
    "exclusiveMinimum": _Field(10, _integer, _VARINT),
    "maxLength": _Field(11, _integer, _VARINT),
    "minLength": _Field(12, _integer, _VARINT),
    "pattern": _Field(13, _text),
    "maxItems": _Field(14, _integer, _VARINT),
    "minItems": _Field(15, _integer, _VARINT),
    "uniqueItems": _Field(16, _integer, _VARINT),
    "maxProperties": _Field(17, _integer, _VARINT),
    "minProperties": _Field(18, _integer, _VARINT),
    "required": _Field(19, _text, repeated=True),
    "enum": _Field(20, _any, repeated=True),
    "additionalProperties": _Field(21, _additional),
    "type": _Field(22, _strings),
    "items": _Field(23, _wrapped(1, _of(_SCHEMA))),
    "allOf": _Field(24, _of(_SCHEMA), repeated=True),
    "properties": _Field(25, _map(1, _of(_SCHEMA))),
    "example": _Field(30, _any),
}
_PARAMETER.fields = {  # of the query, as all of ours are
    "required": _Field(1, _integer, _VARINT),
    "in": _Field(2, _text),
    "description": _Field(3, _text),
    "name": _Field(4, _text),
    "type": _Field(6, _text),
}
_RESPONSE.fields = {"description": _Field(1, _text)}
_OPERATION.fields = {
    "tags": _Field(1, _text, repeated=True),
    "operationId": _Field(5, _text),
    "produces": _Field(6, _text, repeated=True),
    "consumes": _Field(7, _text, repeated=True),
    "parameters": _Field(8, _wrapped(1, _wrapped(2, _wrapped(3, _of(_PARAMETER)))), repeated=True),
    "responses": _Field(9, _map(1, _wrapped(1, _of(_RESPONSE)))),
}
_METHODS: Final = {"get": 2, "put": 3, "post": 4, "delete": 5, "options": 6, "head": 7, "patch": 8}
_PATH.fields = {name: _Field(number, _of(_OPERATION)) for name, number in _METHODS.items()}
_INFO.fields = {"title": _Field(1, _text), "version": _Field(2, _text)}
_DOCUMENT.fields = {
    "swagger": _Field(1, _text),
    "info": _Field(2, _of(_INFO)),
    "paths": _Field(8, _map(2, _of(_PATH))),
    "definitions": _Field(9, _map(1, _of(_SCHEMA))),
}

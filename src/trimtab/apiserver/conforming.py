"""The station that makes of a body what Kubernetes' own types hold: what they have no field for is dropped and told of,
what is of another type is refused, and what is always there is there."""

from __future__ import annotations

import base64
import binascii
from typing import Any, Final, TypeAlias, cast

import msgspec

from trimtab.apiserver import causes
from trimtab.apiserver.catalogue import Kind
from trimtab.apiserver.causes import quoted
from trimtab.apiserver.facts import TIMES, Schema
from trimtab.apiserver.facts.fields import dropped_zeros, kept_empties, shown_nothings, shown_nulls
from trimtab.apiserver.gotimes import MICRO_TIME, TIME, wrong_time
from trimtab.apiserver.reading import json_type
from trimtab.kube.invalid import InvalidValueError
from trimtab.kube.quantity import Quantity
from trimtab.kube.timestamps import format_micro_time, format_time, parse_micro_time, parse_time

Json: TypeAlias = dict[str, Any]

_QUANTITY: Final = "io.k8s.apimachinery.pkg.api.resource.Quantity"
_TIME: Final = "io.k8s.apimachinery.pkg.apis.meta.v1.Time"
_INT_OR_STRING: Final = "io.k8s.apimachinery.pkg.util.intstr.IntOrString"
_SCHEMA_OR: Final = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaPropsOr"
_BOUNDS: Final = {"int32": 2**31, "int64": 2**63, "": 2**63}
_GO_SCALARS: Final = {"boolean": "bool", "string": "string", "integer": "int64", "number": "float64"}
_ZEROS: Final[dict[str, Any]] = {"string": "", "boolean": False, "integer": 0, "number": 0}


class Mistyped(Exception):
    """A value of another type than its field, in the words of Go.

    Go has others where it makes an object of values that it has read already; then `restored` is said.
    """

    def __init__(self, said: str, restored: str = "") -> None:
        super().__init__(said)
        self.restored = restored or said


def conform(schema: Schema, obj: Json, *, fill: bool = True) -> tuple[Json, list[str]]:
    """The object as its type holds it, and the fields that it has no place for. Raises Mistyped.

    With `fill`, what is always there is there; without, as for a patch, only what was given.
    """
    reader = _Conforming(fill=fill)
    return reader.struct(schema, obj, "", ""), reader.unknown


def hold(kind: Kind, obj: Json) -> tuple[Json, list[str]]:
    """The object as its kind holds it, whoever defined that, and the fields that it has no place for."""
    held, unknown = _hold(kind, obj)
    given: Any = obj.get("metadata")
    if isinstance(given, dict) and cast("Json", given).get("managedFields") == []:
        held["metadata"]["managedFields"] = []  # which asks to forget them
    return held, unknown


def _hold(kind: Kind, obj: Json) -> tuple[Json, list[str]]:
    if kind.schema is None:
        raise Mistyped(f"nothing is known of {kind}")
    if kind.custom is None:
        made, unknown = conform(kind.schema, obj)
        return (made if kind.complete is None else kind.complete({"kind": kind.kind, **made})), unknown
    made, unknown = _with_metadata(kind.schema.fields["metadata"], obj, "")
    unknown += [f"unknown field {quoted(path)}" for path in kind.custom.prune(made)]
    malformed = kind.custom.malformed(made)
    if malformed is not None:
        raise Mistyped(str(malformed))
    for path, resource in kind.custom.resources(made):
        found, faults = _with_metadata(kind.schema.fields["metadata"], resource, f"{path}.")
        resource.update(found)
        unknown += faults
    kind.custom.default(made)
    return made, unknown


def _with_metadata(schema: Schema, obj: Json, path: str) -> tuple[Json, list[str]]:
    """A custom resource, or one within, with its metadata as all resources have it."""
    given: Any = obj.get("metadata")
    if given is None:
        return ({**obj, "metadata": {}} if not path else obj), []
    try:
        held, unknown = conform(schema, _object(given))
    except Mistyped as error:
        raise error if not path else Mistyped(str(causes.invalid(f"{path}metadata", given, str(error)))) from error
    return {**obj, "metadata": held}, [each.replace('"', f'"{path}metadata.', 1) for each in unknown]


def _object(metadata: Any) -> Json:
    if not isinstance(metadata, dict):
        raise Mistyped(f"json: cannot unmarshal {json_type(metadata)} into Go value of type v1.ObjectMeta")
    return cast("Json", metadata)


class _Conforming:
    def __init__(self, *, fill: bool) -> None:
        self.unknown: list[str] = []
        self._fill = fill

    def struct(self, schema: Schema, value: Json, path: str, go_path: str) -> Json:
        """A struct: its fields are known."""
        made: Json = {}
        fields = schema.fields
        for key, item in value.items():
            field = fields.get(key)
            if field is None:
                self.unknown.append(f"unknown field {quoted(f'{path}.{key}' if path else key)}")
            elif item is not None:
                where = f"{path}.{key}" if path else key
                go_where = f"{go_path}.{key}" if go_path else key
                read = self._value(field, item, where, go_where, schema)
                if read is None:
                    continue
                if read or not _goes_without(schema, field, key, read):
                    made[key] = read
        if self._fill:
            self._fill_in(schema, made)
        return made

    def _fill_in(self, schema: Schema, made: Json) -> None:
        dropped = dropped_zeros(schema.name)
        kept, shown, null = kept_empties(schema.name), shown_nothings(schema.name), shown_nulls(schema.name)
        for key, field in schema.fields.items():
            if key in made:
                continue
            default = field.default
            if field.name in TIMES:
                if key in shown:
                    made[key] = None
            elif default is msgspec.UNSET:
                bare = field.type == "array" or (field.values is not None and not field.name)
                if key in null or (bare and key in kept):
                    made[key] = None
            elif isinstance(default, dict):
                if field.fields:
                    made[key] = self.struct(field, {}, "", "")
            elif default or key not in dropped:
                made[key] = default

    def _value(self, schema: Schema, value: Any, path: str, go_path: str, parent: Schema) -> Any:
        if schema.name in TIMES:
            return _read_time(schema.name, value, go_path, parent)
        special = _SPECIAL.get(schema.name)
        if special is not None:
            return special(value)
        if schema.name.startswith(_SCHEMA_OR):
            return self._schema_or(schema.name, value, parent)
        if schema.is_map and schema.is_list:
            return value  # anything
        if schema.is_map:
            return self._map(schema, value, path, go_path, parent)
        if schema.is_list:
            if not isinstance(value, list):
                raise _mistyped(value, parent, go_path, _go_type(schema))
            items = cast("list[Any]", value)
            return [self._item(schema.items, item, f"{path}[{i}]", go_path, parent) for i, item in enumerate(items)]
        return _scalar(schema, value, go_path, parent)

    def _schema_or(self, name: str, value: Any, parent: Schema) -> Any:
        """A schema within a schema, or something else: Go tells nothing of unknown fields there."""
        told, self.unknown = self.unknown, []
        try:
            if isinstance(value, dict):
                return self._schema(value, parent)
            if name.endswith("OrBool"):
                if not isinstance(value, bool):
                    raise Mistyped("boolean or JSON schema expected")
                return value
            if not isinstance(value, list):
                return None  # Go takes it for nothing
            return [self._schema(item, parent) for item in cast("list[Any]", value)]
        finally:
            self.unknown = told

    def _schema(self, value: Any, parent: Schema) -> Json:
        if not isinstance(value, dict | None):
            raise Mistyped(f"json: cannot unmarshal {json_type(value)} into Go value of type v1.JSONSchemaProps")
        return self.struct(parent, cast("Json", value or {}), "", "")

    def _map(self, schema: Schema, value: Any, path: str, go_path: str, parent: Schema) -> Any:
        if not isinstance(value, dict):
            raise _mistyped(value, parent, go_path, _go_type(schema))
        given = cast("Json", value)
        if schema.fields:
            return self.struct(schema, given, path, go_path)
        values = schema.values
        if values is None or (values.is_map and values.is_list):
            return given
        return {key: self._item(values, item, f"{path}.{key}", go_path, parent) for key, item in given.items()}

    def _item(self, schema: Schema, value: Any, path: str, go_path: str, parent: Schema) -> Any:
        if value is None:  # Go leaves what it has made for it: nothing
            if schema.fields:
                return self.struct(schema, {}, path, go_path)
            return "0" if schema.name == _QUANTITY else _ZEROS.get(schema.type)
        return self._value(schema, value, path, go_path, parent)


def _goes_without(schema: Schema, field: Schema, key: str, value: Any) -> bool:
    """Whether what is empty here is as if nobody had set it."""
    if isinstance(value, dict):  # a struct is there as soon as it is named
        return not field.name and key not in schema.required and not _is_free(field)
    if isinstance(value, list):
        return key not in schema.required
    return key in dropped_zeros(schema.name)


def _is_free(schema: Schema) -> bool:
    return schema.is_map and (schema.is_list or schema.preserve_unknown)


def _scalar(schema: Schema, value: Any, go_path: str, parent: Schema) -> Any:
    kind = schema.type
    if kind == "string":
        if not isinstance(value, str):
            raise _mistyped(value, parent, go_path, "[]uint8" if schema.format == "byte" else "string")
        return _base64(value) if schema.format == "byte" else value
    if kind == "boolean":
        if not isinstance(value, bool):
            raise _mistyped(value, parent, go_path, "bool")
        return value
    if kind == "integer":
        bound = _BOUNDS.get(schema.format, 2**63)
        if isinstance(value, bool) or not isinstance(value, int) or not -bound <= value < bound:
            shown = f"number {value}" if isinstance(value, int) and not isinstance(value, bool) else json_type(value)
            go_type = schema.format or "int64"
            raise Mistyped(_unmarshal(shown, parent, go_path, go_type), _restored(value, go_type))
        return value
    if kind == "number" and (isinstance(value, bool) or not isinstance(value, int | float)):
        raise _mistyped(value, parent, go_path, "float64")
    return value


def _base64(value: str) -> str:
    text = value.replace("\n", "").replace("\r", "")
    try:
        base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError) as error:
        alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
        at = next((i for i, char in enumerate(text) if char not in alphabet), len(text) // 4 * 4)
        raise Mistyped(f"illegal base64 data at input byte {at}") from error
    return text


def _quantity(value: Any) -> Any:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise Mistyped(_NO_QUANTITY)
    try:
        return str(Quantity(str(value)))
    except InvalidValueError as error:
        raise Mistyped(_NO_QUANTITY) from error


_NO_QUANTITY: Final = r"quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"


def _read_time(name: str, value: Any, go_path: str, parent: Schema) -> str:
    if not isinstance(value, str):
        raise _mistyped(value, parent, go_path, "string")
    try:
        return format_time(parse_time(value)) if name == _TIME else format_micro_time(parse_micro_time(value))
    except InvalidValueError as error:
        raise Mistyped(wrong_time(value, TIME if name == _TIME else MICRO_TIME)) from error


def _int_or_string(value: Any) -> Any:
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise Mistyped(f"json: cannot unmarshal {json_type(value)} into Go value of type int32")
    return value


_SPECIAL: Final = {_QUANTITY: _quantity, _INT_OR_STRING: _int_or_string}


def _mistyped(value: Any, parent: Schema, go_path: str, go_type: str) -> Mistyped:
    return Mistyped(_unmarshal(json_type(value), parent, go_path, go_type), _restored(value, go_type))


def _restored(value: Any, go_type: str) -> str:
    kinds = {dict: "map", list: "slice", str: "string", bool: "bool", int: "int64"}
    given = kinds.get(cast("type[Any]", type(value)), "float64")
    if go_type.startswith("map["):
        return f"cannot restore map from {given}"
    if go_type.startswith("[]"):
        return f"cannot restore slice from {given}"
    if "." in go_type:
        return f"cannot restore struct from: {given}"
    if go_type == "string" and given == "int64":
        return "cannot convert int64 to string"
    return f"unrecognized type: {go_type}"


def _unmarshal(what: str, parent: Schema, go_path: str, go_type: str) -> str:
    struct = parent.name.rpartition(".")[2]
    return f"json: cannot unmarshal {what} into Go struct field {struct}.{go_path} of type {go_type}"


def _go_type(schema: Schema) -> str:
    if schema.name:
        *_, version, name = schema.name.split(".")
        return f"{version}.{name}"
    if schema.type == "array":
        return f"[]{_go_type(schema.items)}"
    if schema.is_map and schema.values is not None:
        return f"map[string]{_go_type(schema.values)}"
    return schema.format if schema.format.startswith("int") else _GO_SCALARS.get(schema.type, "string")

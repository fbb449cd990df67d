"""What a structural schema is to expressions: types with names, and bounds on the sizes of values."""

from __future__ import annotations

from typing import Any, Final, cast

from trimtab.apiserver.cel import types as t
from trimtab.apiserver.cel.declared import LARGEST_REQUEST, Declared
from trimtab.apiserver.cel.names import escape

_STRING: Final[dict[str, Any]] = {"type": "string"}
_METADATA: Final[dict[str, Any]] = {"type": "object", "properties": {"name": _STRING, "generateName": _STRING}}
_LONGEST_TIME: Final = 32
_LONGEST_DAY: Final = 12


def with_type_and_metadata(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema of an object that is a resource: kind, apiVersion and two fields of its metadata can be seen."""
    properties = {**schema.get("properties", {}), "kind": _STRING, "apiVersion": _STRING, "metadata": _METADATA}
    return {**schema, "properties": properties}


def declare(schema: dict[str, Any], *, root: bool, name: str = "selfType") -> Declared | None:
    """The type of values of a schema; None where expressions cannot see them."""
    declared = _declare(schema, root=root, name=name)
    return declared if declared is not None and declared.visible else None


def _declare(schema: dict[str, Any], *, root: bool, name: str) -> Declared | None:
    if schema.get("x-kubernetes-int-or-string"):
        most = schema["maxLength"] * 4 if "maxLength" in schema else LARGEST_REQUEST - 2
        return _scalar(schema, "int-or-string", t.DYN, most, 1)
    if root:
        schema = with_type_and_metadata(schema)
    match schema.get("type"):
        case "array":
            return _array(schema, name)
        case "object":
            return _object(schema, name)
        case "string":
            return _string(schema)
        case "boolean":
            return _scalar(schema, "boolean", t.BOOL, 0, 4)
        case "number":
            return _scalar(schema, "number", t.DOUBLE, 0, 1)
        case "integer":
            return _scalar(schema, "integer", t.INT, 0, 1)
        case _:
            return None


def _unknown(schema: dict[str, Any]) -> Declared:
    return Declared("unknown", t.DYN, nullable=bool(schema.get("nullable")), visible=False)


def _scalar(schema: dict[str, Any], shape: str, of: t.Type, most: int, least_bytes: int) -> Declared:
    return Declared(shape, of, nullable=bool(schema.get("nullable")), most=max(most, 0), least_bytes=least_bytes)


def _inner(schema: dict[str, Any], name: str) -> Declared | None:
    return _declare(schema, root=bool(schema.get("x-kubernetes-embedded-resource")), name=name)


def _array(schema: dict[str, Any], name: str) -> Declared | None:
    items = schema.get("items")
    element = _inner(items, f"{name}.@idx") if items is not None else None
    if element is None:
        return None
    return Declared(
        "list",
        t.list_of(element.type),
        element=element,
        list_type=schema.get("x-kubernetes-list-type", "atomic"),
        map_keys=tuple(schema.get("x-kubernetes-list-map-keys", ())),
        nullable=bool(schema.get("nullable")),
        most=max(schema.get("maxItems", (LARGEST_REQUEST - 2) // (element.least_bytes + 1)), 0),
        least_bytes=2,
        visible=element.visible,
    )


def _object(schema: dict[str, Any], name: str) -> Declared | None:
    additional: Any = schema.get("additionalProperties")
    if isinstance(additional, dict):
        element = _inner(cast("dict[str, Any]", additional), f"{name}.@elem")
        if element is None:
            return None
        return Declared(
            "map",
            t.map_of(t.STRING, element.type),
            element=element,
            nullable=bool(schema.get("nullable")),
            most=max(schema.get("maxProperties", (LARGEST_REQUEST - 2) // (element.least_bytes + 6)), 0),
            least_bytes=2,
            visible=element.visible,
        )
    declared = Declared("object", t.struct(name), nullable=bool(schema.get("nullable")), least_bytes=2)
    required = set(schema.get("required", ()))
    for property_name, inner in schema.get("properties", {}).items():
        identifier = escape(property_name)
        found = _inner(inner, f"{name}.{identifier}")
        if found is None or not found.visible:
            declared.properties[property_name] = found or _unknown(inner)
            continue
        declared.properties[property_name] = found
        if identifier is not None:
            declared.fields[identifier] = found
        if property_name in required and inner.get("default") is None:
            declared.least_bytes += len(property_name.encode()) + found.least_bytes + 4
    return declared


def _string(schema: dict[str, Any]) -> Declared:
    longest = schema.get("maxLength")
    match schema.get("format"):
        case "byte":
            return _scalar(schema, "bytes", t.BYTES, LARGEST_REQUEST - 2 if longest is None else longest, 2)
        case "duration":
            return _scalar(schema, "duration", t.DURATION, _LONGEST_TIME, 3)
        case "date":
            return _scalar(schema, "date", t.TIMESTAMP, _LONGEST_DAY, _LONGEST_DAY)
        case "date-time":
            return _scalar(schema, "date-time", t.TIMESTAMP, _LONGEST_TIME, 21)
        case _:
            pass
    if longest is not None:
        most = longest * 4  # characters are counted in schemas, bytes in requests
    elif schema.get("enum"):
        most = max((len(v.encode()) for v in schema["enum"] if isinstance(v, str)), default=0)
    else:
        most = LARGEST_REQUEST - 2
    return _scalar(schema, "string", t.STRING, most, 2)

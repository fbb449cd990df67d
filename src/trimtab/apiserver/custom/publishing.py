"""What a definition adds to the server's OpenAPI documents: the schema of its kind, in version 3 or 2."""

from __future__ import annotations

from typing import Any, Final, TypeAlias, cast

Json: TypeAlias = dict[str, Any]

META: Final = "io.k8s.apimachinery.pkg.apis.meta.v1"
_API_VERSION: Final = (
    "APIVersion defines the versioned schema of this representation of an object. Servers should convert recognized "
    "schemas to the latest internal value, and may reject unrecognized values. More info: "
    "https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#resources"
)
_KIND: Final = (
    "Kind is a string value representing the REST resource this object represents. Servers may infer this from the "
    "endpoint the client submits requests to. Cannot be updated. In CamelCase. More info: "
    "https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#types-kinds"
)
_METADATA: Final = (
    "Standard object's metadata. More info: "
    "https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata"
)
_PRESERVE: Final = "x-kubernetes-preserve-unknown-fields"
_NOT_IN_V2: Final = ("allOf", "oneOf", "anyOf", "not", "nullable")


def definition_name(group: str, version: str, kind: str) -> str:
    """The name of a kind's schema: the group backwards, the version, the kind."""
    return ".".join([*reversed(group.split(".")), version, kind])


def published(schema: Json | None, group: str, version: str, kind: str, *, v2: bool = False) -> Json:
    """The schema of a kind as it stands in an OpenAPI document."""
    gvk = {"group": group, "kind": kind, "version": version}
    prefix = "#/definitions/" if v2 else "#/components/schemas/"
    root: Json = dict(schema or {"type": "object", _PRESERVE: True})
    if v2 and root.get(_PRESERVE):  # with properties kubectl would complain about all others
        return {"type": "object", "x-kubernetes-group-version-kind": [gvk]}
    root = _with_embedded(_lowered(root) if v2 else root, f"{prefix}{META}.ObjectMeta", v2=v2)
    properties: Json = {
        **cast("Json", root.get("properties") or {}),
        "apiVersion": {"description": _API_VERSION, "type": "string"},
        "kind": {"description": _KIND, "type": "string"},
        "metadata": _metadata(f"{prefix}{META}.ObjectMeta", v2=v2),
    }
    return {**root, "type": "object", "properties": properties, "x-kubernetes-group-version-kind": [gvk]}


def published_list(group: str, version: str, kind: str, list_kind: str, *, v2: bool = False) -> Json:
    """The schema of a kind's list."""
    prefix = "#/definitions/" if v2 else "#/components/schemas/"
    item = {"$ref": prefix + definition_name(group, version, kind)}
    items_description = "List of " + kind.lower() + "s. More info: https://git.k8s.io/community/contributors/devel/"
    return {
        "description": f"{list_kind} is a list of {kind}",
        "type": "object",
        "required": ["items"],
        "properties": {
            "apiVersion": {"description": _API_VERSION, "type": "string"},
            "items": {
                "description": f"{items_description}sig-architecture/api-conventions.md",
                "type": "array",
                "items": item if v2 else {"allOf": [item], "default": {}},
            },
            "kind": {"description": _KIND, "type": "string"},
            "metadata": _metadata(f"{prefix}{META}.ListMeta", v2=v2),
        },
        "x-kubernetes-group-version-kind": [{"group": group, "kind": list_kind, "version": version}],
    }


def _metadata(reference: str, *, v2: bool) -> Json:
    if v2:
        return {"description": _METADATA, "$ref": reference}
    return {"description": _METADATA, "allOf": [{"$ref": reference}], "default": {}}


def _with_embedded(schema: Json, reference: str, *, v2: bool) -> Json:
    """The schema with what each resource within has."""
    made = dict(schema)
    if isinstance(made.get("properties"), dict):
        made["properties"] = {name: _with_embedded(each, reference, v2=v2) for name, each in made["properties"].items()}
    for key in ("items", "additionalProperties"):
        if isinstance(made.get(key), dict):
            made[key] = _with_embedded(made[key], reference, v2=v2)
    if not made.get("x-kubernetes-embedded-resource") or (v2 and made.get(_PRESERVE)):
        return made
    made["properties"] = {
        **(made.get("properties") or {}),
        "apiVersion": {"description": _API_VERSION, "type": "string"},
        "kind": {"description": _KIND, "type": "string"},
        "metadata": _metadata(reference, v2=v2),
    }
    required: list[str] = list(made.get("required") or ())
    return {**made, "required": required + [name for name in ("kind", "apiVersion") if name not in required]}


def _lowered(schema: Json) -> Json:
    """What is left of a schema in OpenAPI 2, for kubectl: what it cannot say, and what kubectl cannot read, goes."""
    lowered = {key: value for key, value in schema.items() if key not in _NOT_IN_V2}
    if schema.get("nullable") or schema.get(_PRESERVE):
        for key in ("items", "properties"):
            lowered.pop(key, None)
    untyped = (
        schema.get("x-kubernetes-int-or-string")
        or schema.get("nullable")
        or (schema.get("type") == "array" and "items" not in lowered)
        or (schema.get("type") == "object" and schema.get(_PRESERVE))
    )
    if untyped:
        lowered.pop("type", None)
    fields: Any = lowered.get("properties")
    if isinstance(fields, dict):
        below = cast("dict[str, Json]", fields)
        _require_less(lowered, [name for name, field in below.items() if field.get("nullable")])
        lowered["properties"] = {name: _lowered(field) for name, field in below.items()}
    for key in ("items", "additionalProperties"):
        if isinstance(lowered.get(key), dict):
            lowered[key] = _lowered(lowered[key])
    return lowered


def _require_less(lowered: Json, names: list[str]) -> None:
    """What may be null may be missing."""
    required = [name for name in cast("list[str]", lowered.pop("required", None) or []) if name not in names]
    if required:
        lowered["required"] = required

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
_NOT_IN_V2: Final = ("oneOf", "anyOf", "not", "nullable")


def definition_name(group: str, version: str, kind: str) -> str:
    """The name of a kind's schema: the group backwards, the version, the kind."""
    return ".".join([*reversed(group.split(".")), version, kind])


def published(schema: Json | None, group: str, version: str, kind: str, *, v2: bool = False) -> Json:
    """The schema of a kind as it stands in an OpenAPI document."""
    prefix = "#/definitions/" if v2 else "#/components/schemas/"
    root: Json = dict(schema or {"type": "object", "x-kubernetes-preserve-unknown-fields": True})
    root = _lowered(root) if v2 else _with_embedded(root, f"{prefix}{META}.ObjectMeta")
    if root.get("x-kubernetes-preserve-unknown-fields") and v2:
        root.pop("properties", None)
    properties: Json = {
        **cast("Json", root.get("properties") or {}),
        "apiVersion": {"description": _API_VERSION, "type": "string"},
        "kind": {"description": _KIND, "type": "string"},
        "metadata": _metadata(f"{prefix}{META}.ObjectMeta", v2=v2),
    }
    gvk = {"group": group, "kind": kind, "version": version}
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


def _with_embedded(schema: Json, reference: str) -> Json:
    """The schema with what each resource within has."""
    made = dict(schema)
    if isinstance(made.get("properties"), dict):
        made["properties"] = {name: _with_embedded(field, reference) for name, field in made["properties"].items()}
    for key in ("items", "additionalProperties"):
        if isinstance(made.get(key), dict):
            made[key] = _with_embedded(made[key], reference)
    if not made.get("x-kubernetes-embedded-resource"):
        return made
    made["properties"] = {
        **(made.get("properties") or {}),
        "apiVersion": {"description": _API_VERSION, "type": "string"},
        "kind": {"description": _KIND, "type": "string"},
        "metadata": _metadata(reference, v2=False),
    }
    required: list[str] = list(made.get("required") or ())
    return {**made, "required": required + [name for name in ("kind", "apiVersion") if name not in required]}


def _lowered(schema: Json) -> Json:
    """What is left of a schema in OpenAPI 2, for kubectl: what it cannot say is left out."""
    lowered = {key: value for key, value in schema.items() if key not in _NOT_IN_V2}
    if schema.get("x-kubernetes-int-or-string") or schema.get("nullable"):
        lowered.pop("type", None)
        if schema.get("nullable"):
            for key in ("items", "properties"):
                lowered.pop(key, None)
    if schema.get("x-kubernetes-preserve-unknown-fields"):
        lowered.pop("items", None)
        lowered.pop("properties", None)
    if isinstance(lowered.get("properties"), dict):
        lowered["properties"] = {name: _lowered(field) for name, field in lowered["properties"].items()}
    for key in ("items", "additionalProperties"):
        if isinstance(lowered.get(key), dict):
            lowered[key] = _lowered(lowered[key])
    if "allOf" in lowered:
        lowered["allOf"] = [_lowered(each) for each in lowered["allOf"]]
    return lowered

"""From OpenAPI schemas to Python types."""

from __future__ import annotations

from typing import Any

JSON_SCHEMA = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSON"

# Schemas that stand for a type of `trimtab.kube.hints` or of Python, instead of a class.
BUILT_IN = {
    "io.k8s.apimachinery.pkg.api.resource.Quantity": "QuantityLike",
    "io.k8s.apimachinery.pkg.util.intstr.IntOrString": "IntOrString",
    "io.k8s.apimachinery.pkg.apis.meta.v1.Time": "Time",
    "io.k8s.apimachinery.pkg.apis.meta.v1.MicroTime": "MicroTime",
    "io.k8s.apimachinery.pkg.apis.meta.v1.FieldsV1": "dict[str, Any]",
    "io.k8s.apimachinery.pkg.runtime.RawExtension": "Any",
    JSON_SCHEMA: "Any",
    f"{JSON_SCHEMA}SchemaPropsOrArray": "JSONSchemaProps | list[JSONSchemaProps]",
    f"{JSON_SCHEMA}SchemaPropsOrBool": "JSONSchemaProps | bool",
    f"{JSON_SCHEMA}SchemaPropsOrStringArray": "JSONSchemaProps | list[str]",
}

# Schemas that no object holds: bodies of patches, the server's build information.
UNUSED = {"io.k8s.apimachinery.pkg.apis.meta.v1.Patch", "io.k8s.apimachinery.pkg.version.Info"}


def reference(prop: dict[str, Any]) -> str:
    """The schema that a property points to, or ""."""
    ref = prop.get("$ref") or next((part["$ref"] for part in prop.get("allOf", ())), "")
    return ref.rpartition("/")[2]


def home_of(schema: str) -> tuple[str, str, str]:
    """Package, version and class of a schema's name: `io.k8s.api.core.v1.Pod`."""
    *_, package, version, cls = schema.split(".")
    return package, version, cls


def is_list(schema: dict[str, Any]) -> bool:
    """PodList and its like: the client has one generic list."""
    return "items" in schema.get("properties", {}) and "x-kubernetes-group-version-kind" in schema


def is_class(name: str, schema: dict[str, Any]) -> bool:
    """True for a schema that becomes a class."""
    return name not in BUILT_IN and name not in UNUSED and not is_list(schema)


def python_type(prop: dict[str, Any], home: tuple[str, str]) -> str:
    """The hint for a property, as written in the module `home`."""
    if target := reference(prop):
        package, version, cls = home_of(target)
        there = cls if (package, version) == home else f"{package}_{version}.{cls}"
        return BUILT_IN.get(target, there)
    match prop.get("type"), prop.get("format"):
        case "array", _:
            return f"list[{python_type(prop['items'], home)}]"
        case "object", _ if "additionalProperties" in prop:
            return f"dict[str, {python_type(prop['additionalProperties'], home)}]"
        case "object", _:
            return "dict[str, Any]"
        case "string", "byte":
            return "bytes"
        case "string", None:
            return "str"
        case "integer", _:
            return "int"
        case "number", _:
            return "float"
        case "boolean", _:
            return "bool"
        case unknown:
            raise ValueError(f"no Python type for {unknown} in {prop}")

"""How the server shows schemas and versions in its messages: as it holds them inside, every field of them."""

from __future__ import annotations

from typing import Any, Final, TypeAlias, cast

from trimtab.apiserver.causes import Struct
from trimtab.apiserver.custom.equality import part

Json: TypeAlias = dict[str, Any]

# Fields in the server's order, with what stands there when nothing is set, and the name that users know.
_FIELDS: Final[tuple[tuple[str, Any], ...]] = (
    ("id", ""), ("$schema", ""), ("$ref", None), ("description", ""), ("type", ""), ("nullable", False), ("format", ""),
    ("title", ""), ("default", None), ("maximum", None), ("exclusiveMaximum", False), ("minimum", None),
    ("exclusiveMinimum", False), ("maxLength", None), ("minLength", None), ("pattern", ""), ("maxItems", None),
    ("minItems", None), ("uniqueItems", False), ("multipleOf", None), ("enum", None), ("maxProperties", None),
    ("minProperties", None), ("required", None), ("items", None), ("allOf", None), ("oneOf", None), ("anyOf", None),
    ("not", None), ("properties", None), ("additionalProperties", None), ("patternProperties", None),
    ("dependencies", None), ("additionalItems", None), ("definitions", None), ("externalDocs", None), ("example", None),
    ("x-kubernetes-preserve-unknown-fields", None), ("x-kubernetes-embedded-resource", False),
    ("x-kubernetes-int-or-string", False), ("x-kubernetes-list-map-keys", None), ("x-kubernetes-list-type", None),
    ("x-kubernetes-map-type", None), ("x-kubernetes-validations", None),
)  # fmt: skip
_SHOWN: Final = {
    "id": "ID", "$schema": "Schema", "$ref": "Ref", "x-kubernetes-preserve-unknown-fields": "XPreserveUnknownFields",
    "x-kubernetes-embedded-resource": "XEmbeddedResource", "x-kubernetes-int-or-string": "XIntOrString",
    "x-kubernetes-list-map-keys": "XListMapKeys", "x-kubernetes-list-type": "XListType",
    "x-kubernetes-map-type": "XMapType", "x-kubernetes-validations": "XValidations",
}  # fmt: skip


def internal_schema(schema: Json) -> Json:
    """A schema."""
    shown = {name: _SHOWN.get(name, name[0].upper() + name[1:]) for name, _ in _FIELDS}
    return Struct({shown[name]: _part(name, schema.get(name), nothing) for name, nothing in _FIELDS})


def _part(name: str, value: Any, nothing: Any) -> Any:
    if value is None:
        return nothing
    if name == "items" and isinstance(value, dict):
        return Struct({"Schema": internal_schema(cast("Json", value)), "JSONSchemas": None})
    if name in ("allOf", "oneOf", "anyOf"):
        return [internal_schema(each) for each in cast("list[Json]", value)]
    if name == "not":
        return internal_schema(cast("Json", value))
    if name in ("properties", "patternProperties", "definitions"):
        return {key: internal_schema(field) for key, field in cast("dict[str, Json]", value).items()}
    if name in ("additionalProperties", "additionalItems"):
        schema = internal_schema(cast("Json", value)) if isinstance(value, dict) else None
        return Struct({"Allows": value is True or schema is not None, "Schema": schema})
    if name == "x-kubernetes-validations":
        return [internal_rule(rule) for rule in cast("list[Json]", value)]
    return value


def internal_rule(rule: Json) -> Json:
    """A rule."""
    return Struct(
        {
            "Rule": rule.get("rule", ""),
            "Message": rule.get("message", ""),
            "MessageExpression": rule.get("messageExpression", ""),
            "Reason": rule.get("reason"),
            "FieldPath": rule.get("fieldPath", ""),
            "OptionalOldSelf": rule.get("optionalOldSelf"),
        }
    )


def internal_version(version: Json, top: dict[str, bool]) -> Json:
    """A version of a definition, without what stands at the top of it because all versions have it alike."""
    schema = part(version, "schema").get("openAPIV3Schema")
    shown = None if top["schema"] or schema is None else {"OpenAPIV3Schema": internal_schema(schema)}
    columns = None if top["additionalPrinterColumns"] else version.get("additionalPrinterColumns")
    return Struct(
        {
            "Name": version.get("name", ""),
            "Served": version.get("served", False),
            "Storage": version.get("storage", False),
            "Deprecated": version.get("deprecated", False),
            "DeprecationWarning": version.get("deprecationWarning"),
            "Schema": shown,
            "Subresources": None if top["subresources"] else version.get("subresources"),
            "AdditionalPrinterColumns": columns,
            "SelectableFields": None if top["selectableFields"] else version.get("selectableFields"),
        }
    )

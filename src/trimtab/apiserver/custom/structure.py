"""Whether a schema is structural: every field has one type at one place, and logic only narrows what is there."""

from __future__ import annotations

from typing import Any, Final, TypeAlias, cast

from trimtab.apiserver import causes
from trimtab.apiserver.causes import Cause
from trimtab.apiserver.cel.regexes import PatternError, compile_pattern
from trimtab.apiserver.custom.equality import part

Json: TypeAlias = dict[str, Any]

_INT_OR_STRING: Final = [{"type": "integer"}, {"type": "string"}]
_JUNCTORS: Final = ("anyOf", "allOf", "oneOf")
_LEVELS: Final = {
    "root": "must not be empty at the root",
    "item": "must not be empty for specified array items",
    "field": "must not be empty for specified object fields",
}


def check_structural(schema: Json, path: str) -> list[Cause]:
    """What keeps a schema from being structural, sorted."""
    faults = [*_invariants(schema, "root", path), *_incomplete(schema, schema, path, path)]
    return sorted(faults, key=str)


def _invariants(schema: Json, level: str, path: str) -> list[Cause]:  # noqa: C901 - a list of conditions
    faults: list[Cause] = []
    kind = schema.get("type") or ""
    items = schema.get("items")
    if kind == "array" and items is None:
        faults.append(causes.required(f"{path}.items", "must be specified"))
    if isinstance(items, dict):
        faults += _invariants(cast("Json", items), "item", f"{path}.items")
    properties: dict[str, Json] = schema.get("properties") or {}
    for name, field in properties.items():
        faults += _invariants(field, "field", f"{path}.properties[{name}]")
    additional = schema.get("additionalProperties")
    if additional is not None:
        if level == "root":
            faults.append(causes.forbidden(f"{path}.additionalProperties", "must not be used at the root"))
        if isinstance(additional, dict):
            faults += _invariants(cast("Json", additional), "field", f"{path}.additionalProperties")
    faults += _extensions(schema, path)
    faults += _values(schema, path, level)
    embedded = bool(schema.get("x-kubernetes-embedded-resource"))
    faults += _typed(schema, level, path)
    if embedded and additional is not None:
        why = "must not be used if x-kubernetes-embedded-resource is set"
        faults.append(causes.forbidden(f"{path}.additionalProperties", why))
    if level == "root" and kind not in ("", "object"):
        faults.append(causes.invalid(f"{path}.type", kind, "must be object at the root"))
    if level == "root" or embedded:
        for name in ("kind", "apiVersion"):
            if name in properties and properties[name].get("type", "") != "string":
                at = f"{path}.properties[{name}].type"
                faults.append(causes.invalid(at, properties[name].get("type", ""), "must be string"))
        if "metadata" in properties:
            faults += _metadata(properties["metadata"], level, f"{path}.properties[metadata]")
    if embedded and not schema.get("x-kubernetes-preserve-unknown-fields") and not properties:
        why = "must not be empty if x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields"
        faults.append(causes.required(f"{path}.properties", why))
    return faults


def _typed(schema: Json, level: str, path: str) -> list[Cause]:
    kind = schema.get("type") or ""
    if schema.get("x-kubernetes-embedded-resource") and kind != "object":
        why = "must be object if x-kubernetes-embedded-resource is true"
        return [causes.invalid(f"{path}.type", kind, why) if kind else causes.required(f"{path}.type", why)]
    free = schema.get("x-kubernetes-int-or-string") or schema.get("x-kubernetes-preserve-unknown-fields")
    return [] if kind or free else [causes.required(f"{path}.type", _LEVELS[level])]


def _metadata(metadata: Json, level: str, path: str) -> list[Cause]:
    faults: list[Cause] = []
    if metadata.get("type", "") != "object":
        faults.append(causes.invalid(f"{path}.type", metadata.get("type", ""), "must be object"))
    if level == "root":
        rest = {key: value for key, value in metadata.items() if key not in ("type", "properties", "default") and value}
        others = set(metadata.get("properties") or {}) - {"name", "generateName"}
        if rest or others:
            why = "must not specify anything other than name and generateName, but metadata is implicitly specified"
            faults.append(causes.forbidden(path, why))
    return faults


def _extensions(schema: Json, path: str) -> list[Cause]:
    faults: list[Cause] = []
    if schema.get("x-kubernetes-int-or-string"):
        for name in ("preserve-unknown-fields", "embedded-resource"):
            if schema.get(f"x-kubernetes-{name}"):
                why = "must be false if x-kubernetes-int-or-string is true"
                faults.append(causes.invalid(f"{path}.x-kubernetes-{name}", True, why))
    return faults


def _values(schema: Json, path: str, level: str, *, skip_any: bool = False, skip_all_any: bool = False) -> list[Cause]:
    """What may stand in the junctors of a schema, and whether its pattern is one."""
    skip_any = skip_any or schema.get("anyOf") == _INT_OR_STRING
    all_of: list[Json] = schema.get("allOf") or []
    first_is_choice = skip_all_any or bool(all_of and all_of[0].get("anyOf") == _INT_OR_STRING)
    faults: list[Cause] = []
    for junctor in _JUNCTORS:
        if junctor == "anyOf" and skip_any:
            continue
        for index, nested in enumerate(schema.get(junctor) or ()):
            choice = junctor == "allOf" and index == 0 and first_is_choice
            faults += _nested(nested, f"{path}.{junctor}[{index}]", level, skip_any=choice)
    if schema.get("not") is not None:
        faults += _nested(schema["not"], f"{path}.not", level)
    pattern = schema.get("pattern")
    if pattern:
        try:
            compile_pattern(pattern)
        except PatternError as error:
            why = f"must be a valid regular expression, but isn't: {error}"
            faults.append(causes.invalid(f"{path}.pattern", pattern, why))
    return faults


_FORBIDDEN_INSIDE: Final = (
    ("type", "must be empty to be structural"),
    ("additionalProperties", "must be undefined to be structural"),
    ("default", "must be undefined to be structural"),
    ("title", "must be empty to be structural"),
    ("description", "must be empty to be structural"),
    ("nullable", "must be false to be structural"),
    ("x-kubernetes-preserve-unknown-fields", "must be false to be structural"),
    ("x-kubernetes-embedded-resource", "must be false to be structural"),
    ("x-kubernetes-int-or-string", "must be false to be structural"),
    ("x-kubernetes-list-map-keys", "must be empty to be structural"),
    ("x-kubernetes-list-type", "must be undefined to be structural"),
    ("x-kubernetes-map-type", "must be undefined to be structural"),
    ("x-kubernetes-validations", "must be empty to be structural"),
)


def _nested(nested: Json, path: str, level: str, *, skip_any: bool = False) -> list[Cause]:
    faults = _values(nested, path, level, skip_any=skip_any)
    if isinstance(nested.get("items"), dict):
        faults += _nested(nested["items"], f"{path}.items", level)
    properties: dict[str, Json] = nested.get("properties") or {}
    for name, field in properties.items():
        faults += _nested(field, f"{path}.properties[{name}]", "field")
    for name, why in _FORBIDDEN_INSIDE:
        if nested.get(name) or (name in ("additionalProperties", "default") and nested.get(name) is not None):
            faults.append(causes.forbidden(f"{path}.{name}", why))
    if "metadata" in properties:
        faults.append(causes.forbidden(f"{path}.properties[metadata]", "must not be specified in a nested context"))
    return faults


def _incomplete(values: Json, schema: Json | None, at: str, path: str) -> list[Cause]:
    """Whatever a junctor says something of must be specified outside of it too."""
    faults: list[Cause] = []
    nested = [(f"{path}.not", values["not"])] if values.get("not") is not None else []
    for junctor in ("allOf", "anyOf", "oneOf"):
        nested += [(f"{path}.{junctor}[{index}]", each) for index, each in enumerate(values.get(junctor) or ())]
    for where, each in nested:
        faults += _nested_incomplete(each, schema, at, where)
    return faults


def _nested_incomplete(nested: Json, schema: Any, at: str, path: str) -> list[Cause]:
    if not isinstance(schema, dict):
        return [causes.required(at, f"because it is defined in {path}")]
    known = cast("Json", schema)
    faults = _incomplete(nested, known, at, path)
    if isinstance(nested.get("items"), dict):
        faults += _nested_incomplete(nested["items"], known.get("items"), f"{at}.items", f"{path}.items")
    specified: dict[str, Json] = known.get("properties") or {}
    for name, field in part(nested, "properties").items():
        where, inside = f"{at}.properties[{name}]", f"{path}.properties[{name}]"
        faults += _nested_incomplete(field, specified.get(name), where, inside)
    return faults

"""Checking the schema in a definition: what OpenAPI has and Kubernetes has not, lists and maps, defaults, rules."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import Any, Final, TypeAlias, cast

from trimtab.apiserver import causes
from trimtab.apiserver.causes import Cause
from trimtab.apiserver.cel.bounds import UNLIMITED
from trimtab.apiserver.cel.declared import LARGEST_REQUEST
from trimtab.apiserver.custom.declaring import declare
from trimtab.apiserver.custom.defaults import check_defaults
from trimtab.apiserver.custom.equality import part
from trimtab.apiserver.custom.fieldpaths import normalized
from trimtab.apiserver.custom.internal import internal_rule, internal_schema
from trimtab.apiserver.custom.rules import Rule, compile_rules
from trimtab.apiserver.custom.structure import check_structural

Json: TypeAlias = dict[str, Any]

RULE_LIMIT: Final = 10_000_000
"""What one rule may cost at worst, for all places where it is evaluated in an object."""
SCHEMA_LIMIT: Final = 100_000_000
"""What all rules of a schema may cost at worst."""

_TYPES: Final = ("array", "boolean", "integer", "number", "object", "string")
_META: Final = ("metadata", "kind", "apiVersion")
_REASONS: Final = ("FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired")
_UNSUPPORTED: Final = (
    ("id", "id"), ("additionalItems", "additionalItems"), ("patternProperties", "patternProperties"),
    ("definitions", "definitions"), ("dependencies", "dependencies"), ("$ref", "$ref"),
)  # fmt: skip
_ALLOWED_AT_ROOT: Final = (
    "Description Type Format Title Maximum ExclusiveMaximum Minimum ExclusiveMinimum MaxLength MinLength Pattern "
    "MaxItems MinItems UniqueItems MultipleOf Required Items Properties ExternalDocs Example XPreserveUnknownFields "
    "XValidations"
)
_ALLOWED_NAMES: Final = frozenset(
    [
        "description",
        "type",
        "format",
        "title",
        "maximum",
        "exclusiveMaximum",
        "minimum",
        "exclusiveMinimum",
        "maxLength",
        "minLength",
        "pattern",
        "maxItems",
        "minItems",
        "uniqueItems",
        "multipleOf",
        "required",
        "items",
        "properties",
        "externalDocs",
        "example",
        "x-kubernetes-preserve-unknown-fields",
        "x-kubernetes-validations",
    ]
)
_LINE_BREAK: Final = re.compile("[\n\r]")
_HINT: Final = (
    "(try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are "
    "declared)"
)


@dataclass(slots=True)
class _Costs:
    """What the rules of a schema cost together, and which of them most."""

    total: int = 0
    largest: list[tuple[int, str]] = field(default_factory=list[tuple[int, str]])

    def add(self, path: str, cost: int) -> None:
        self.total = min(self.total + cost, UNLIMITED)
        if cost >= SCHEMA_LIMIT // 100:
            self.largest.append((cost, path))
            self.largest.sort(key=lambda each: -each[0])
            del self.largest[4:]


@dataclass(frozen=True, slots=True)
class _Place:
    """Where in the schema a node stands, and what follows from that."""

    path: str
    costs: _Costs | None
    """None where rules are not looked at: inside logic, or in a schema that is not structural."""
    times: int | None = 1
    """How often a value of it can be in an object; None where nothing bounds that."""
    root: bool = False
    no_defaults: str | None = None
    in_metadata: bool = False
    uncorrelated: str | None = None
    """The path of the first list or map around it whose parts cannot be told to be what they were."""

    def at(self, suffix: str) -> str:
        return f"{self.path}.{suffix}"


def check_schema(schema: Json, path: str, *, has_status: bool) -> list[Cause]:
    """What is wrong with a schema, at the path of its openAPIV3Schema."""
    faults: list[Cause] = []
    if has_status:
        faults += _root_fields(schema, path)
    if schema.get("nullable"):
        faults.append(causes.forbidden(f"{path}.nullable", "nullable cannot be true at the root"))
    unreadable = _has_unsupported(schema)
    broken = [] if unreadable else check_structural(schema, path) or check_defaults(schema, path)
    faults += broken
    costs = None if broken or unreadable else _Costs()
    of_schema, of_rules = _check(schema, _Place(path, costs, root=True))
    faults += of_schema
    faults += of_rules
    if costs is not None and costs.total > SCHEMA_LIMIT:
        contributed = "contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema"
        faults += [causes.forbidden(each, contributed) for _, each in costs.largest]
        what = "x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema"
        faults.append(causes.forbidden(path, _too_costly(what, costs.total, SCHEMA_LIMIT)))
    return faults


def _has_unsupported(schema: Json) -> bool:
    """Whether it has parts that keep the server from reading its structure; of those alone it tells then."""
    todo: list[Any] = [schema]
    while todo:
        node = todo.pop()
        if isinstance(node, list):
            todo += cast("list[Any]", node)
        if not isinstance(node, dict):
            continue
        found = cast("Json", node)
        if found.get("$schema") or any(found.get(name) for name, _ in _UNSUPPORTED):
            return True
        todo += cast("dict[str, Any]", found.get("properties") or {}).values()
        todo += [found.get(name) for name in ("items", "additionalProperties", "allOf", "anyOf", "oneOf", "not")]
    return False


def _root_fields(schema: Json, path: str) -> list[Cause]:
    if schema.get("type", "") not in ("", "object"):
        why = 'only "object" is allowed as the type at the root of the schema if the status subresource is enabled'
        return [causes.invalid(f"{path}.type", schema["type"], why)]
    for name, value in schema.items():
        if name not in _ALLOWED_NAMES and value not in (None, False, [], {}, ""):
            where = "at the root of the schema if the status subresource is enabled"
            why = f"only [{_ALLOWED_AT_ROOT}] fields are allowed {where}"
            return [causes.invalid(path, internal_schema(schema), why)]
    return []


def _too_costly(what: str, cost: int, limit: int) -> str:
    factor = cost / limit
    shown = "more than 100x" if factor > 100 else f"{factor:f}x" if factor < 1.5 else f"{factor:.1f}x"
    return f"{what} exceeds budget by factor of {shown} {_HINT}"


def _check(schema: Json, place: _Place) -> tuple[list[Cause], list[Cause]]:
    """The faults of a schema and of all in it: those of OpenAPI, and those of rules."""
    own = [*_supported(schema, place), *_exclusive(schema, place)]
    inside: list[Cause] = []
    for child, where in _children(schema, place):
        of_schema, of_rules = _check(child, where)
        own += of_schema
        inside += of_rules
    own += _extensions(schema, place)
    if schema.get("x-kubernetes-list-type") in ("set", "map"):
        own += _correlatable(schema, place)
    rules: list[Json] = schema.get("x-kubernetes-validations") or []
    for index, rule in enumerate(rules):
        own += _rule(rule, schema, f"{place.path}.x-kubernetes-validations[{index}]")
    if rules and not own and place.costs is not None:
        inside += _compiled_rules(schema, place, place.costs)
    return own, inside


def _supported(schema: Json, place: _Place) -> list[Cause]:
    faults: list[Cause] = []
    kind = schema.get("type") or ""
    if kind and kind not in _TYPES:
        faults.append(causes.unsupported(place.at("type"), kind, _TYPES))
    if schema.get("default") is not None and place.no_defaults is not None:
        faults.append(causes.forbidden(place.at("default"), f"must not be set {place.no_defaults}".strip()))
    faults += [
        causes.forbidden(place.at(name), f"{shown} is not supported")
        for name, shown in _UNSUPPORTED
        if schema.get(name) not in (None, "", {}, [])
    ]
    if kind == "null":
        faults.append(causes.forbidden(place.at("type"), "type cannot be set to null, use nullable as an alternative"))
    if isinstance(schema.get("items"), list):
        faults.append(causes.forbidden(place.at("items"), "items must be a schema object and not an array"))
    if place.in_metadata and schema.get("x-kubernetes-embedded-resource"):
        why = "must not be used inside of resource meta"
        faults.append(causes.forbidden(place.at("x-kubernetes-embedded-resource"), why))
    return faults


def _exclusive(schema: Json, place: _Place) -> list[Cause]:
    faults: list[Cause] = []
    if schema.get("uniqueItems"):
        why = "uniqueItems cannot be set to true since the runtime complexity becomes quadratic"
        faults.append(causes.forbidden(place.at("uniqueItems"), why))
    additional = schema.get("additionalProperties")
    if additional is not None and additional is not True and schema.get("properties"):
        why = "additionalProperties and properties are mutual exclusive"
        faults.append(causes.forbidden(place.at("additionalProperties"), why))
    return faults


def _children(schema: Json, place: _Place) -> list[tuple[Json, _Place]]:
    found: list[tuple[Json, _Place]] = []
    below = replace(place, root=False, times=_times(schema, place.times))
    additional = schema.get("additionalProperties")
    if isinstance(additional, dict):
        where = replace(below, path=place.at("additionalProperties"))
        if place.in_metadata:
            where = replace(where, no_defaults="inside additionalProperties applying to object metadata")
        found.append((cast("Json", additional), where))
    for name, child in part(schema, "properties").items():
        where = replace(below, path=f"{place.path}.properties[{name}]")
        if schema.get("x-kubernetes-map-type") not in (None, "granular", "atomic"):
            where = replace(where, uncorrelated=place.uncorrelated or place.path)
        if (place.root or schema.get("x-kubernetes-embedded-resource")) and name in _META:
            where = replace(where, in_metadata=True)
            if place.root:
                where = replace(where, no_defaults=f"in top-level {name}")
        found.append((child, where))
    logic = replace(below, costs=None)
    if schema.get("not") is not None:
        found.append((schema["not"], replace(logic, path=place.at("not"))))
    for junctor in ("allOf", "oneOf", "anyOf"):
        for index, child in enumerate(schema.get(junctor) or ()):
            found.append((child, replace(logic, path=f"{place.path}.{junctor}[{index}]")))
    if isinstance(schema.get("items"), dict):
        where = replace(below, path=place.at("items"))
        if schema.get("x-kubernetes-list-type") != "map":
            where = replace(where, uncorrelated=place.uncorrelated or place.path)
        found.append((schema["items"], where))
    return found


def _times(schema: Json, times: int | None) -> int | None:
    if times is None:
        return None
    if schema.get("type") == "array":
        most = schema.get("maxItems")
    elif schema.get("type") == "object" and schema.get("additionalProperties") is not None:
        most = schema.get("maxProperties")
    else:
        return times
    return None if most is None else min(times * max(most, 0), UNLIMITED)


def _extensions(schema: Json, place: _Place) -> list[Cause]:
    faults: list[Cause] = []
    kind = schema.get("type") or ""
    if schema.get("x-kubernetes-preserve-unknown-fields") is False:
        at = place.at("x-kubernetes-preserve-unknown-fields")
        faults.append(causes.invalid(at, False, "must be true or undefined"))
    map_type, list_type = schema.get("x-kubernetes-map-type"), schema.get("x-kubernetes-list-type")
    for extension, given, wanted in (("map", map_type, "object"), ("list", list_type, "array")):
        if given is not None and kind != wanted:
            why = f"must be {wanted} if x-kubernetes-{extension}-type is specified"
            at = place.at("type")
            faults.append(causes.invalid(at, kind, why) if kind else causes.required(at, why))
    if map_type not in (None, "atomic", "granular"):
        faults.append(causes.unsupported(place.at("x-kubernetes-map-type"), map_type, ("atomic", "granular")))
    items = schema.get("items")
    if list_type == "set" and kind == "array" and isinstance(items, dict):
        faults += _atomic_items(cast("Json", items), place)
    if list_type not in (None, "atomic", "set", "map"):
        faults.append(causes.unsupported(place.at("x-kubernetes-list-type"), list_type, ("atomic", "set", "map")))
    keys = schema.get("x-kubernetes-list-map-keys")
    if keys and list_type != "map":
        why = "must be map if x-kubernetes-list-map-keys is non-empty"
        at = place.at("x-kubernetes-list-type")
        faults.append(causes.required(at, why) if list_type is None else causes.invalid(at, list_type, why))
    if list_type == "map":
        faults += _map_keys(schema, keys or [], place)
    return faults


def _atomic_items(items: Json, place: _Place) -> list[Cause]:
    why = "must be atomic as item of a list with x-kubernetes-list-type=set"
    given = items.get("x-kubernetes-list-type")
    if items.get("type") == "array" and given not in (None, "atomic"):
        return [causes.invalid(place.at("items.x-kubernetes-list-type"), given, why)]
    if items.get("type") == "object" and items.get("x-kubernetes-map-type") != "atomic":
        return [causes.invalid(place.at("items.x-kubernetes-map-type"), given, why)]
    return []


def _map_keys(schema: Json, keys: list[str], place: _Place) -> list[Cause]:
    faults: list[Cause] = []
    at = place.at("x-kubernetes-list-map-keys")
    if not keys:
        faults.append(causes.required(at, "must not be empty if x-kubernetes-list-type is map"))
    items = schema.get("items")
    if items is None:
        faults.append(causes.required(place.at("items"), "must have a schema if x-kubernetes-list-type is map"))
    if not isinstance(items, dict):
        return faults
    item = cast("Json", items)
    if item.get("type", "") != "object":
        why = "must be object if parent array's x-kubernetes-list-type is map"
        faults.append(causes.invalid(place.at("items.type"), item.get("type", ""), why))
        return faults
    seen: set[str] = set()
    for key in keys:
        found = part(item, "properties").get(key)
        if found is None:
            faults.append(causes.invalid(at, keys, "entries must all be names of item properties"))
        elif found.get("type") in ("array", "object"):
            why = "must be a scalar type if parent array's x-kubernetes-list-type is map"
            faults.append(causes.invalid(place.at(f"items.properties[{key}].type"), item["type"], why))
        if key in seen:
            faults.append(causes.invalid(at, keys, "must not contain duplicate entries"))
        seen.add(key)
    return faults


def _correlatable(schema: Json, place: _Place) -> list[Cause]:
    items = schema.get("items")
    if not isinstance(items, dict):
        return []
    item = cast("Json", items)
    kind = schema["x-kubernetes-list-type"]
    faults: list[Cause] = []
    if item.get("nullable"):
        why = f"cannot be nullable when x-kubernetes-list-type is {kind}"
        faults.append(causes.forbidden(place.at("items.nullable"), why))
    for key in (schema.get("x-kubernetes-list-map-keys") or ()) if kind == "map" else ():
        found = part(item, "properties").get(key)
        if found is None:
            continue
        at = place.at(f"items.properties[{key}]")
        if key not in (item.get("required") or ()) and found.get("default") is None:
            why = "this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property"
            faults.append(causes.required(f"{at}.default", why))
        if found.get("nullable"):
            why = "this property is in x-kubernetes-list-map-keys, so it cannot be nullable"
            faults.append(causes.forbidden(f"{at}.nullable", why))
    return faults


def _rule(rule: Json, schema: Json, path: str) -> list[Cause]:
    """What is wrong with how a rule is written down, apart from its expression."""
    faults: list[Cause] = []
    text, message = rule.get("rule", "").strip(), rule.get("message", "").strip()
    if not text:
        faults.append(causes.required(f"{path}.rule", "rule is not specified"))
    elif rule.get("message") and not message:
        faults.append(causes.invalid(f"{path}.message", rule["message"], "must be non-empty if specified"))
    elif _LINE_BREAK.search(message):
        faults.append(causes.invalid(f"{path}.message", rule["message"], "must not contain line breaks"))
    elif _LINE_BREAK.search(text) and not message:
        why = "message must be specified if rule contains line breaks"
        faults.append(causes.required(f"{path}.message", why))
    if rule.get("messageExpression") and not rule["messageExpression"].strip():
        why = "messageExpression must be non-empty if specified"
        faults.append(causes.required(f"{path}.messageExpression", why))
    if rule.get("reason") is not None and rule["reason"] not in _REASONS:
        faults.append(causes.unsupported(f"{path}.reason", rule["reason"], _REASONS))
    at = rule.get("fieldPath") or ""
    if at and not at.strip():
        faults.append(causes.invalid(f"{path}.fieldPath", at, "must be non-empty if specified"))
    if _LINE_BREAK.search(at):
        faults.append(causes.invalid(f"{path}.fieldPath", at, "must not contain line breaks"))
    if at and normalized(at, schema) is None:
        faults.append(causes.invalid(f"{path}.fieldPath", at, "must be a valid path"))
    return faults


def _compiled_rules(schema: Json, place: _Place, costs: _Costs) -> list[Cause]:
    embedded = bool(schema.get("x-kubernetes-embedded-resource"))
    declared = declare(schema, root=place.root or embedded)
    if declared is None:
        at = place.at("x-kubernetes-validations")
        why = "internal error: failed to construct type information for x-kubernetes-validations rules: "
        return [
            Cause("InternalError", f"Internal error: {why}unable to convert structural schema to CEL declarations", at)
        ]
    times = place.times if place.times is not None else LARGEST_REQUEST // (declared.least_bytes + 1)
    faults: list[Cause] = []
    for index, rule in enumerate(compile_rules(schema, declared)):
        at = f"{place.path}.x-kubernetes-validations[{index}]"
        cost = min(rule.cost.most * times, UNLIMITED) if rule.cost else 0
        if cost > RULE_LIMIT:
            faults.append(causes.forbidden(f"{at}.rule", _too_costly("estimated rule cost", cost, RULE_LIMIT)))
        costs.add(f"{at}.rule", cost)
        if rule.problem:
            faults.append(causes.invalid(f"{at}.rule", internal_rule(rule.given), rule.problem))
        faults += _message_faults(rule, at, costs)
        faults += _old_self_faults(rule, at, place)
    return faults


def _message_faults(rule: Rule, at: str, costs: _Costs) -> list[Cause]:
    if rule.message_problem:
        return [causes.invalid(f"{at}.messageExpression", internal_rule(rule.given), rule.message_problem)]
    if rule.message is None:
        return []
    cost = rule.message.estimate.most
    costs.add(f"{at}.messageExpression", cost)
    if cost <= RULE_LIMIT:
        return []
    why = _too_costly("estimated messageExpression cost", cost, RULE_LIMIT)
    return [causes.forbidden(f"{at}.messageExpression", why)]


def _old_self_faults(rule: Rule, at: str, place: _Place) -> list[Cause]:
    if rule.uses_old:
        if place.uncorrelated is None:
            return []
        why = f"oldSelf cannot be used on the uncorrelatable portion of the schema within {place.uncorrelated}"
        return [causes.invalid(f"{at}.rule", rule.given["rule"], why)]
    if rule.given.get("optionalOldSelf") is None:
        return []
    why = "may not be set if oldSelf is not used in rule"
    return [causes.invalid(f"{at}.optionalOldSelf", rule.given["optionalOldSelf"], why)]

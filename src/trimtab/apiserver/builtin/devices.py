"""What classes of devices, claims for them and slices of them have in common; and the classes."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Hashable
from functools import cache
from typing import Any, Final, TypeAlias, cast

from trimtab.apiserver import causes, names
from trimtab.apiserver.builtin import texts
from trimtab.apiserver.causes import Cause
from trimtab.apiserver.cel import types as t
from trimtab.apiserver.cel.declared import Declared
from trimtab.apiserver.cel.errors import CelError
from trimtab.apiserver.cel.program import Environment, Variable

Json: TypeAlias = dict[str, Any]
CheckItem: TypeAlias = Callable[[Any, str], list[Cause]]

ID_MOST: Final = 32
DOMAIN_MOST: Final = 63
VALUE_MOST: Final = 64
ATTRIBUTES_MOST: Final = 32
CONFIG_MOST: Final = 32
SELECTORS_MOST: Final = 32
PARAMETERS_MOST: Final = 10 << 10
_DRIVER_MOST: Final = 63
_POOL_MOST: Final = 253
_BINDING_MOST: Final = 4
_EXPRESSION_MOST: Final = 10 << 10
_COST_MOST: Final = 1_000_000
_TAINT_EFFECTS: Final = ("NoExecute", "NoSchedule", "None")
_OPERATORS: Final = ("Equal", "Exists")
_IDENTIFIER: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_EXTENDED: Final = "must be a valid extended resource name"
_REQUESTS_PREFIX: Final = "requests."


# Classes


def check_class(obj: Json) -> list[Cause]:
    """What is wrong with a DeviceClass."""
    spec = texts.spec_of(obj)
    found = check_list(spec, "spec", "selectors", SELECTORS_MOST, check_selector)
    found += check_list(spec, "spec", "config", CONFIG_MOST, check_configuration)
    extended = spec.get("extendedResourceName")
    if extended is not None and not _is_extended(extended):
        found.append(causes.invalid("spec.extendedResourceName", extended, _EXTENDED))
    return found


def _is_extended(name: str) -> bool:
    if "/" not in name or "kubernetes.io/" in name or name.startswith(_REQUESTS_PREFIX):
        return False
    return not names.qualified(_REQUESTS_PREFIX + name)


# Lists and maps


def check_list(obj: Json, path: str, name: str, most: int, check: CheckItem) -> list[Cause]:
    """What is wrong with a list and its items; of one that is too long, no more than that is told."""
    items = texts.numbered(obj, path, name)
    if 0 <= most < len(items):
        return [causes.too_many(f"{path}.{name}", len(items), most)]
    return [fault for where, each in items for fault in check(each, where)]


def check_set(
    obj: Json, path: str, name: str, most: int, check: CheckItem, key: Callable[[Any], Hashable]
) -> list[Cause]:
    """The same of a list in which nothing may be twice."""
    items = texts.numbered(obj, path, name)
    found = check_list(obj, path, name, most, check)
    if 0 <= most < len(items):
        return found
    taken: set[Hashable] = set()
    for where, each in items:
        if key(each) in taken:
            found.append(causes.duplicate(where, key(each)))
        taken.add(key(each))
    return found


def check_map(obj: Json, path: str, name: str, check_key: CheckItem, check: CheckItem) -> list[Cause]:
    """What is wrong with the keys and values of a map."""
    where = f"{path}.{name}"
    found: list[Cause] = []
    for key, each in texts.part(obj, name).items():
        found += check_key(key, where) + check(each, f"{where}[{key}]")
    return found


def itself(item: Any) -> Any:
    """A text is its own key."""
    return item


def name_of(item: Json) -> str:
    """The key of what has a name."""
    return item.get("name", "")


# Names


def check_driver(name: str, path: str) -> list[Cause]:
    """What is wrong with the name of a driver."""
    if not name:
        return [causes.required(path)]
    found = [causes.too_long(path, f"may not be more than {_DRIVER_MOST} bytes")] if len(name) > _DRIVER_MOST else []
    return found + texts.follows(path, name, lambda each: names.subdomain(each.lower()))


def check_pool(name: str, path: str) -> list[Cause]:
    """What is wrong with the name of a pool."""
    if not name:
        return [causes.required(path)]
    found = [causes.too_long(path, f"may not be more than {_POOL_MOST} bytes")] if len(name) > _POOL_MOST else []
    return found + [fault for part in name.split("/") for fault in texts.follows(path, part, names.subdomain)]


def check_label(name: str, path: str) -> list[Cause]:
    """What is wrong with the name of a device, a request or a counter."""
    return texts.follows(path, name, names.label)


def check_condition_name(name: str, path: str) -> list[Cause]:
    """What is wrong with a name as labels have it."""
    return texts.follows(path, name, names.qualified)


def check_qualified(name: str, path: str) -> list[Cause]:
    """What is wrong with the name of an attribute or a capacity: an identifier, after a domain or alone."""
    parts = name.split("/")
    if len(parts) == 1:
        return _check_identifier(name, path)
    if len(parts) > 2:
        return []
    domain, part = parts
    found = check_driver(domain, path) if domain else [causes.invalid(path, "", "the domain must not be empty")]
    return found + (_check_identifier(part, path) if part else [causes.invalid(path, "", "the name must not be empty")])


def check_fully_qualified(name: str, path: str) -> list[Cause]:
    """The same where the domain has to be there."""
    found = check_qualified(name, path)
    if "/" not in name:
        why = "a fully qualified name must be a domain and a name separated by a slash"
        found.append(causes.invalid(path, name, why))
    return found


def _check_identifier(name: str, path: str) -> list[Cause]:
    found = [causes.too_long(path, f"may not be more than {ID_MOST} bytes")] if len(name) > ID_MOST else []
    if not _IDENTIFIER.fullmatch(name):
        why = (
            "a valid C identifier must start with alphabetic character or '_', followed by a string of alphanumeric "
            "characters or '_' (e.g. 'my_name',  or 'MY_NAME',  or 'MyName', regex used for validation is "
            f"'{_IDENTIFIER.pattern}')"
        )
        found.append(causes.invalid(path, name, why))
    return found


# Parts


def check_configuration(config: Json, path: str) -> list[Cause]:
    """What is wrong with what a driver is told."""
    opaque = cast("Json | None", config.get("opaque"))
    if opaque is None:
        return [causes.required(f"{path}.opaque")]
    found = check_driver(opaque.get("driver", ""), f"{path}.opaque.driver")
    return found + check_raw(opaque.get("parameters"), f"{path}.opaque.parameters")


def check_raw(value: Any, path: str) -> list[Cause]:
    """What is wrong with something that has to be an object of whichever kind."""
    if value is None:
        return [causes.required(path)]
    if len(json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()) > PARAMETERS_MOST:
        return [causes.too_long(path, f"may not be more than {PARAMETERS_MOST} bytes")]
    return [] if isinstance(value, dict) else [causes.invalid(path, "<value omitted>", "must be a valid JSON object")]


def check_toleration(toleration: Json, path: str) -> list[Cause]:
    """What is wrong with what puts up with a taint."""
    key, value, effect = (toleration.get(name, "") for name in ("key", "value", "effect"))
    found = check_condition_name(key, f"{path}.key") if key else []
    operator = toleration.get("operator", "")
    if operator == "Exists":
        if value:
            found.append(causes.invalid(f"{path}.value", value, "must be empty for operator `Exists`"))
    elif operator == "Equal":
        found += texts.follows(f"{path}.value", value, names.label_value)
    elif operator:
        found.append(causes.unsupported(f"{path}.operator", operator, _OPERATORS))
    else:
        found.append(causes.required(f"{path}.operator"))
    if effect and effect not in _TAINT_EFFECTS:
        found.append(causes.unsupported(f"{path}.effect", effect, _TAINT_EFFECTS))
    return found


def check_taint(taint: Json, path: str) -> list[Cause]:
    """What is wrong with a taint."""
    found = check_condition_name(taint.get("key", ""), f"{path}.key")
    if value := taint.get("value"):
        found += texts.follows(f"{path}.value", value, names.label_value)
    effect = taint.get("effect", "")
    if not effect:
        found.append(causes.required(f"{path}.effect"))
    elif effect not in _TAINT_EFFECTS:
        found.append(causes.unsupported(f"{path}.effect", effect, _TAINT_EFFECTS))
    return found


def check_binding(obj: Json, path: str) -> list[Cause]:
    """What is wrong with the conditions that are waited for before a Pod is bound, and with those that end that."""
    found: list[Cause] = []
    for name in ("bindingConditions", "bindingFailureConditions"):
        found += check_list(obj, path, name, _BINDING_MOST, check_condition_name)
    wanted, failing = (
        cast("list[str]", obj.get(name) or []) for name in ("bindingConditions", "bindingFailureConditions")
    )
    for place, each in enumerate(wanted):
        if each in wanted[:place]:
            found.append(causes.duplicate(f"{path}.bindingConditions[{place}]", each))
    for place, each in enumerate(failing):
        where = f"{path}.bindingFailureConditions[{place}]"
        if each in failing[:place]:
            found.append(causes.duplicate(where, each))
        if each in wanted:
            found.append(
                causes.invalid(where, each, "bindingFailureConditions must not overlap with bindingConditions")
            )
    if failing and not wanted:
        why = "bindingConditions are required to use bindingFailureConditions"
        found.append(causes.invalid(f"{path}.bindingConditions", obj.get("bindingConditions"), why))
    if wanted and not failing:
        why = "bindingFailureConditions are required to use bindingConditions"
        found.append(causes.invalid(f"{path}.bindingFailureConditions", obj.get("bindingFailureConditions"), why))
    return found


# Selectors


def check_selector(selector: Json, path: str) -> list[Cause]:
    """What is wrong with an expression that selects devices."""
    given = cast("Json | None", selector.get("cel"))
    if given is None:
        return [causes.required(f"{path}.cel")]
    source, where = cast("str", given.get("expression", "")), f"{path}.cel.expression"
    if len(source.encode()) > _EXPRESSION_MOST:
        return [causes.too_long(where, f"may not be more than {_EXPRESSION_MOST} bytes")]
    try:
        program = _environment().compile(source)
    except CelError as error:
        return [causes.invalid(where, source, f"compilation failed: {error}")]
    if program.type not in (t.BOOL, t.DYN):
        why = f"must evaluate to bool or the unknown type, not {program.type.declared}"
        return [causes.invalid(where, source, why)]
    if program.estimate.most > _COST_MOST:
        return [causes.forbidden(where, "too complex, exceeds cost limit")]
    return []


@cache
def _environment() -> Environment:
    """What an expression sees of a device."""

    def text(most: int) -> Declared:
        return Declared("string", t.STRING, most=most)

    def by_domain(inner: Declared) -> Declared:
        named = Declared("map", t.map_of(t.STRING, inner.type), element=inner, most=ATTRIBUTES_MOST)
        return Declared("map", t.map_of(t.STRING, named.type), element=named, most=ATTRIBUTES_MOST)

    fields = {
        "driver": text(_DRIVER_MOST),
        "attributes": by_domain(Declared("unknown", t.DYN, most=VALUE_MOST)),
        "capacity": by_domain(Declared("unknown", t.QUANTITY)),
        "allowMultipleAllocations": Declared("boolean", t.BOOL),
    }
    device = Declared("object", t.struct("kubernetes.DRADevice"), fields=fields, properties=fields)
    return Environment({"device": Variable(device.type, device)}, binds=True)

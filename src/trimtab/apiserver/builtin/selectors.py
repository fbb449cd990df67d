"""The rules for labels and for what selects by them, wherever they stand."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, TypeAlias, cast

from trimtab.apiserver import causes, names
from trimtab.apiserver.causes import Cause

Json: TypeAlias = dict[str, Any]

_SET: Final = ("In", "NotIn")
_THERE: Final = ("Exists", "DoesNotExist")


def check_labels(labels: Mapping[str, str], field: str) -> list[Cause]:
    """What is wrong with labels."""
    found: list[Cause] = []
    for key, value in labels.items():
        found += [causes.invalid(field, key, why) for why in names.qualified(key)]
        found += [causes.invalid(field, value, why) for why in names.label_value(value)]
    return found


def check_selector(selector: Json, path: str) -> list[Cause]:
    """What is wrong with a label selector."""
    found = check_labels(selector.get("matchLabels") or {}, f"{path}.matchLabels")
    for index, each in enumerate(selector.get("matchExpressions") or ()):
        where = f"{path}.matchExpressions[{index}]"
        operator, values = each.get("operator"), each.get("values")
        if operator in _SET:
            if not values:
                found.append(causes.required(f"{where}.values", "must be specified when `operator` is 'In' or 'NotIn'"))
        elif operator in _THERE:
            if values:
                why = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
                found.append(causes.forbidden(f"{where}.values", why))
        else:
            found.append(causes.invalid(f"{where}.operator", operator, "not a valid selector operator"))
        key = each.get("key", "")
        found += [causes.invalid(f"{where}.key", key, why) for why in names.qualified(key)]
        for at, value in enumerate(cast("list[str]", values or [])):
            found += [causes.invalid(f"{where}.values[{at}]", value, why) for why in names.label_value(value)]
    return found


def selects(selector: Json, labels: Mapping[str, str]) -> bool:
    """Whether a label selector that is not wrong takes these labels."""
    wanted = cast("dict[str, str]", selector.get("matchLabels") or {})
    if any(labels.get(key) != value for key, value in wanted.items()):
        return False
    return all(_takes(each, labels) for each in selector.get("matchExpressions") or ())


def _takes(each: Json, labels: Mapping[str, str]) -> bool:
    there, operator = labels.get(each["key"]), each["operator"]
    if operator == "In":
        return there in each["values"]
    if operator == "NotIn":
        return there not in each["values"]
    return (there is None) == (operator == "DoesNotExist")


def is_empty(selector: Json) -> bool:
    """Whether a selector takes everything."""
    return not selector.get("matchLabels") and not selector.get("matchExpressions")


def shown(selector: Json) -> causes.Struct:
    """A selector as the server shows its own."""
    made = causes.Struct()
    if selector.get("matchLabels"):
        made["matchLabels"] = selector["matchLabels"]
    if selector.get("matchExpressions"):
        made["matchExpressions"] = [
            causes.Struct({name: each[name] for name in ("key", "operator", "values") if each.get(name)})
            for each in selector["matchExpressions"]
        ]
    return made

"""What is wrong with what a Job does about Pods that fail."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, Final, TypeAlias, cast

from trimtab.apiserver import causes, names
from trimtab.apiserver.builtin import texts
from trimtab.apiserver.causes import Cause

Json: TypeAlias = dict[str, Any]

_RULES_MOST: Final = 20
_CONDITIONS_MOST: Final = 20
_CODES_MOST: Final = 255
_ACTIONS: Final = ("Count", "FailIndex", "FailJob", "Ignore")
_STATUSES: Final = ("False", "True", "Unknown")
_OPERATORS: Final = ("In", "NotIn")


def check_policy(spec: Json, path: str) -> list[Cause]:
    """What is wrong with the policy of a Job."""
    rules = texts.numbered(spec["podFailurePolicy"], path, "rules")
    found = [causes.too_many(f"{path}.rules", len(rules), _RULES_MOST)] if len(rules) > _RULES_MOST else []
    pod = texts.part(texts.part(spec, "template"), "spec")
    containers = {
        each.get("name", "")
        for field in ("containers", "initContainers")
        for each in cast("list[Json]", pod.get(field) or [])
    }
    for where, rule in rules:
        found += _check_rule(rule, where, containers, indexed=spec.get("backoffLimitPerIndex") is not None)
    return found


def _check_rule(rule: Json, path: str, containers: set[str], *, indexed: bool) -> list[Cause]:
    action, codes, conditions = rule.get("action", ""), rule.get("onExitCodes"), rule.get("onPodConditions")
    if action == "FailIndex" and not indexed:
        why = "requires the backoffLimitPerIndex to be set"
        found = [causes.invalid(f"{path}.action", action, why)]
    else:
        found = _check_word(rule, path, "action", _ACTIONS)
    if codes is not None:
        found += _check_codes(codes, f"{path}.onExitCodes", containers)
    if conditions:
        found += _check_conditions(rule, path)
    if (codes is not None) == bool(conditions):
        both = "specifying both OnExitCodes and OnPodConditions is not supported"
        why = both if conditions else "specifying one of OnExitCodes and OnPodConditions is required"
        found.append(Cause("FieldValueInvalid", f"Invalid value: {why}", path))
    return found


def _check_word(obj: Json, path: str, name: str, words: tuple[str, ...]) -> list[Cause]:
    value = obj.get(name, "")
    if not value:
        listed = " ".join(causes.quoted(word) for word in words)
        return [causes.required(f"{path}.{name}", f"valid values: [{listed}]")]
    return texts.one_of_needed(f"{path}.{name}", value, words)


def _check_conditions(rule: Json, path: str) -> list[Cause]:
    patterns = texts.numbered(rule, path, "onPodConditions")
    found: list[Cause] = []
    if len(patterns) > _CONDITIONS_MOST:
        found.append(causes.too_many(f"{path}.onPodConditions", len(patterns), _CONDITIONS_MOST))
    for where, pattern in patterns:
        found += texts.follows(f"{where}.type", pattern.get("type", ""), names.qualified)
        found += _check_word(pattern, where, "status", _STATUSES)
    return found


def _check_codes(codes: Json, path: str, containers: set[str]) -> list[Cause]:
    found = _check_word(codes, path, "operator", _OPERATORS)
    name, values = codes.get("containerName"), cast("list[int]", codes.get("values") or [])
    if name is not None and name not in containers:
        why = "must be one of the container or initContainer names in the pod template"
        found.append(causes.invalid(f"{path}.containerName", name, why))
    if not values:
        found.append(causes.invalid(f"{path}.values", codes.get("values"), "at least one value is required"))
    elif len(values) > _CODES_MOST:
        found.append(causes.too_many(f"{path}.values", len(values), _CODES_MOST))
    for place, value in enumerate(values):
        where = f"{path}.values[{place}]"
        if codes.get("operator") == "In" and value == 0:
            found.append(causes.invalid(where, value, "must not be 0 for the In operator"))
        if value in values[:place]:
            found.append(causes.duplicate(where, value))
    if any(one > other for one, other in pairwise(values)):
        found.append(causes.invalid(f"{path}.values", values, "must be ordered"))
    return found

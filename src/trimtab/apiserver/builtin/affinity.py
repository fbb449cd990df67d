"""What is wrong with where Pods want to be: affinity to nodes and Pods, and how they spread."""

from __future__ import annotations

from typing import Any, Final, TypeAlias, cast

from trimtab.apiserver import causes, names
from trimtab.apiserver.builtin import texts
from trimtab.apiserver.builtin.selectors import check_selector
from trimtab.apiserver.causes import Cause

Json: TypeAlias = dict[str, Any]

_REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED: Final = "preferredDuringSchedulingIgnoredDuringExecution"
_HEAVIEST: Final = 100


def check_affinity(affinity: Json, path: str) -> list[Cause]:
    """What is wrong with an affinity."""
    found: list[Cause] = []
    if nodes := affinity.get("nodeAffinity"):
        found += _check_nodes(nodes, f"{path}.nodeAffinity")
    for name in ("podAffinity", "podAntiAffinity"):
        if pods := affinity.get(name):
            found += _check_pods(pods, f"{path}.{name}")
    return found


def _check_nodes(affinity: Json, path: str) -> list[Cause]:
    found: list[Cause] = []
    required = affinity.get(_REQUIRED)
    if required is not None:
        found += check_node_selector(required, f"{path}.{_REQUIRED}")
    for index, each in enumerate(affinity.get(_PREFERRED) or ()):
        where = f"{path}.{_PREFERRED}[{index}]"
        found += _check_weight(each, where) + _check_term(
            cast("Json", each.get("preference") or {}), f"{where}.preference"
        )
    return found


def check_node_selector(selector: Json, path: str) -> list[Cause]:
    """What is wrong with what selects nodes."""
    terms = cast("list[Json]", selector.get("nodeSelectorTerms") or [])
    if not terms:
        return [causes.required(f"{path}.nodeSelectorTerms", "must have at least one node selector term")]
    return [fault for i, term in enumerate(terms) for fault in _check_term(term, f"{path}.nodeSelectorTerms[{i}]")]


def _check_term(term: Json, path: str) -> list[Cause]:
    found: list[Cause] = []
    for index, each in enumerate(term.get("matchExpressions") or ()):
        where = f"{path}.matchExpressions[{index}]"
        operator, values, key = each.get("operator"), each.get("values") or [], each.get("key", "")
        if operator in ("In", "NotIn"):
            if not values:
                found.append(causes.required(f"{where}.values", "must be specified when `operator` is 'In' or 'NotIn'"))
        elif operator in ("Exists", "DoesNotExist"):
            if values:
                why = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
                found.append(causes.forbidden(f"{where}.values", why))
        elif operator in ("Gt", "Lt"):
            if len(values) != 1:
                why = "must be specified single value when `operator` is 'Lt' or 'Gt'"
                found.append(causes.required(f"{where}.values", why))
        else:
            found.append(causes.invalid(f"{where}.operator", operator, "not a valid selector operator"))
        found += [causes.invalid(f"{where}.key", key, why) for why in names.qualified(key)]
    return found


def _check_weight(each: Json, where: str) -> list[Cause]:
    weight = each.get("weight", 0)
    return [] if 1 <= weight <= _HEAVIEST else [causes.invalid(f"{where}.weight", weight, "must be in the range 1-100")]


def _check_pods(affinity: Json, path: str) -> list[Cause]:
    found: list[Cause] = []
    for index, each in enumerate(affinity.get(_REQUIRED) or ()):
        found += _check_pod_term(each, f"{path}.{_REQUIRED}[{index}]")
    for index, each in enumerate(affinity.get(_PREFERRED) or ()):
        where = f"{path}.{_PREFERRED}[{index}]"
        found += _check_weight(each, where)
        found += _check_pod_term(cast("Json", each.get("podAffinityTerm") or {}), f"{where}.podAffinityTerm")
    return found


def _check_pod_term(term: Json, path: str) -> list[Cause]:
    found = [fault for name in ("labelSelector", "namespaceSelector") for fault in _check_inner(term, path, name)]
    for index, name in enumerate(term.get("namespaces") or ()):
        found += [causes.invalid(f"{path}.namespaces[{index}]", name, why) for why in names.label(name)]
    key = term.get("topologyKey", "")
    if not key:
        found.append(causes.required(f"{path}.topologyKey", "can not be empty"))
    return found + [causes.invalid(f"{path}.topologyKey", key, why) for why in names.qualified(key)]


def _check_inner(term: Json, path: str, name: str) -> list[Cause]:
    return check_selector(term[name], f"{path}.{name}") if term.get(name) else []


def check_spread(constraints: list[Json], path: str) -> list[Cause]:
    """What is wrong with how Pods are to spread."""
    found: list[Cause] = []
    taken: set[tuple[str, str]] = set()
    for index, each in enumerate(constraints):
        where, key, unless = f"{path}[{index}]", each.get("topologyKey", ""), each.get("whenUnsatisfiable", "")
        skew = each.get("maxSkew", 0)
        if skew <= 0:
            found.append(causes.invalid(f"{where}.maxSkew", skew, "must be greater than zero"))
        if not key:
            found.append(causes.required(f"{where}.topologyKey", "can not be empty"))
        else:
            found += [causes.invalid(f"{where}.topologyKey", key, why) for why in names.qualified(key)]
        if not unless:
            found.append(causes.unsupported(f"{where}.whenUnsatisfiable", unless, ("DoNotSchedule", "ScheduleAnyway")))
        found += texts.one_of(each, where, "whenUnsatisfiable", ("DoNotSchedule", "ScheduleAnyway"))
        if (key, unless) in taken:
            field = f"{path}[{index - 1}].{{topologyKey, whenUnsatisfiable}}"
            found.append(causes.duplicate(field, f"{{{key}, {unless}}}"))
        taken.add((key, unless))
        found += _check_inner(each, where, "labelSelector")
    return found

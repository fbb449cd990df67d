"""What is wrong with quotas and limits of what a namespace may have."""

from __future__ import annotations

from typing import Any, Final, TypeAlias, cast

from trimtab.apiserver import causes, names
from trimtab.apiserver.builtin import texts
from trimtab.apiserver.causes import Cause
from trimtab.kube.quantity import Quantity

Json: TypeAlias = dict[str, Any]

_COMPUTE: Final = frozenset({"cpu", "memory", "ephemeral-storage"})
_STANDARD: Final = _COMPUTE | {
    "storage", "pods", "services", "replicationcontrollers", "resourcequotas", "secrets", "configmaps",
    "persistentvolumeclaims", "services.nodeports", "services.loadbalancers", "requests.cpu", "requests.memory",
    "requests.storage", "requests.ephemeral-storage", "limits.cpu", "limits.memory", "limits.ephemeral-storage",
}  # fmt: skip
_OF_QUOTAS: Final = _STANDARD - {"storage"}
_WHOLE: Final = frozenset(
    {
        "pods", "services", "replicationcontrollers", "resourcequotas", "secrets", "configmaps",
        "persistentvolumeclaims", "services.nodeports", "services.loadbalancers",
    }
)  # fmt: skip
_SCOPES: Final = (
    "Terminating", "NotTerminating", "BestEffort", "NotBestEffort", "PriorityClass", "CrossNamespacePodAffinity",
    "VolumeAttributesClass",
)  # fmt: skip
_WITHOUT_VALUES: Final = frozenset(_SCOPES[:4]) | {"CrossNamespacePodAffinity"}
_OF_PODS: Final = frozenset(
    {
        "pods", "cpu", "memory", "requests.cpu", "requests.memory", "limits.cpu", "limits.memory",
        "ephemeral-storage", "requests.ephemeral-storage", "limits.ephemeral-storage",
    }
)  # fmt: skip
_LIMITED: Final = frozenset({"Pod", "Container", "PersistentVolumeClaim"})


def _check_quota_name(name: str, field: str) -> list[Cause]:
    found = texts.follows(field, name, names.qualified)
    if "/" not in name:
        if not found and name not in _STANDARD:
            found.append(causes.invalid(field, name, "must be a standard resource type or fully qualified"))
        if name not in _OF_QUOTAS:
            found.append(causes.invalid(field, name, "must be a standard resource for quota"))
    return found


def _check_amounts(holder: Json, path: str, part: str) -> list[Cause]:
    found: list[Cause] = []
    for name, amount in sorted(texts.part(holder, part).items()):
        field = f"{path}.{part}[{name}]"
        found += _check_quota_name(name, field) + texts.amount(field, amount)
        if _is_counted(name) and Quantity(amount) != Quantity(Quantity(amount).value()):
            found.append(causes.invalid(field, amount, "must be an integer"))
    return found


def _is_counted(name: str) -> bool:
    return name in _WHOLE or ("/" in name and "kubernetes.io/" not in name and not name.startswith("count/"))


def check_quota(obj: Json) -> list[Cause]:
    """What is wrong with a ResourceQuota."""
    spec = texts.spec_of(obj)
    found = _check_amounts(spec, "spec", "hard") + _check_scopes(spec) + _check_scope_selector(spec)
    status = texts.part(obj, "status")
    return found + _check_amounts(status, "status", "hard") + _check_amounts(status, "status", "used")


def _check_scopes(spec: Json) -> list[Cause]:
    scopes = cast("list[str] | None", spec.get("scopes"))
    if not scopes:
        return []
    found: list[Cause] = []
    for scope in scopes:
        if scope not in _SCOPES:
            found.append(causes.invalid("spec.scopes", scopes, "unsupported scope"))
        found += [
            causes.invalid("spec.scopes", scopes, "unsupported scope applied to resource")
            for name in texts.part(spec, "hard")
            if not _applies(scope, name)
        ]
    for pair in (("BestEffort", "NotBestEffort"), ("Terminating", "NotTerminating")):
        if set(pair) <= set(scopes):
            found.append(causes.invalid("spec.scopes", scopes, "conflicting scopes"))
    return found


def _applies(scope: str, name: str) -> bool:
    if name not in _STANDARD:
        return True
    if scope == "BestEffort":
        return name == "pods"
    if scope == "VolumeAttributesClass":
        return name in ("persistentvolumeclaims", "requests.storage")
    return scope not in _SCOPES or name in _OF_PODS


def _check_scope_selector(spec: Json) -> list[Cause]:
    found: list[Cause] = []
    where = "spec.scopeSelector.matchExpressions"
    for each in texts.part(spec, "scopeSelector").get("matchExpressions") or ():
        scope, operator = each.get("scopeName", ""), each.get("operator", "")
        values = cast("list[str]", each.get("values") or [])
        if scope not in _SCOPES:
            found.append(causes.invalid(f"{where}.scopeName", scope, "unsupported scope"))
        if scope in _WITHOUT_VALUES and operator != "Exists":
            why = (
                "must be 'Exists' when scope is any of ResourceQuotaScopeTerminating, "
                "ResourceQuotaScopeNotTerminating, ResourceQuotaScopeBestEffort, ResourceQuotaScopeNotBestEffort or "
                "ResourceQuotaScopeCrossNamespacePodAffinity"
            )
            found.append(causes.invalid(f"{where}.operator", operator, why))
        elif operator in ("In", "NotIn"):
            if not values:
                why = "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector"
                found.append(causes.required(f"{where}.values", why))
        elif operator in ("Exists", "DoesNotExist"):
            if values:
                why = "must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector"
                found.append(causes.invalid(f"{where}.values", values, why))
        else:
            found.append(causes.invalid(f"{where}.operator", operator, "not a valid selector operator"))
    return found


def check_quota_change(new: Json, old: Json) -> list[Cause]:
    """What of a ResourceQuota cannot change."""
    now, was = (cast("list[str]", texts.spec_of(each).get("scopes") or []) for each in (new, old))
    return [] if set(now) == set(was) else [causes.invalid("spec.scopes", now, texts.IMMUTABLE)]


def check_quota_status(new: Json, _old: Json) -> list[Cause]:
    """What is wrong with the status of a ResourceQuota."""
    status = texts.part(new, "status")
    return _check_amounts(status, "status", "hard") + _check_amounts(status, "status", "used")


# Limits


def fill_limits(obj: Json) -> None:
    """What a container gets and asks for where it says nothing follows from the other limits."""
    for _, item in texts.numbered(texts.spec_of(obj), "", "limits"):
        if item.get("type") != "Container":
            continue
        default = {**texts.part(item, "max"), **texts.part(item, "default")}
        asked = {**texts.part(item, "min"), **default, **texts.part(item, "defaultRequest")}
        for name, made in (("default", default), ("defaultRequest", asked)):
            if made:
                item[name] = made


def check_limits(obj: Json) -> list[Cause]:
    """What is wrong with a LimitRange."""
    found: list[Cause] = []
    taken: set[str] = set()
    for where, item in texts.numbered(texts.spec_of(obj), "spec", "limits"):
        kind = item.get("type", "")
        wrong = texts.follows(f"{where}.type", kind, names.qualified)
        if not wrong and "/" not in kind and kind not in _LIMITED:
            wrong = [causes.invalid(f"{where}.type", kind, "must be a standard limit type or fully qualified")]
        found += wrong
        if kind in taken:
            found.append(causes.duplicate(f"{where}.type", kind))
        taken.add(kind)
        found += _check_limit(item, where, kind)
    return found


def _check_limit(item: Json, where: str, kind: str) -> list[Cause]:
    parts = {
        name: cast("dict[str, str]", texts.part(item, name))
        for name in ("max", "min", "default", "defaultRequest", "maxLimitRequestRatio")
    }
    found: list[Cause] = []
    found += _check_names(parts, where, kind, ("max", "min"))
    if kind == "Pod":
        why = "may not be specified when `type` is 'Pod'"
        found += [causes.forbidden(f"{where}.{name}", why) for name in ("default", "defaultRequest") if parts[name]]
    else:
        found += _check_names(parts, where, kind, ("default", "defaultRequest"))
    found += _check_names(parts, where, kind, ("maxLimitRequestRatio",))
    if kind == "PersistentVolumeClaim" and not ("storage" in parts["min"] or "storage" in parts["max"]):
        why = "either minimum or maximum storage value is required, but neither was provided"
        found.append(causes.required(f"{where}.limits", why))
    for name in sorted({name for part in parts.values() for name in part}):
        found += _check_order({part: amounts[name] for part, amounts in parts.items() if name in amounts}, where, name)
    return found


def _check_names(parts: dict[str, dict[str, str]], where: str, kind: str, which: tuple[str, ...]) -> list[Cause]:
    found: list[Cause] = []
    for part in which:
        for name in parts[part]:
            field = f"{where}.{part}[{name}]"
            wrong = texts.follows(field, name, names.qualified)
            if "/" not in name:
                if not wrong and name not in _STANDARD and not name.startswith("hugepages-"):
                    wrong.append(causes.invalid(field, name, "must be a standard resource type or fully qualified"))
                if kind in ("Pod", "Container") and name not in _COMPUTE and not name.startswith("hugepages-"):
                    wrong.append(causes.invalid(field, name, "must be a standard resource for containers"))
            found += wrong
    return found


def _check_order(amounts: dict[str, str], where: str, name: str) -> list[Cause]:
    found: list[Cause] = []

    def above(low: str, high: str, field: str, shown: str, said: str) -> None:
        if low in amounts and high in amounts and Quantity(amounts[low]) > Quantity(amounts[high]):
            why = said.format(amounts[low], amounts[high])
            found.append(causes.invalid(f"{where}.{field}[{name}]", amounts[shown], why))

    above("min", "max", "min", "min", "min value {} is greater than max value {}")
    asked = "defaultRequest"
    above("min", asked, asked, asked, "min value {} is greater than default request value {}")
    above(asked, "max", asked, asked, "default request value {} is greater than max value {}")
    above(asked, "default", asked, asked, "default request value {} is greater than default limit value {}")
    above("min", "default", "default", "min", "min value {} is greater than default value {}")
    above("default", "max", "default", "max", "default value {} is greater than max value {}")
    return found + _check_ratio(amounts, f"{where}.maxLimitRequestRatio[{name}]")


def _check_ratio(amounts: dict[str, str], field: str) -> list[Cause]:
    ratio = amounts.get("maxLimitRequestRatio")
    if ratio is None:
        return []
    if Quantity(ratio) < Quantity(1):
        return [causes.invalid(field, ratio, f"ratio {ratio} is less than 1")]
    if "min" in amounts and "max" in amounts:
        most = float(Quantity(amounts["max"])) / float(Quantity(amounts["min"]))
        if float(Quantity(ratio)) > most:
            why = f"ratio {ratio} is greater than max/min = {most:f}"
            return [causes.invalid(field, ratio, why)]
    return []

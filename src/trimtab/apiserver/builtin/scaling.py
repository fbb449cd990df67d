"""What is wrong with autoscalers, in the form in which they are stored, which is that of autoscaling/v2."""

from __future__ import annotations

from typing import Any, Final, TypeAlias

from trimtab.apiserver import causes, names
from trimtab.apiserver.builtin import texts
from trimtab.apiserver.causes import Cause
from trimtab.kube.quantity import Quantity

Json: TypeAlias = dict[str, Any]

_TYPES: Final = ("ContainerResource", "External", "Object", "Pods", "Resource")
_SOURCES: Final = {
    "Object": "object", "External": "external", "Pods": "pods", "Resource": "resource",
    "ContainerResource": "containerResource",
}  # fmt: skip
_TARGETS: Final = ("Utilization", "Value", "AverageValue")
_LONGEST_WINDOW: Final = 3600
_LONGEST_PERIOD: Final = 1800
_NO_TARGET: Final = "must set either a target raw value or a target utilization"


def check_autoscaler(obj: Json) -> list[Cause]:
    """What is wrong with a HorizontalPodAutoscaler."""
    spec = texts.spec_of(obj)
    least, most = spec.get("minReplicas"), spec.get("maxReplicas", 0)
    found: list[Cause] = []
    if least is not None and least < 1:
        found.append(causes.invalid("spec.minReplicas", least, "must be greater than or equal to 1"))
    if most < 0:
        found.append(causes.invalid("spec.maxReplicas", most, "must be greater than or equal to 1"))
    elif most == 0:
        found.append(causes.required("spec.maxReplicas", "must be set and greater than 0"))
    if least is not None and most < least:
        found.append(causes.invalid("spec.maxReplicas", most, "must be greater than or equal to `minReplicas`"))
    found += _check_reference(texts.part(spec, "scaleTargetRef"), "spec.scaleTargetRef", grouped=True)
    for where, metric in texts.numbered(spec, "spec", "metrics"):
        found += _check_metric(metric, where)
    if least == 0 and not any(each.get("type") in ("Object", "External") for each in spec.get("metrics") or ()):
        why = "must specify at least one Object or External metric to support scaling to zero replicas"
        found.append(causes.forbidden("spec.metrics", why))
    for name in ("scaleUp", "scaleDown"):
        rules = texts.part(spec, "behavior").get(name)
        if rules is not None:
            found += _check_rules(rules, f"spec.behavior.{name}")
    return found


def _check_reference(ref: Json, path: str, *, grouped: bool = False) -> list[Cause]:
    found = texts.needed_following(ref, path, "kind", names.path_segment)
    found += texts.needed_following(ref, path, "name", names.path_segment)
    version = ref.get("apiVersion", "")
    if version.count("/") > 1:
        found.append(causes.invalid(f"{path}.apiVersion", version, f"unexpected GroupVersion string: {version}"))
    elif grouped and "/" not in version and ref.get("kind") != "ReplicationController":
        found.append(causes.invalid(f"{path}.apiVersion", version, "apiVersion must specify API group"))
    return found


def _check_metric(metric: Json, where: str) -> list[Cause]:
    kind = metric.get("type", "")
    found = [] if kind else [causes.required(f"{where}.type", "must specify a metric source type")]
    if kind not in _TYPES:
        found += [causes.unsupported(f"{where}.type", kind, _TYPES)] * 2  # Kubernetes looks twice, and says so twice
    own = _SOURCES.get(kind)
    given = [name for name in _SOURCES.values() if metric.get(name) is not None]
    if given:
        found += _check_source(given[0], metric[given[0]], f"{where}.{given[0]}")
    if own is not None and own not in given:
        found.append(causes.required(f"{where}.{own}", "must populate information for the given metric source"))
    if len(given) > 1:
        why = "must populate the given metric source only"
        found += [causes.forbidden(f"{where}.{name}", why) for name in given if name != own]
    return found


def _check_source(name: str, source: Json, where: str) -> list[Cause]:
    found: list[Cause] = []
    target = texts.part(source, "target")
    at = f"{where}.target"
    whole, average = target.get("value"), target.get("averageValue")
    if name == "object":
        found += _check_reference(texts.part(source, "describedObject"), f"{where}.describedObject")
    if name in ("object", "external", "pods"):
        found += _check_identifier(texts.part(source, "metric"), f"{where}.metric")
    else:
        found += [] if source.get("name") else [causes.required(f"{where}.name", "must specify a resource name")]
    if name == "containerResource" and not source.get("container"):
        found.append(causes.required(f"{where}.container", "must specify a container"))
    found += _check_target(target, at)
    if name == "object":
        if whole is None and average is None:
            found.append(causes.required(f"{at}.averageValue", "must set either a target value or averageValue"))
    elif name == "external":
        if whole is not None and average is not None:
            why = "may not set both a target value for metric and a per-pod target"
            found.append(causes.forbidden(f"{at}.value", why))
        if whole is None and average is None:
            why = "must set either a target value for metric or a per-pod target"
            found.append(causes.required(f"{at}.averageValue", why))
    elif name == "pods":
        if average is None or Quantity(average) <= Quantity(0):
            found.append(causes.required(f"{at}.averageValue", "must specify a positive target averageValue"))
    else:
        found += _check_share(target, at)
    return found


def _check_share(target: Json, at: str) -> list[Cause]:
    share, average = target.get("averageUtilization"), target.get("averageValue")
    if share is None and average is None:
        return [causes.required(f"{at}.averageUtilization", _NO_TARGET)]
    if share is not None and average is not None:
        why = "may not set both a target raw value and a target utilization"
        return [causes.forbidden(f"{at}.averageValue", why)]
    return []


def _check_target(target: Json, at: str) -> list[Cause]:
    kind = target.get("type", "")
    found = [] if kind else [causes.required(f"{at}.type", "must specify a metric target type")]
    if kind not in _TARGETS:
        found.append(causes.invalid(f"{at}.type", kind, "must be either Utilization, Value, or AverageValue"))
    share = target.get("averageUtilization")
    if share is not None and share < 1:
        found.append(causes.invalid(f"{at}.averageUtilization", share, "must be greater than 0"))
    return found + [
        causes.invalid(f"{at}.{name}", target[name], "must be positive")
        for name in ("value", "averageValue")
        if target.get(name) is not None and Quantity(target[name]) <= Quantity(0)
    ]


def _check_identifier(metric: Json, where: str) -> list[Cause]:
    name = metric.get("name")
    if not name:
        return [causes.required(f"{where}.name", "must specify a metric name")]
    return texts.follows(f"{where}.name", name, names.path_segment)


def _check_rules(rules: Json, where: str) -> list[Cause]:
    found: list[Cause] = []
    window = rules.get("stabilizationWindowSeconds")
    field = f"{where}.stabilizationWindowSeconds"
    if window is not None and window < 0:
        found.append(causes.invalid(field, window, "must be greater than or equal to zero"))
    elif window is not None and window > _LONGEST_WINDOW:
        found.append(causes.invalid(field, window, f"must be less than or equal to {_LONGEST_WINDOW}"))
    found += texts.one_of(rules, where, "selectPolicy", ("Disabled", "Max", "Min"))
    policies = texts.numbered(rules, where, "policies")
    if not policies:
        found.append(causes.required(f"{where}.policies", "must specify at least one Policy"))
    for at, each in policies:
        found += texts.one_of_needed(f"{at}.type", each.get("type", ""), ("Percent", "Pods"))
        found += [
            causes.invalid(f"{at}.{name}", each.get(name, 0), "must be greater than zero")
            for name in ("value", "periodSeconds")
            if each.get(name, 0) <= 0
        ]
        if (period := each.get("periodSeconds", 0)) > _LONGEST_PERIOD:
            why = f"must be less than or equal to {_LONGEST_PERIOD}"
            found.append(causes.invalid(f"{at}.periodSeconds", period, why))
    return found


def check_autoscaler_status(new: Json, _old: Json) -> list[Cause]:
    """What is wrong with the status of an autoscaler."""
    status = texts.part(new, "status")
    return texts.not_negative(status, "status", "currentReplicas", "desiredReplicas")

"""What of each quantity that quotas know an object uses: admission counts by it, and the controller of quotas."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final, TypeAlias, cast

from trimtab.apiserver.plugins.classes import STORAGE_CLASS
from trimtab.apiserver.plugins.limits import Amounts, total
from trimtab.kube.quantity import Quantity

Json: TypeAlias = dict[str, Any]

_NAMED: Final = frozenset({"configmaps", "secrets", "replicationcontrollers", "resourcequotas"})
_ALIASES: Final = {
    "requests": {"cpu": ("cpu", "requests.cpu"), "memory": ("memory", "requests.memory")},
    "limits": {name: (f"limits.{name}",) for name in ("cpu", "memory", "ephemeral-storage")},
}
_EPHEMERAL: Final = "ephemeral-storage"
_ONE: Final = Quantity(1)


def is_about(name: str, bucket: str) -> bool:
    """Whether a quantity is one of such objects."""
    if name == f"count/{bucket}" or (name == bucket and bucket in _NAMED):
        return True
    if bucket == "services":
        return name == "services" or name.startswith("services.")
    if bucket == "persistentvolumeclaims":
        return name.endswith(("persistentvolumeclaims", "requests.storage")) and not name.startswith("count/")
    if bucket != "pods" or name.startswith("count/") or name.endswith("requests.storage"):
        return False
    if name in ("pods", "cpu", "memory", _EPHEMERAL) or name.startswith("hugepages-"):
        return True
    return name.startswith(("requests.", "limits."))


def in_scope(quota: Json, bucket: str, obj: Json) -> bool:
    """Whether a quota that has scopes is about such an object."""
    spec = cast("Json", quota.get("spec") or {})
    scopes = [{"scopeName": each, "operator": "Exists"} for each in cast("list[str]", spec.get("scopes") or [])]
    scopes += cast("list[Json]", cast("Json", spec.get("scopeSelector") or {}).get("matchExpressions") or [])
    if not scopes:
        return True
    return bucket == "pods" and all(_matches(cast("Json", obj.get("spec") or {}), each) for each in scopes)


def usage_of(bucket: str, obj: Json) -> Amounts:
    """What an object uses."""
    found: Amounts = {f"count/{bucket}": _ONE}
    spec = cast("Json", obj.get("spec") or {})
    if bucket in _NAMED:
        found[bucket] = _ONE
    elif bucket == "pods":
        if cast("Json", obj.get("status") or {}).get("phase") not in ("Succeeded", "Failed"):
            found |= {"pods": _ONE, **amounts_of({part: total(spec, part) for part in ("requests", "limits")})}
    elif bucket == "services":
        found |= _of_service(spec)
    elif bucket == "persistentvolumeclaims":
        found |= _of_claim(obj, spec)
    return found


def _of_service(spec: Json) -> Amounts:
    ports = cast("list[Json]", spec.get("ports") or [])
    kind = spec.get("type")
    found = {"services": _ONE, "services.loadbalancers": Quantity(0), "services.nodeports": Quantity(0)}
    if kind == "LoadBalancer":
        found["services.loadbalancers"] = _ONE
        if spec.get("allocateLoadBalancerNodePorts") is False:
            ports = [each for each in ports if each.get("nodePort")]
    if kind in ("NodePort", "LoadBalancer"):
        found["services.nodeports"] = Quantity(len(ports))
    return found


def _of_claim(obj: Json, spec: Json) -> Amounts:
    annotations = cast("Json", obj["metadata"].get("annotations") or {})
    name = annotations.get(STORAGE_CLASS) or spec.get("storageClassName") or ""
    asked = cast("Json", cast("Json", spec.get("resources") or {}).get("requests") or {}).get("storage")
    found: Amounts = {"persistentvolumeclaims": _ONE}
    if asked is not None:
        found["requests.storage"] = Quantity(asked)
    if name:
        found |= {f"{name}.storageclass.storage.k8s.io/{each}": amount for each, amount in found.items()}
    return found


def _matches(spec: Json, scope: Json) -> bool:
    """Whether a Pod is in a scope."""
    requests, limits = total(spec, "requests"), total(spec, "limits")
    best_effort = not any(amounts.get(name) for amounts in (requests, limits) for name in ("cpu", "memory"))
    match scope.get("scopeName"):
        case "Terminating":
            return spec.get("activeDeadlineSeconds") is not None
        case "NotTerminating":
            return spec.get("activeDeadlineSeconds") is None
        case "BestEffort":
            return best_effort
        case "NotBestEffort":
            return not best_effort
        case "PriorityClass":
            return _selects(scope, spec.get("priorityClassName", ""))
        case "CrossNamespacePodAffinity":
            return any(_reaches_out(term) for term in _terms(spec))
        case _:
            return False


def _selects(scope: Json, value: str) -> bool:
    operator, values = scope.get("operator"), scope.get("values") or ()
    match operator:
        case "In":
            return value in values
        case "NotIn":
            return value not in values
        case "DoesNotExist":
            return not value
        case _:
            return bool(value)


def _terms(spec: Json) -> Iterator[Json]:
    affinity = cast("Json", spec.get("affinity") or {})
    for kind in ("podAffinity", "podAntiAffinity"):
        given = cast("Json", affinity.get(kind) or {})
        yield from given.get("requiredDuringSchedulingIgnoredDuringExecution") or ()
        for each in cast("list[Json]", given.get("preferredDuringSchedulingIgnoredDuringExecution") or []):
            yield each.get("podAffinityTerm") or {}


def _reaches_out(term: Json) -> bool:
    return bool(term.get("namespaces")) or term.get("namespaceSelector") is not None


def amounts_of(resources: Json) -> Amounts:
    """Requests and limits under the names that quotas have for them."""
    found: Amounts = {}
    for part in ("requests", "limits"):
        for name, given in cast("Json", resources.get(part) or {}).items():
            amount = given if isinstance(given, Quantity) else Quantity(given)
            for alias in _names_of(part, name):
                found[alias] = amount
    return found


def _names_of(part: str, name: str) -> Iterable[str]:
    if name in _ALIASES[part]:
        return _ALIASES[part][name]
    if part == "limits":
        return ()
    return (name, f"requests.{name}") if name == _EPHEMERAL or name.startswith("hugepages-") else (f"requests.{name}",)

"""ResourceQuota: a namespace has so much of each, and no more.

What is allowed stands in the status of a quota, where a controller puts it; there too what is used. A write that uses
more is counted here, at once, so that two who come at the same time cannot both have the last; what goes, the
controller counts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final, TypeAlias, cast

from trimtab.apiserver.calls import Call
from trimtab.apiserver.managed import fields_after
from trimtab.apiserver.messages import User
from trimtab.apiserver.objects import decode, encode
from trimtab.apiserver.plugins.attempt import Attempt
from trimtab.apiserver.plugins.classes import STORAGE_CLASS
from trimtab.apiserver.plugins.limits import Amounts, total
from trimtab.apiserver.plugins.plugin import Means, Plugin
from trimtab.apiserver.routing import Target
from trimtab.apiserver.storage import Record
from trimtab.kube.quantity import Quantity

Json: TypeAlias = dict[str, Any]

_QUOTAS: Final = "resourcequotas"
_NAMED: Final = frozenset({"configmaps", "secrets", "replicationcontrollers", "resourcequotas"})
_ALIASES: Final = {
    "requests": {"cpu": ("cpu", "requests.cpu"), "memory": ("memory", "requests.memory")},
    "limits": {name: (f"limits.{name}",) for name in ("cpu", "memory", "ephemeral-storage")},
}
_EPHEMERAL: Final = "ephemeral-storage"
_EXPLICIT: Final = frozenset(
    {"cpu", "memory", "requests.cpu", "requests.memory", "limits.cpu", "limits.memory"}
)  # a container has to say what it wants of these, where a quota counts them
_ONE: Final = Quantity(1)
_ITSELF: Final = User("system:apiserver", ("system:masters",))


class ResourceQuota(Plugin):
    """It is asked last, when nobody else objects: what it counts is counted."""

    buckets = frozenset()

    def __init__(self, means: Means) -> None:
        super().__init__(means)
        self._around = means.around
        self._kind = means.catalogue.find("", "v1", _QUOTAS)

    def count(self, attempt: Attempt) -> None:
        """Count what is about to be written, or refuse it."""
        if not attempt.namespace or not _is_counted(attempt):
            return
        quotas = [(record, decode(record.data)) for record in self.store.scan(_QUOTAS, f"{attempt.namespace}/")]
        concerned = [(record, quota) for record, quota in quotas if _concerns(quota, attempt)]
        if not concerned:
            return
        delta = _usage(attempt.bucket, attempt.obj)
        if attempt.operation == "UPDATE" and attempt.old is not None:
            before = _usage(attempt.bucket, attempt.old)
            delta = {name: each - before[name] if name in before else each for name, each in delta.items()}
        delta = {name: each for name, each in delta.items() if each > 0}
        counted = [(record, quota, _counted(quota, delta, attempt)) for record, quota in concerned]
        for record, quota, used in counted:
            if used and not attempt.call.options.dry_run:
                self._write(record, quota, used)

    def _write(self, record: Record, quota: Json, used: Amounts) -> None:
        assert self._kind is not None
        metadata, status = quota["metadata"], cast("Json", quota["status"])
        shown = {name: str(each) for name, each in used.items()}
        made: Json = {**quota, "metadata": {**metadata}, "status": {**status, "used": {**status["used"], **shown}}}
        target = Target(
            self._kind, "update", metadata["namespace"], metadata["name"], self._kind.subresources["status"]
        )
        call = Call(target, _ITSELF, manager="kube-apiserver")
        made["metadata"]["managedFields"] = fields_after(call, quota, made, self._around.now())
        data = encode(self._kind, made, self.store.revision + 1)
        self.store.commit(_QUOTAS, record.key, data, expected=record.revision)


def _is_counted(attempt: Attempt) -> bool:
    """Whether a write can use more than was used before."""
    bucket, sub = attempt.bucket, attempt.subresource
    if attempt.operation == "CREATE":
        return not sub
    if attempt.operation != "UPDATE":
        return False
    if bucket == "pods":
        return sub == "resize" or (not sub and _ends(attempt.obj) != _ends(attempt.old or {}))
    return not sub and bucket in ("services", "persistentvolumeclaims")


def _ends(pod: Json) -> bool:
    return cast("Json", pod.get("spec") or {}).get("activeDeadlineSeconds") is not None


def _concerns(quota: Json, attempt: Attempt) -> bool:
    """Whether a quota counts such an object; refused where it does not know how much there is."""
    hard, used = (cast("Json", cast("Json", quota.get("status") or {}).get(name) or {}) for name in ("hard", "used"))
    matching = [name for name in hard if _is_about(name, attempt.bucket)]
    if not matching or not _in_scope(quota, attempt):
        return False
    name = quota["metadata"]["name"]
    if attempt.bucket == "pods" and (missing := _unsaid(attempt.spec, _EXPLICIT.intersection(matching))):
        raise attempt.forbidden(f"failed quota: {name}: must specify {missing}")
    if unknown := sorted(each for each in matching if each not in used):
        raise attempt.forbidden(f"status unknown for quota: {name}, resources: {','.join(unknown)}")
    return True


def _is_about(name: str, bucket: str) -> bool:
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


def _in_scope(quota: Json, attempt: Attempt) -> bool:
    spec = cast("Json", quota.get("spec") or {})
    scopes = [{"scopeName": each, "operator": "Exists"} for each in cast("list[str]", spec.get("scopes") or [])]
    scopes += cast("list[Json]", cast("Json", spec.get("scopeSelector") or {}).get("matchExpressions") or [])
    if not scopes:
        return True
    return attempt.bucket == "pods" and all(_matches(attempt.spec, each) for each in scopes)


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


def _unsaid(spec: Json, wanted: frozenset[str]) -> str:
    """What containers do not say that they have to."""
    if spec.get("resources"):
        return ""
    missing: dict[str, list[str]] = {}
    for field in ("containers", "initContainers"):
        for container in cast("list[Json]", spec.get(field) or []):
            said = set(_amounts(container.get("resources") or {}))
            for name in wanted - said:
                missing.setdefault(name, []).append(container.get("name", ""))
    return "; ".join(f"{name} for: {','.join(sorted(missing[name]))}" for name in sorted(missing))


def _amounts(resources: Json) -> Amounts:
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


def _usage(bucket: str, obj: Json) -> Amounts:
    """What an object uses."""
    found: Amounts = {f"count/{bucket}": _ONE}
    spec = cast("Json", obj.get("spec") or {})
    if bucket in _NAMED:
        found[bucket] = _ONE
    elif bucket == "pods":
        if cast("Json", obj.get("status") or {}).get("phase") not in ("Succeeded", "Failed"):
            found |= {"pods": _ONE, **_amounts({part: total(spec, part) for part in ("requests", "limits")})}
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


def _counted(quota: Json, delta: Amounts, attempt: Attempt) -> Amounts:
    """What is used of a quota afterwards; refused where that is too much."""
    status = cast("Json", quota["status"])
    hard, used = ({name: Quantity(each) for name, each in status[part].items()} for part in ("hard", "used"))
    asked = {name: each for name, each in delta.items() if name in hard}
    after = {name: used[name] + each if name in used else each for name, each in asked.items()}
    exceeded = sorted(name for name, each in after.items() if each > hard[name])
    if exceeded:
        parts = (",".join(f"{name}={some[name]}" for name in exceeded if name in some) for some in (asked, used, hard))
        requested, there, limited = parts
        raise attempt.forbidden(
            f"exceeded quota: {quota['metadata']['name']}, requested: {requested}, used: {there}, limited: {limited}"
        )
    return after

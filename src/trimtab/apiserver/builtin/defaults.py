"""What a kind takes for what was left out: by facts, and where that is copied from other fields, by code."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeAlias, cast

from trimtab.apiserver.builtin import texts
from trimtab.apiserver.builtin.autoscalers import complete_in_v1
from trimtab.apiserver.builtin.claims import fill_claim_spec
from trimtab.apiserver.builtin.endpoints import fill_slice
from trimtab.apiserver.builtin.netpolicies import fill_policy
from trimtab.apiserver.builtin.nodes import fill_node
from trimtab.apiserver.builtin.quotas import fill_limits
from trimtab.apiserver.facts import Facts, Schema, with_defaults

Json: TypeAlias = dict[str, Any]
Default: TypeAlias = Callable[[Json], Json]
"""Completes an object. What it is given may change."""

_SET_LATER: Final = frozenset(  # strategies know better what facts tell of these: it is set, or depends on two fields
    {"namespaces", "rolebindings.rbac.authorization.k8s.io", "clusterrolebindings.rbac.authorization.k8s.io"}
)
_OLD_AUTOSCALER: Final = "io.k8s.api.autoscaling.v1.HorizontalPodAutoscaler"  # its default depends on an annotation
_UNLIMITED: Final = 2**31 - 1
_CONTAINERS: Final = ("initContainers", "containers", "ephemeralContainers")


def defaults_of(facts: Facts, schema: Schema | None, bucket: str) -> Default | None:
    """What completes the objects of a kind; None where nothing needs to."""
    special = _SPECIAL.get(bucket)
    if schema is None or bucket in _SET_LATER or not (special or _has_defaults(facts, schema, set())):
        return None
    if schema.name == _OLD_AUTOSCALER:
        return complete_in_v1

    def complete(obj: Json) -> Json:
        if special is not None:
            special(obj)
        return with_defaults(facts, schema, obj)

    return complete


def _has_defaults(facts: Facts, schema: Schema, seen: set[str]) -> bool:
    if schema.name:
        if schema.name in seen:
            return False
        seen.add(schema.name)
        told = facts.defaults(schema.name)
        if told.always or told.when:
            return True
    if schema.type == "array":
        return _has_defaults(facts, schema.items, seen)
    return any(_has_defaults(facts, field, seen) for field in schema.fields.values() if not field.scalar)


def pull_policy(image: str) -> str:
    """When an image is pulled if nobody says: always, where its name does not say which it is."""
    name, _, digest = image.partition("@")
    tag = name.rpartition("/")[2].partition(":")[2]
    return "Always" if not digest and tag in ("", "latest") else "IfNotPresent"


def _struct(holder: Json, name: str) -> Json:
    """What is held under a name, made where it is not there."""
    found = holder.get(name)
    if found is None:
        found = holder[name] = {}
    return cast("Json", found)


def _pod_spec(spec: Json) -> None:
    if account := spec.get("serviceAccountName") or spec.get("serviceAccount"):
        spec["serviceAccountName"] = spec["serviceAccount"] = account
    for field in _CONTAINERS:
        for each in spec.get(field) or ():
            if not each.get("imagePullPolicy"):
                each["imagePullPolicy"] = pull_policy(each.get("image", ""))
            if field == "ephemeralContainers":  # no fact tells of them: nothing can be made that has any
                each.setdefault("terminationMessagePath", "/dev/termination-log")
                each.setdefault("terminationMessagePolicy", "File")
                each.setdefault("resources", {})
            for variable in each.get("env") or ():
                _references(variable.get("valueFrom") or {})
    for volume in spec.get("volumes") or ():
        if len(volume) <= 1:
            volume["emptyDir"] = {}
        for item in cast("list[Json]", cast("Json", volume.get("downwardAPI") or {}).get("items") or []):
            _references(item)


def _references(source: Json) -> None:
    """Complete what refers to fields of the Pod."""
    if (ref := source.get("fieldRef")) is not None:
        ref["apiVersion"] = ref.get("apiVersion") or "v1"
    if (ref := source.get("resourceFieldRef")) is not None:
        ref.setdefault("divisor", "0")


def _template(holder: Json) -> Json:
    template = _struct(holder, "template")
    _pod_spec(_struct(template, "spec"))
    return template


def _pods(obj: Json) -> None:
    spec = _struct(obj, "spec")
    _pod_spec(spec)
    if spec.get("terminationGracePeriodSeconds", 0) < 0:
        spec["terminationGracePeriodSeconds"] = 1
    for field in _CONTAINERS[:2]:
        for each in spec.get(field) or ():
            _request_limits(each)
            for port in each.get("ports") or () if spec.get("hostNetwork") else ():
                port["hostPort"] = port.get("hostPort") or port.get("containerPort", 0)
    _pod_addresses(cast("Json", obj.get("status") or {}))


def _pod_addresses(status: Json) -> None:
    """The first address stands there twice: since Pods have several, and from the times when they had one."""
    one, several = status.get("podIP"), status.get("podIPs")
    if one and not several:
        status["podIPs"] = [{"ip": one}]
    elif several and not one and several[0].get("ip"):
        status["podIP"] = several[0]["ip"]


def _request_limits(container: Json) -> None:
    """What has a limit and asks for nothing asks for its limit."""
    resources = cast("Json", container.get("resources") or {})
    if limits := resources.get("limits"):
        resources["requests"] = {**limits, **(resources.get("requests") or {})}


def _workloads(obj: Json) -> None:
    _template(_struct(obj, "spec"))


def _stateful_sets(obj: Json) -> None:
    _workloads(obj)
    strategy = _struct(obj["spec"], "updateStrategy")
    if strategy.get("type") in (None, "", "RollingUpdate"):
        _struct(strategy, "rollingUpdate").setdefault("partition", 0)
    for claim in obj["spec"].get("volumeClaimTemplates") or ():
        claim |= {"kind": "PersistentVolumeClaim", "apiVersion": "v1"}
        _claims(claim)


def _replication_controllers(obj: Json) -> None:
    spec = _struct(obj, "spec")
    if not spec.get("minReadySeconds"):
        spec.pop("minReadySeconds", None)
    if spec.get("template") is not None:
        labels = cast("Json", cast("Json", _template(spec).get("metadata") or {}).get("labels") or {})
        if labels:
            spec["selector"] = spec.get("selector") or dict(labels)
            metadata = _struct(obj, "metadata")
            metadata["labels"] = metadata.get("labels") or dict(labels)


def _jobs(obj: Json) -> None:
    _workloads(obj)
    spec = obj["spec"]
    if "completions" not in spec and "parallelism" not in spec:
        spec["completions"] = 1
    if spec.get("backoffLimitPerIndex") is not None:
        spec.setdefault("backoffLimit", _UNLIMITED)
    if spec.get("podFailurePolicy") is not None:
        spec.setdefault("podReplacementPolicy", "Failed")
    labels = cast("Json", cast("Json", spec["template"].get("metadata") or {}).get("labels") or {})
    metadata = _struct(obj, "metadata")
    if labels and not metadata.get("labels"):
        metadata["labels"] = labels  # the same ones: a new Job gets what its template gets besides (jobs.py)


def _cron_jobs(obj: Json) -> None:
    _template(_struct(_struct(_struct(obj, "spec"), "jobTemplate"), "spec"))


def _pod_templates(obj: Json) -> None:
    _template(obj)


def _services(obj: Json) -> None:
    spec = _struct(obj, "spec")
    if spec.get("sessionAffinity") in (None, "", "None"):
        spec.pop("sessionAffinityConfig", None)
    for each in spec.get("ports") or ():
        if each.get("targetPort") in (None, 0, ""):
            each["targetPort"] = each.get("port", 0)
    if spec.get("type") == "LoadBalancer":
        balancer = texts.part(texts.part(obj, "status"), "loadBalancer")
        for each in cast("list[Json]", balancer.get("ingress") or []):
            if each.get("ip") and each.get("ipMode") is None:
                each["ipMode"] = "VIP"


def _claims(obj: Json) -> None:
    fill_claim_spec(_struct(obj, "spec"))
    _struct(obj, "status").setdefault("phase", "Pending")


def _token_requests(obj: Json) -> None:
    _struct(obj, "spec").setdefault("expirationSeconds", 3600)


def _hooks(obj: Json) -> None:
    for each in obj.get("webhooks") or ():
        _matching(each, "rules")


def _policies(obj: Json) -> None:
    for name in ("matchConstraints", "matchResources"):
        if (match := cast("Json", obj.get("spec") or {}).get(name)) is not None:
            _matching(match, "resourceRules")


def _matching(match: Json, rules: str) -> None:
    """Complete what tells which writes are meant."""
    for name in ("namespaceSelector", "objectSelector"):
        _struct(match, name)
    for rule in (*(match.get(rules) or ()), *(match.get("excludeResourceRules") or ())):
        if rule.get("scope") is None:
            rule["scope"] = "*"


_SPECIAL: Final[dict[str, Callable[[Json], None]]] = {
    "pods": _pods,
    "podtemplates": _pod_templates,
    "services": _services,
    "persistentvolumeclaims": _claims,
    "networkpolicies.networking.k8s.io": fill_policy,
    "limitranges": fill_limits,
    "endpointslices.discovery.k8s.io": fill_slice,
    "nodes": fill_node,
    "replicationcontrollers": _replication_controllers,
    "jobs.batch": _jobs,
    "cronjobs.batch": _cron_jobs,
    "deployments.apps": _workloads,
    "daemonsets.apps": _workloads,
    "replicasets.apps": _workloads,
    "statefulsets.apps": _stateful_sets,
    "serviceaccounts/token": _token_requests,
    **dict.fromkeys(
        (f"{each}webhookconfigurations.admissionregistration.k8s.io" for each in ("mutating", "validating")), _hooks
    ),
    **dict.fromkeys(
        (
            f"{each}admissionpolic{ending}.admissionregistration.k8s.io"
            for each in ("mutating", "validating")
            for ending in ("ies", "ybindings")
        ),
        _policies,
    ),
}

"""Which rules each built-in kind has."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, TypeAlias

from trimtab.apiserver.builtin import (
    budgets,
    certificates,
    claims,
    data,
    deviceclaims,
    devices,
    deviceslices,
    disks,
    endpoints,
    events,
    flow,
    ingresses,
    jobs,
    netpolicies,
    nodes,
    pods,
    quotas,
    registration,
    scaling,
    scheduling,
    services,
    storage,
    workloads,
)
from trimtab.apiserver.causes import Cause

Json: TypeAlias = dict[str, Any]
Check: TypeAlias = Callable[[Json], list[Cause]]
CheckChange: TypeAlias = Callable[[Json, Json], list[Cause]]


def _nothing(_: Json) -> list[Cause]:
    return []


def _no_change(_new: Json, _old: Json) -> list[Cause]:
    return []


@dataclass(frozen=True, slots=True)
class Rules:
    """What is checked of a kind."""

    check: Check = _nothing
    """An object, when it is made and when it changes."""
    change: CheckChange = _no_change
    """What a change may not do."""
    status: CheckChange = _no_change
    """A change of the status, which is all that is looked at then."""
    create: Check | None = None
    """An object when it is made, where that differs."""
    name_rule: Callable[[str], list[str]] | None = None
    """What a name may be, where that is a rule of its own."""


def _template(obj: Json) -> list[Cause]:
    return pods.check_template(obj.get("template") or {}, "template")


def _status(counted: tuple[str, ...], bounded: tuple[str, ...], ready: str) -> CheckChange:
    check = partial(workloads.check_status, counted=counted, bounded=bounded, ready=ready)
    return lambda new, _: check(new)


_DEPLOYMENT: Final = _status(
    (
        "observedGeneration", "replicas", "updatedReplicas", "readyReplicas", "availableReplicas",
        "unavailableReplicas",
    ),
    ("updatedReplicas", "readyReplicas", "availableReplicas"),
    "readyReplicas",
)  # fmt: skip
_REPLICA_SET: Final = _status(
    ("replicas", "fullyLabeledReplicas", "readyReplicas", "availableReplicas", "observedGeneration"),
    ("fullyLabeledReplicas", "readyReplicas", "availableReplicas"),
    "readyReplicas",
)
_STATEFUL_SET: Final = _status(
    ("replicas", "readyReplicas", "currentReplicas", "updatedReplicas", "availableReplicas", "observedGeneration"),
    ("readyReplicas", "currentReplicas", "updatedReplicas", "availableReplicas"),
    "status.readyReplicas",
)

_RULES: Final[dict[str, Rules]] = {
    "configmaps": Rules(data.check_config_map, data.check_config_map_change),
    "secrets": Rules(data.check_secret, data.check_secret_change),
    "pods": Rules(pods.check_pod, pods.check_pod_change, create=pods.check_new_pod),
    "podtemplates": Rules(_template),
    "replicationcontrollers": Rules(workloads.check_replication_controller, status=_REPLICA_SET),
    "deployments.apps": Rules(workloads.check_deployment, workloads.check_selector_change, _DEPLOYMENT),
    "replicasets.apps": Rules(workloads.check_replica_set, workloads.check_selector_change, _REPLICA_SET),
    "daemonsets.apps": Rules(workloads.check_daemon_set, workloads.check_selector_change),
    "statefulsets.apps": Rules(workloads.check_stateful_set, workloads.check_stateful_change, _STATEFUL_SET),
    "jobs.batch": Rules(jobs.check_job, jobs.check_job_change, jobs.check_job_status),
    "cronjobs.batch": Rules(jobs.check_cron_job),
    "services": Rules(services.check_service, services.check_service_change, services.check_service_status),
    "persistentvolumeclaims": Rules(claims.check_claim, claims.check_claim_change, claims.check_claim_status),
    "persistentvolumes": Rules(disks.check_volume, disks.check_volume_change),
    "storageclasses.storage.k8s.io": Rules(storage.check_class, storage.check_class_change),
    "volumeattributesclasses.storage.k8s.io": Rules(
        storage.check_attributes_class, storage.check_attributes_class_change
    ),
    "csidrivers.storage.k8s.io": Rules(storage.check_driver, storage.check_driver_change),
    "csinodes.storage.k8s.io": Rules(storage.check_node, storage.check_node_change),
    "csistoragecapacities.storage.k8s.io": Rules(storage.check_capacity, storage.check_capacity_change),
    "volumeattachments.storage.k8s.io": Rules(
        storage.check_attachment, storage.check_attachment_change, storage.check_attachment_status
    ),
    "ingresses.networking.k8s.io": Rules(
        ingresses.check_ingress, status=ingresses.check_ingress_status, create=ingresses.check_new_ingress
    ),
    "ingressclasses.networking.k8s.io": Rules(ingresses.check_class, ingresses.check_class_change),
    "networkpolicies.networking.k8s.io": Rules(netpolicies.check_policy),
    "endpoints": Rules(endpoints.check_endpoints),
    "endpointslices.discovery.k8s.io": Rules(endpoints.check_slice, endpoints.check_slice_change),
    "ipaddresses.networking.k8s.io": Rules(
        endpoints.check_address, endpoints.check_address_change, name_rule=endpoints.address_name
    ),
    "servicecidrs.networking.k8s.io": Rules(endpoints.check_service_cidr, endpoints.check_service_cidr_change),
    "poddisruptionbudgets.policy": Rules(budgets.check_budget, status=budgets.check_budget_status),
    "horizontalpodautoscalers.autoscaling": Rules(scaling.check_autoscaler, status=scaling.check_autoscaler_status),
    "resourcequotas": Rules(quotas.check_quota, quotas.check_quota_change, quotas.check_quota_status),
    "limitranges": Rules(quotas.check_limits),
    "priorityclasses.scheduling.k8s.io": Rules(scheduling.check_priority, scheduling.check_priority_change),
    "runtimeclasses.node.k8s.io": Rules(scheduling.check_runtime, scheduling.check_runtime_change),
    "leases.coordination.k8s.io": Rules(scheduling.check_lease),
    "controllerrevisions.apps": Rules(scheduling.check_revision, scheduling.check_revision_change),
    "events": Rules(events.check_old),
    "events.events.k8s.io": Rules(change=events.check_new_change, create=events.check_new),
    "nodes": Rules(nodes.check_node, nodes.check_node_change, nodes.check_node_status),
    "namespaces": Rules(nodes.check_namespace),
    "flowschemas.flowcontrol.apiserver.k8s.io": Rules(flow.check_schema, status=flow.check_status),
    "prioritylevelconfigurations.flowcontrol.apiserver.k8s.io": Rules(flow.check_level, status=flow.check_status),
    "certificatesigningrequests.certificates.k8s.io": Rules(
        certificates.check_request, status=certificates.check_request_status
    ),
    "deviceclasses.resource.k8s.io": Rules(devices.check_class),
    "resourceclaims.resource.k8s.io": Rules(
        change=deviceclaims.check_claim_change, status=deviceclaims.check_claim_status, create=deviceclaims.check_claim
    ),
    "resourceclaimtemplates.resource.k8s.io": Rules(
        change=deviceclaims.check_template_change, create=deviceclaims.check_template
    ),
    "resourceslices.resource.k8s.io": Rules(deviceslices.check_slice, deviceslices.check_slice_change),
    "apiservices.apiregistration.k8s.io": Rules(registration.check_service, status=registration.check_service_status),
}
_NONE: Final = Rules()


def rules_for(resource: str) -> Rules:
    """The rules of a built-in kind by its resource, such as `deployments.apps`; where it has none, all pass.

    They are about objects as they are stored, which is not always as the kind shows them.
    """
    return _RULES.get(resource, _NONE)

"""What stands in the tables of the built-in kinds, in the words that users of kubectl know: a function for each kind,
by where its objects are stored."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, Final, TypeAlias

from trimtab.apiserver.cells import access, autoscalers, cluster, network, pods, storing, workloads

Json: TypeAlias = dict[str, Any]
Cells: TypeAlias = Callable[[Json, datetime], list[Any]]

CELLS: Final[Mapping[str, Cells]] = {
    "componentstatuses": cluster.component,
    "configmaps": cluster.config_map,
    "endpoints": network.endpoints,
    "events": cluster.event,
    "namespaces": cluster.namespace,
    "nodes": cluster.node,
    "persistentvolumeclaims": storing.claim,
    "persistentvolumes": storing.volume,
    "pods": pods.pod,
    "podtemplates": pods.pod_template,
    "replicationcontrollers": workloads.replication_controller,
    "resourcequotas": cluster.quota,
    "secrets": cluster.secret,
    "serviceaccounts": cluster.named,
    "services": network.service,
    "mutatingadmissionpolicies.admissionregistration.k8s.io": access.mutating_policy,
    "mutatingadmissionpolicybindings.admissionregistration.k8s.io": access.policy_binding,
    "mutatingwebhookconfigurations.admissionregistration.k8s.io": access.webhooks,
    "validatingadmissionpolicies.admissionregistration.k8s.io": access.validating_policy,
    "validatingadmissionpolicybindings.admissionregistration.k8s.io": access.policy_binding,
    "validatingwebhookconfigurations.admissionregistration.k8s.io": access.webhooks,
    "apiservices.apiregistration.k8s.io": access.api_service,
    "controllerrevisions.apps": workloads.controller_revision,
    "daemonsets.apps": workloads.daemon_set,
    "deployments.apps": workloads.deployment,
    "replicasets.apps": workloads.replica_set,
    "statefulsets.apps": workloads.stateful_set,
    "scales.autoscaling": workloads.scale,
    "horizontalpodautoscalers.autoscaling": autoscalers.autoscaler,
    "cronjobs.batch": workloads.cron_job,
    "jobs.batch": workloads.job,
    "certificatesigningrequests.certificates.k8s.io": access.signing_request,
    "leases.coordination.k8s.io": cluster.lease,
    "endpointslices.discovery.k8s.io": network.endpoint_slice,
    "flowschemas.flowcontrol.apiserver.k8s.io": cluster.flow_schema,
    "prioritylevelconfigurations.flowcontrol.apiserver.k8s.io": cluster.priority_level,
    "ingressclasses.networking.k8s.io": network.ingress_class,
    "ingresses.networking.k8s.io": network.ingress,
    "ipaddresses.networking.k8s.io": network.ip_address,
    "networkpolicies.networking.k8s.io": network.network_policy,
    "servicecidrs.networking.k8s.io": network.service_cidr,
    "runtimeclasses.node.k8s.io": cluster.runtime_class,
    "poddisruptionbudgets.policy": workloads.disruption_budget,
    "clusterrolebindings.rbac.authorization.k8s.io": access.role_binding,
    "rolebindings.rbac.authorization.k8s.io": access.role_binding,
    "deviceclasses.resource.k8s.io": cluster.named,
    "resourceclaims.resource.k8s.io": cluster.resource_claim,
    "resourceclaimtemplates.resource.k8s.io": cluster.named,
    "resourceslices.resource.k8s.io": cluster.resource_slice,
    "priorityclasses.scheduling.k8s.io": cluster.priority_class,
    "csidrivers.storage.k8s.io": storing.csi_driver,
    "csinodes.storage.k8s.io": storing.csi_node,
    "storageclasses.storage.k8s.io": storing.storage_class,
    "volumeattachments.storage.k8s.io": storing.attachment,
    "volumeattributesclasses.storage.k8s.io": storing.attributes_class,
}

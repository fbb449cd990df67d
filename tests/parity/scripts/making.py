"""Short words for what most scripts have: paths, and objects that lack nothing but a name."""

from __future__ import annotations

from typing import Any


def _in(group_version: str, resource: str) -> str:
    root = "/api" if "/" not in group_version else "/apis"
    return f"{root}/{group_version}/namespaces/$NS/{resource}"


_RBAC = "/apis/rbac.authorization.k8s.io/v1"
_ADMISSION = "/apis/admissionregistration.k8s.io/v1"
PATHS: dict[str, str] = {
    "cms": _in("v1", "configmaps"),
    "secrets": _in("v1", "secrets"),
    "pods": _in("v1", "pods"),
    "deploys": _in("apps/v1", "deployments"),
    "services": _in("v1", "services"),
    "sas": _in("v1", "serviceaccounts"),
    "pvcs": _in("v1", "persistentvolumeclaims"),
    "rcs": _in("v1", "replicationcontrollers"),
    "endpoints": _in("v1", "endpoints"),
    "events": _in("v1", "events"),
    "newevents": _in("events.k8s.io/v1", "events"),
    "quotas": _in("v1", "resourcequotas"),
    "limits": _in("v1", "limitranges"),
    "podtemplates": _in("v1", "podtemplates"),
    "sets": _in("apps/v1", "statefulsets"),
    "replicasets": _in("apps/v1", "replicasets"),
    "daemons": _in("apps/v1", "daemonsets"),
    "jobs": _in("batch/v1", "jobs"),
    "crons": _in("batch/v1", "cronjobs"),
    "leases": _in("coordination.k8s.io/v1", "leases"),
    "roles": _in("rbac.authorization.k8s.io/v1", "roles"),
    "bindings": _in("rbac.authorization.k8s.io/v1", "rolebindings"),
    "ingresses": _in("networking.k8s.io/v1", "ingresses"),
    "netpols": _in("networking.k8s.io/v1", "networkpolicies"),
    "pdbs": _in("policy/v1", "poddisruptionbudgets"),
    "hpas": _in("autoscaling/v2", "horizontalpodautoscalers"),
    "namespaces": "/api/v1/namespaces",
    "nodes": "/api/v1/nodes",
    "pvs": "/api/v1/persistentvolumes",
    "clusterroles": f"{_RBAC}/clusterroles",
    "clusterbindings": f"{_RBAC}/clusterrolebindings",
    "priorities": "/apis/scheduling.k8s.io/v1/priorityclasses",
    "storageclasses": "/apis/storage.k8s.io/v1/storageclasses",
    "crds": "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
    "mutating": f"{_ADMISSION}/mutatingwebhookconfigurations",
    "validating": f"{_ADMISSION}/validatingwebhookconfigurations",
    "policies": f"{_ADMISSION}/validatingadmissionpolicies",
    "policybindings": f"{_ADMISSION}/validatingadmissionpolicybindings",
    "mpolicies": f"{_ADMISSION}/mutatingadmissionpolicies",
    "mbindings": f"{_ADMISSION}/mutatingadmissionpolicybindings",
    "ssar": "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
    "sar": "/apis/authorization.k8s.io/v1/subjectaccessreviews",
    "lsar": _in("authorization.k8s.io/v1", "localsubjectaccessreviews"),
    "rules": "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews",
    "tokenreviews": "/apis/authentication.k8s.io/v1/tokenreviews",
    "whoami": "/apis/authentication.k8s.io/v1/selfsubjectreviews",
    "things": "/apis/$NS.example.com/v1/namespaces/$NS/things",
    "things2": "/apis/$NS.example.com/v2/namespaces/$NS/things",
}
"""What a path of a script written as text may begin with."""


def _of(api_version: str, kind: str, **more: Any) -> dict[str, Any]:
    return {"apiVersion": api_version, "kind": kind, **more}


_CONTAINERS = {"containers": [{"name": "main", "image": "nginx"}]}
_TEMPLATE = {"metadata": {"labels": {"app": "a"}}, "spec": _CONTAINERS}
_SELECTED = {"selector": {"matchLabels": {"app": "a"}}, "template": _TEMPLATE}
_ONCE = {"spec": {"restartPolicy": "Never", **_CONTAINERS}}
_OPEN = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}


def _definition(schema: dict[str, Any]) -> dict[str, Any]:
    return _of(
        "apiextensions.k8s.io/v1",
        "CustomResourceDefinition",
        spec={
            "group": "$NS.example.com",
            "scope": "Namespaced",
            "names": {"plural": "things", "singular": "thing", "kind": "Thing", "listKind": "ThingList"},
            "versions": [
                {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}},
            ],
        },
    )


TEMPLATES: dict[str, dict[str, Any]] = {
    "cm": _of("v1", "ConfigMap"),
    "secret": _of("v1", "Secret"),
    "pod": _of("v1", "Pod", spec=_CONTAINERS),
    "deploy": _of("apps/v1", "Deployment", spec=_SELECTED),
    "rs": _of("apps/v1", "ReplicaSet", spec=_SELECTED),
    "ds": _of("apps/v1", "DaemonSet", spec=_SELECTED),
    "sts": _of("apps/v1", "StatefulSet", spec={"serviceName": "s", **_SELECTED}),
    "job": _of("batch/v1", "Job", spec={"template": _ONCE}),
    "cron": _of("batch/v1", "CronJob", spec={"schedule": "0 1 * * *", "jobTemplate": {"spec": {"template": _ONCE}}}),
    "svc": _of("v1", "Service", spec={"ports": [{"port": 80}]}),
    "sa": _of("v1", "ServiceAccount"),
    "ns": _of("v1", "Namespace"),
    "node": _of("v1", "Node"),
    "lease": _of("coordination.k8s.io/v1", "Lease"),
    "role": _of("rbac.authorization.k8s.io/v1", "Role"),
    "rb": _of("rbac.authorization.k8s.io/v1", "RoleBinding"),
    "crole": _of("rbac.authorization.k8s.io/v1", "ClusterRole"),
    "crb": _of("rbac.authorization.k8s.io/v1", "ClusterRoleBinding"),
    "event": _of("v1", "Event", involvedObject={"kind": "Pod", "name": "a", "namespace": "$NS"}),
    "newevent": _of("events.k8s.io/v1", "Event", regarding={"kind": "Pod", "name": "a", "namespace": "$NS"}),
    "crd": _definition(_OPEN),
    "thing": _of("$NS.example.com/v1", "Thing"),
    "vwc": _of("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration"),
    "mwc": _of("admissionregistration.k8s.io/v1", "MutatingWebhookConfiguration"),
    "vap": _of("admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicy"),
    "vapb": _of("admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicyBinding"),
    "map": _of("admissionregistration.k8s.io/v1", "MutatingAdmissionPolicy"),
    "mapb": _of("admissionregistration.k8s.io/v1", "MutatingAdmissionPolicyBinding"),
}
"""Objects that lack nothing but a name."""

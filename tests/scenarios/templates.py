"""The objects that scenarios begin with, by a short word; a script lays over them what it is about."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

Json = dict[str, Any]

KINDS = {
    "deploy": ("apps/v1", "Deployment"),
    "rs": ("apps/v1", "ReplicaSet"),
    "sts": ("apps/v1", "StatefulSet"),
    "ds": ("apps/v1", "DaemonSet"),
    "revision": ("apps/v1", "ControllerRevision"),
    "job": ("batch/v1", "Job"),
    "cronjob": ("batch/v1", "CronJob"),
    "pod": ("v1", "Pod"),
    "pvc": ("v1", "PersistentVolumeClaim"),
    "pv": ("v1", "PersistentVolume"),
    "svc": ("v1", "Service"),
    "endpoints": ("v1", "Endpoints"),
    "slice": ("discovery.k8s.io/v1", "EndpointSlice"),
    "pdb": ("policy/v1", "PodDisruptionBudget"),
    "cm": ("v1", "ConfigMap"),
    "sa": ("v1", "ServiceAccount"),
    "ns": ("v1", "Namespace"),
    "node": ("v1", "Node"),
    "event": ("v1", "Event"),
}
"""What is watched, by the word that scripts have for it."""

CLUSTER_WIDE = {"pv", "ns", "node"}

_CONTAINER = {"name": "c", "image": "nginx:1"}


def _template(name: str, **spec: Any) -> Json:
    return {"metadata": {"labels": {"app": name}}, "spec": {"containers": [_CONTAINER], **spec}}


def _set(name: str, **spec: Any) -> Json:
    return {"spec": {"selector": {"matchLabels": {"app": name}}, "template": _template(name), **spec}}


def _job(name: str, **spec: Any) -> Json:
    return {"template": _template(name, restartPolicy="Never"), **spec}


def _made(word: str, name: str) -> Json:
    match word:
        case "deploy" | "rs":
            return _set(name, replicas=1)
        case "sts":
            return _set(name, replicas=1, serviceName=name)
        case "ds":
            return _set(name)
        case "job":
            return {"spec": _job(name)}
        case "cronjob":
            return {"spec": {"schedule": "* * * * *", "jobTemplate": {"spec": _job(name)}}}
        case "pod":
            return {"metadata": {"labels": {"app": name}}, "spec": {"containers": [_CONTAINER]}}
        case "svc":
            return {"spec": {"selector": {"app": name}, "ports": [{"port": 80}]}}
        case "pdb":
            return {"spec": {"selector": {"matchLabels": {"app": name}}, "minAvailable": 1}}
        case "pvc":
            room = {"requests": {"storage": "1Gi"}}
            return {"spec": {"accessModes": ["ReadWriteOnce"], "storageClassName": "", "resources": room}}
        case "pv":
            return {
                "spec": {
                    "accessModes": ["ReadWriteOnce"],
                    "capacity": {"storage": "1Gi"},
                    "hostPath": {"path": "/tmp/trimtab"},  # of a machine that does not exist
                    "storageClassName": "",
                    "persistentVolumeReclaimPolicy": "Retain",
                }
            }
        case "node":
            return {
                "metadata": {"labels": {"only": name, "kubernetes.io/hostname": name}},
                "spec": {"taints": [{"key": "only", "value": name, "effect": "NoSchedule"}]},
                "status": {
                    "allocatable": {"cpu": "8", "memory": "16Gi", "pods": "100"},
                    "capacity": {"cpu": "8", "memory": "16Gi", "pods": "100"},
                },
            }
        case _:
            return {}


def made(word: str, name: str, over: Json) -> Json:
    """An object by the word for its kind, with something laid over it."""
    api_version, kind = KINDS[word]
    under = {"apiVersion": api_version, "kind": kind, "metadata": {"name": name}}
    return laid_over(laid_over(under, deepcopy(_made(word, name))), over)


def laid_over(under: Any, over: Any) -> Any:
    """Maps are merged; whatever else is replaced."""
    if not isinstance(under, dict) or not isinstance(over, dict):
        return over
    return {**under, **{key: laid_over(under.get(key), value) for key, value in over.items()}}

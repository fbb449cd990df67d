"""The control loops of the local cluster: those of Kubernetes' controller manager, each an ordinary app in one file.

What belongs here decides what a cluster does by itself, under the names that Kubernetes' controllers have. What stands
in for machines is in `nodes/`, what chooses among them in `scheduling/`.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Final

from trimtab.controller import App
from trimtab.errors import TrimtabError
from trimtab.manager import Manager, Part

LOOPS: Final = {
    "cronjob-controller": "trimtab.local.loops.cronjob",
    "daemonset-controller": "trimtab.local.loops.daemonset",
    "deployment-controller": "trimtab.local.loops.deployment",
    "disruption-controller": "trimtab.local.loops.disruption",
    "endpoints-controller": "trimtab.local.loops.endpoints.legacy",
    "endpointslice-controller": "trimtab.local.loops.endpoints.slices",
    "garbage-collector-controller": "trimtab.local.loops.garbage",
    "horizontal-pod-autoscaler-controller": "trimtab.local.loops.autoscaling",
    "job-controller": "trimtab.local.loops.job",
    "kubernetes-service-controller": "trimtab.local.loops.kubernetes_service",
    "namespace-controller": "trimtab.local.loops.namespaces",
    "node-lifecycle-controller": "trimtab.local.loops.node_lifecycle",
    "persistentvolume-binder-controller": "trimtab.local.loops.volumes.binding",
    "persistentvolume-protection-controller": "trimtab.local.loops.volumes.volume_protection",
    "persistentvolumeclaim-protection-controller": "trimtab.local.loops.volumes.claim_protection",
    "pod-garbage-collector-controller": "trimtab.local.loops.pod_garbage",
    "replicaset-controller": "trimtab.controllers.replicaset",
    "replicationcontroller-controller": "trimtab.local.loops.replication_controller",
    "resourcequota-controller": "trimtab.local.loops.resource_quota",
    "root-ca-certificate-publisher-controller": "trimtab.local.loops.root_ca",
    "serviceaccount-controller": "trimtab.local.loops.service_accounts",
    "statefulset-controller": "trimtab.local.loops.statefulset",
    "taint-eviction-controller": "trimtab.local.loops.taint_eviction",
    "ttl-after-finished-controller": "trimtab.local.loops.ttl_after_finished",
}
"""Where each loop is: a module with an `app`, or with a `part` of a manager. It is imported when a cluster runs it."""


@dataclass(frozen=True, slots=True)
class Loops:
    """Loops to be run."""

    apps: list[App]
    parts: list[Callable[[Manager], Part]]


def load_loops(names: Iterable[str] | None = None) -> Loops:
    """These loops; without names, all."""
    found = Loops([], [])
    for name in LOOPS if names is None else dict.fromkeys(names):
        if name not in LOOPS:
            raise TrimtabError(f"there is no loop {name!r}: there are {', '.join(LOOPS)}")
        module: Any = importlib.import_module(LOOPS[name])
        if hasattr(module, "part"):
            found.parts.append(module.part)
        else:
            found.apps.append(module.app)
    return found

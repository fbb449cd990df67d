"""Which rules each built-in kind has."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, TypeAlias

from trimtab.apiserver.builtin import data, jobs, pods, services, workloads
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
}
_NONE: Final = Rules()


def rules_for(bucket: str) -> Rules:
    """The rules of a built-in kind by its resource, such as `deployments.apps`; where it has none, all pass."""
    return _RULES.get(bucket, _NONE)

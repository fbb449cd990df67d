"""What a ReplicaSet's status says, given its Pods and what went wrong."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

from trimtab.controllers.replicaset.pods import PodView, available_in, is_active, is_terminating, ready_since
from trimtab.kube.apps.v1 import ReplicaSet, ReplicaSetCondition
from trimtab.kube.conditions import find_condition
from trimtab.kube.selectors import Selector

FAILURE = "ReplicaFailure"


def status_of(
    rs: ReplicaSet, pods: Iterable[PodView], now: datetime, failed: tuple[str, str] | None = None
) -> dict[str, Any]:
    """The fields of the status by their names; what is zero is left out, as Kubernetes does.

    `failed` is the reason and the message of what went wrong this time.
    """
    every = list(pods)
    active = [pod for pod in every if is_active(pod)]
    template = Selector.from_mapping(rs.spec.template.metadata.labels)
    waits = [available_in(pod, rs.spec.min_ready_seconds or 0, now) for pod in active]
    return {
        "replicas": len(active),
        "fully_labeled_replicas": sum(template.matches(pod.metadata.labels) for pod in active) or None,
        "ready_replicas": sum(ready_since(pod) is not None for pod in active) or None,
        "available_replicas": sum(wait == 0 for wait in waits) or None,
        "terminating_replicas": sum(map(is_terminating, every)),
        "observed_generation": rs.metadata.generation or None,
        "conditions": conditions_of(rs.status.conditions, failed, now) or None,
    }


def conditions_of(
    before: Sequence[ReplicaSetCondition], failed: tuple[str, str] | None, now: datetime
) -> list[ReplicaSetCondition]:
    """ReplicaFailure while Pods cannot be made or deleted, in the words of the first time; else it goes."""
    if failed is None:
        return [each for each in before if each.type != FAILURE]
    if find_condition(before, FAILURE) is not None:
        return list(before)
    reason, message = failed
    at = now.replace(microsecond=0)
    failure = ReplicaSetCondition(type=FAILURE, status="True", reason=reason, message=message, last_transition_time=at)
    return [*before, failure]

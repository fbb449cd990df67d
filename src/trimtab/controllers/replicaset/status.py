"""What a ReplicaSet's status says, given its Pods and what went wrong."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

from trimtab.controllers.replicaset.pods import Standing, wait_for
from trimtab.kube.apps.v1 import ReplicaSet, ReplicaSetCondition
from trimtab.kube.conditions import find_condition
from trimtab.kube.selectors import Selector

FAILURE = "ReplicaFailure"


def status_of(
    rs: ReplicaSet, pods: Iterable[Standing], now: datetime, failed: tuple[str, str] | None = None
) -> dict[str, Any]:
    """The fields of the status by their names; what is zero is left out, as Kubernetes does.

    `failed` is the reason and the message of what went wrong this time.
    """
    every = list(pods)
    active = [pod for pod in every if pod.active]
    ready = [pod.ready_since for pod in active if pod.ready_since is not None]
    minimum = rs.spec.min_ready_seconds or 0
    available = sum(wait_for(since, minimum, now) == 0 for since in ready) if minimum else len(ready)
    return {
        "replicas": len(active),
        "fully_labeled_replicas": _fully_labeled(rs, active) or None,
        "ready_replicas": len(ready) or None,
        "available_replicas": available or None,
        "terminating_replicas": sum(pod.terminating for pod in every),
        "observed_generation": rs.metadata.generation or None,
        "conditions": conditions_of(rs.status.conditions, failed, now) or None,
    }


def _fully_labeled(rs: ReplicaSet, pods: Sequence[Standing]) -> int:
    """How many have all labels of the template. Those made of one template share theirs, which are compared once."""
    template = Selector.from_mapping(rs.spec.template.metadata.labels)
    shared = {id(pod.labels): pod.labels for pod in pods}
    matching = {identity for identity, labels in shared.items() if template.matches(labels)}
    return sum(id(pod.labels) in matching for pod in pods)


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

"""What a Deployment's status says: counts, and the conditions by which `kubectl rollout status` tells how it goes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from trimtab.kube.apps.v1 import Deployment, DeploymentCondition, DeploymentStatus, ReplicaSet
from trimtab.kube.conditions import ConditionStatus, find_condition
from trimtab.local.loops.deployment.sizes import Bounds

AVAILABLE: Final = "Available"
PROGRESSING: Final = "Progressing"
FAILURE: Final = "ReplicaFailure"

PAUSED: Final = "DeploymentPaused"
RESUMED: Final = "DeploymentResumed"
FOUND: Final = "FoundNewReplicaSet"
CREATED: Final = "NewReplicaSetCreated"
NOT_CREATED: Final = "ReplicaSetCreateError"
UPDATED: Final = "ReplicaSetUpdated"
DONE: Final = "NewReplicaSetAvailable"
TIMED_OUT: Final = "ProgressDeadlineExceeded"

_NO_DEADLINE: Final = 2**31 - 1

Conditions = list[DeploymentCondition]


@dataclass(frozen=True, slots=True)
class Counts:
    """The numbers of the status."""

    replicas: int
    updated: int
    ready: int
    available: int
    unavailable: int
    terminating: int

    def fields(self) -> dict[str, int | None]:
        """By the names in the status; what is zero is left out, as Kubernetes does."""
        return {
            "replicas": self.replicas or None,
            "updated_replicas": self.updated or None,
            "ready_replicas": self.ready or None,
            "available_replicas": self.available or None,
            "unavailable_replicas": self.unavailable or None,
            "terminating_replicas": self.terminating,
        }


def counts_of(sets: Iterable[ReplicaSet], new: ReplicaSet | None) -> Counts:
    """The sums over all ReplicaSets."""
    every = list(sets)
    available = sum(each.status.available_replicas for each in every)
    return Counts(
        replicas=sum(each.status.replicas for each in every),
        updated=new.status.replicas if new is not None else 0,
        ready=sum(each.status.ready_replicas for each in every),
        available=available,
        unavailable=max(sum(each.spec.replicas or 0 for each in every) - available, 0),
        terminating=sum(each.status.terminating_replicas for each in every),
    )


def put(
    conditions: Sequence[DeploymentCondition],
    type_: str,
    status: ConditionStatus,
    reason: str,
    message: str,
    now: datetime,
    *,
    anew: bool = False,
) -> Conditions:
    """The conditions with this one. One with the same status and reason stays, unless it is to be told anew."""
    before = find_condition(conditions, type_)
    if before is not None and (before.status, before.reason) == (status, reason) and not anew:
        return list(conditions)
    at = now.replace(microsecond=0)
    kept = before.last_transition_time if before is not None and before.status == status else at
    made = DeploymentCondition(
        type=type_, status=status, reason=reason, message=message, last_update_time=at, last_transition_time=kept
    )
    return [*without(conditions, type_), made]


def without(conditions: Sequence[DeploymentCondition], type_: str) -> Conditions:
    """The conditions without this one."""
    return [each for each in conditions if each.type != type_]


def deadline_of(deployment: Deployment) -> timedelta | None:
    """How long a rollout may stand still; None where it may for ever."""
    seconds = deployment.spec.progress_deadline_seconds
    return None if seconds is None or seconds >= _NO_DEADLINE else timedelta(seconds=seconds)


def with_pause(deployment: Deployment, conditions: Conditions, now: datetime) -> Conditions:
    """Tell that it was paused, or goes on: from then on its deadline runs."""
    if deadline_of(deployment) is None:
        return conditions
    before = find_condition(conditions, PROGRESSING)
    if before is not None and before.reason == TIMED_OUT:
        return conditions
    is_told = before is not None and before.reason == PAUSED
    if deployment.spec.paused and not is_told:
        return put(conditions, PROGRESSING, "Unknown", PAUSED, "Deployment is paused", now)
    if not deployment.spec.paused and is_told:
        return put(conditions, PROGRESSING, "Unknown", RESUMED, "Deployment is resumed", now)
    return conditions


def with_availability(conditions: Conditions, bounds: Bounds, counts: Counts, now: datetime) -> Conditions:
    """Tell whether enough are available."""
    if counts.available >= bounds.fewest_available:
        text = "Deployment has minimum availability."
        return put(conditions, AVAILABLE, "True", "MinimumReplicasAvailable", text, now)
    text = "Deployment does not have minimum availability."
    return put(conditions, AVAILABLE, "False", "MinimumReplicasUnavailable", text, now)


def with_failures(
    conditions: Conditions, new: ReplicaSet | None, old: Iterable[ReplicaSet], now: datetime
) -> Conditions:
    """Tell why Pods cannot be made, as the ReplicaSets say it: the new one first."""
    for rs in ([new] if new is not None else []) + list(old):
        failure = find_condition(rs.status.conditions, FAILURE)
        if failure is not None:
            status: Any = failure.status
            return put(conditions, FAILURE, status, failure.reason or "", failure.message or "", now)
    return without(conditions, FAILURE)


def with_progress(
    deployment: Deployment, conditions: Conditions, counts: Counts, new: ReplicaSet | None, now: datetime
) -> Conditions:
    """Tell whether the rollout is done, goes on, or stands still for too long."""
    if deadline_of(deployment) is None:
        return without(conditions, PROGRESSING)
    before = find_condition(conditions, PROGRESSING)
    if before is not None and before.reason == DONE and counts.replicas == counts.updated:
        return conditions
    who = f'ReplicaSet "{new.metadata.name}"' if new is not None else f'Deployment "{deployment.metadata.name}"'
    if is_complete(deployment, counts):
        return put(conditions, PROGRESSING, "True", DONE, f"{who} has successfully progressed.", now)
    if has_progressed(deployment.status, counts):
        return put(conditions, PROGRESSING, "True", UPDATED, f"{who} is progressing.", now, anew=True)
    if has_timed_out(deployment, conditions, now):
        return put(conditions, PROGRESSING, "False", TIMED_OUT, f"{who} has timed out progressing.", now)
    return conditions


def is_complete(deployment: Deployment, counts: Counts) -> bool:
    """Whether all that is wanted is there, new and available, and nothing else."""
    wanted = 1 if deployment.spec.replicas is None else deployment.spec.replicas
    return counts.updated == counts.replicas == counts.available == wanted


def has_progressed(before: DeploymentStatus, counts: Counts) -> bool:
    """Whether anything went forward since the status was written."""
    return (
        counts.updated > before.updated_replicas
        or counts.replicas - counts.updated < before.replicas - before.updated_replicas
        or counts.ready > before.ready_replicas
        or counts.available > before.available_replicas
    )


def has_timed_out(deployment: Deployment, conditions: Sequence[DeploymentCondition], now: datetime) -> bool:
    """Whether nothing went forward for as long as the deadline says."""
    condition, deadline = find_condition(conditions, PROGRESSING), deadline_of(deployment)
    if condition is None or deadline is None or condition.reason == DONE:
        return False
    if condition.reason == TIMED_OUT:
        return True
    return condition.last_update_time is not None and condition.last_update_time + deadline < now


def look_again_in(
    deployment: Deployment, conditions: Sequence[DeploymentCondition], counts: Counts, now: datetime
) -> float | None:
    """In how many seconds the deadline will have passed, while a rollout goes on."""
    condition, deadline = find_condition(conditions, PROGRESSING), deadline_of(deployment)
    if condition is None or deadline is None or condition.last_update_time is None:
        return None
    if deployment.spec.paused or condition.reason in (TIMED_OUT, DONE) or is_complete(deployment, counts):
        return None
    return max((condition.last_update_time + deadline - now).total_seconds(), 0.0) + 1.0

"""What stands in the tables of what makes Pods."""

from __future__ import annotations

from datetime import datetime
from typing import Any, TypeAlias

from trimtab.apiserver.cells.words import (
    NONE,
    UNSET,
    age,
    age_of,
    conditions,
    containers,
    duration,
    is_going,
    items,
    labels,
    name_of,
    part,
    selector,
    selector_text,
    set_or,
)
from trimtab.kube.timestamps import parse_time

Json: TypeAlias = dict[str, Any]


def deployment(obj: Json, now: datetime) -> list[Any]:
    """Name, Ready, Up-to-date, Available, Age, Containers, Images, Selector."""
    spec, status = part(obj, "spec"), part(obj, "status")
    return [
        name_of(obj), f"{status.get('readyReplicas', 0)}/{spec.get('replicas', 0)}", status.get("updatedReplicas", 0),
        status.get("availableReplicas", 0), age_of(obj, now), *containers(part(spec, "template")),
        selector(part(spec, "selector")),
    ]  # fmt: skip


def _replicas(obj: Json, now: datetime) -> list[Any]:
    spec, status = part(obj, "spec"), part(obj, "status")
    counts = (spec.get("replicas", 0), status.get("replicas", 0), status.get("readyReplicas", 0))
    return [name_of(obj), *counts, age_of(obj, now), *containers(part(spec, "template"))]


def replica_set(obj: Json, now: datetime) -> list[Any]:
    """Name, Desired, Current, Ready, Age, Containers, Images, Selector."""
    return [*_replicas(obj, now), selector_text(part(obj, "spec", "selector"))]


def replication_controller(obj: Json, now: datetime) -> list[Any]:
    """Name, Desired, Current, Ready, Age, Containers, Images, Selector."""
    return [*_replicas(obj, now), labels(part(obj, "spec", "selector"))]


def stateful_set(obj: Json, now: datetime) -> list[Any]:
    """Name, Ready, Age, Containers, Images."""
    ready = f"{part(obj, 'status').get('readyReplicas', 0)}/{part(obj, 'spec').get('replicas', 0)}"
    return [name_of(obj), ready, age_of(obj, now), *containers(part(obj, "spec", "template"))]


def daemon_set(obj: Json, now: datetime) -> list[Any]:
    """Name, Desired, Current, Ready, Up-to-date, Available, Node Selector, Age, Containers, Images, Selector."""
    status, template = part(obj, "status"), part(obj, "spec", "template")
    counts = ("desiredNumberScheduled", "currentNumberScheduled", "numberReady", "updatedNumberScheduled")
    return [
        name_of(obj), *(status.get(count, 0) for count in counts), status.get("numberAvailable", 0),
        labels(part(template, "spec", "nodeSelector")), age_of(obj, now), *containers(template),
        selector_text(part(obj, "spec", "selector")),
    ]  # fmt: skip


def job(obj: Json, now: datetime) -> list[Any]:
    """Name, Status, Completions, Duration, Age, Containers, Images, Selector."""
    spec, status = part(obj, "spec"), part(obj, "status")
    done = status.get("succeeded", 0)
    if spec.get("completions") is not None:
        completions = f"{done}/{spec['completions']}"
    else:
        parallel = spec.get("parallelism") or 0
        completions = f"{done}/1 of {parallel}" if parallel > 1 else f"{done}/1"
    took = ""
    if start := status.get("startTime"):
        end = status.get("completionTime")
        took = duration((parse_time(end) if end else now) - parse_time(start))
    return [
        name_of(obj), _job_state(obj), completions, took, age_of(obj, now), *containers(part(spec, "template")),
        selector_text(part(spec, "selector")),
    ]  # fmt: skip


def _job_state(obj: Json) -> str:
    first = {each.get("type"): each.get("status") == "True" for each in reversed(conditions(obj))}
    for kind in ("Complete", "Failed"):
        if first.get(kind):
            return kind
    if is_going(obj):
        return "Terminating"
    return next((kind for kind in ("Suspended", "FailureTarget", "SuccessCriteriaMet") if first.get(kind)), "Running")


def cron_job(obj: Json, now: datetime) -> list[Any]:
    """Name, Schedule, Timezone, Suspend, Active, Last Schedule, Age, Containers, Images, Selector."""
    spec, status = part(obj, "spec"), part(obj, "status")
    jobs = part(spec, "jobTemplate", "spec")
    last = status.get("lastScheduleTime")
    return [
        name_of(obj), spec.get("schedule", ""), set_or(spec.get("timeZone"), NONE), _truth(spec.get("suspend")),
        len(items(status, "active")), age(last, now) if last else NONE, age_of(obj, now),
        *containers(part(jobs, "template")), selector_text(part(jobs, "selector")),
    ]  # fmt: skip


def _truth(value: bool | None) -> str:
    return UNSET if value is None else str(value)


def controller_revision(obj: Json, now: datetime) -> list[Any]:
    """Name, Controller, Revision, Age."""
    owner = next((each for each in items(obj["metadata"], "ownerReferences") if each.get("controller")), None)
    name = NONE
    if owner is not None:
        group = owner.get("apiVersion", "").rpartition("/")[0]
        kind = f"{owner.get('kind', '')}.{group}" if group else owner.get("kind", "")
        name = f"{kind.lower()}/{owner.get('name', '')}"
    return [name_of(obj), name, obj.get("revision", 0), age_of(obj, now)]


def disruption_budget(obj: Json, now: datetime) -> list[Any]:
    """Name, Min Available, Max Unavailable, Allowed Disruptions, Age."""
    bounds = [str(set_or(part(obj, "spec").get(name), "N/A")) for name in ("minAvailable", "maxUnavailable")]
    return [name_of(obj), *bounds, part(obj, "status").get("disruptionsAllowed", 0), age_of(obj, now)]


def scale(obj: Json, now: datetime) -> list[Any]:
    """Name, Desired, Available, Age."""
    counts = (part(obj, "spec").get("replicas", 0), part(obj, "status").get("replicas", 0))
    return [name_of(obj), *counts, age_of(obj, now)]

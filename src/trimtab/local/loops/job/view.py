"""What a Job's controller looks at of a Pod, and what that says."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final

from msgspec import field

from trimtab.controllers.replicaset.pods import ContainerStateView, PodStatusView, PodView
from trimtab.kube.base import Struct
from trimtab.kube.conditions import find_condition

TRACKING: Final = "batch.kubernetes.io/job-tracking"
INDEX: Final = "batch.kubernetes.io/job-completion-index"
FAILURES: Final = "batch.kubernetes.io/job-index-failure-count"
IGNORED: Final = "batch.kubernetes.io/job-index-ignored-failure-count"


class TerminatedView(Struct):
    """How a container ended."""

    exit_code: int = 0
    finished_at: datetime | None = None


class StateView(Struct):
    """Whether it ended."""

    terminated: TerminatedView | None = None


class JobContainerView(ContainerStateView):
    """Of a container's status: whether and how it ended."""

    state: StateView = field(default_factory=StateView)


class JobPodStatusView(PodStatusView):
    """Of a Pod's status: how its containers ended."""

    container_statuses: list[JobContainerView] = []  # pyright: ignore[reportIncompatibleVariableOverride]  # read only
    init_container_statuses: list[JobContainerView] = []  # pyright: ignore[reportIncompatibleVariableOverride]  # as above


class JobPod(PodView):
    """Of a Pod of a Job: what its end says."""

    status: JobPodStatusView = field(default_factory=JobPodStatusView)  # pyright: ignore[reportIncompatibleVariableOverride]  # read only


def is_tracked(pod: JobPod) -> bool:
    """Whether it is kept until it was counted."""
    return TRACKING in pod.metadata.finalizers


def index_of(pod: JobPod) -> int | None:
    """Which index it works on."""
    said = pod.metadata.annotations.get(INDEX, "")
    return int(said) if said.isascii() and said.isdecimal() else None


def has_succeeded(pod: JobPod) -> bool:
    """Whether it ended well."""
    return pod.status.phase == "Succeeded"


def has_failed(pod: JobPod, *, waits_for_the_end: bool) -> bool:
    """Whether it failed. One that is about to go has, unless its end is waited for."""
    if pod.status.phase == "Failed":
        return True
    return not waits_for_the_end and pod.metadata.deletion_timestamp is not None and pod.status.phase != "Succeeded"


def number_in(pod: JobPod, annotation: str) -> int:
    """What an annotation counts."""
    said = pod.metadata.annotations.get(annotation, "")
    return int(said) if said.isascii() and said.isdecimal() else 0


def ended_at(pod: JobPod, now: datetime) -> datetime:
    """When it ended, as well as that is known."""
    times = [each.state.terminated.finished_at for each in pod.status.container_statuses if each.state.terminated]
    known = [time for time in times if time is not None]
    if known and len(known) == len(pod.status.container_statuses):
        return max(known)
    ready = find_condition(pod.status.conditions, "Ready")
    if ready is not None and ready.last_transition_time is not None:
        return ready.last_transition_time
    if pod.metadata.deletion_timestamp is not None:
        return pod.metadata.deletion_timestamp - timedelta(seconds=pod.metadata.deletion_grace_period_seconds or 0)
    return pod.metadata.creation_timestamp or now

"""What a controller of Pods looks at of each: the fields, and what they say."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Final, NamedTuple

from msgspec import field

from trimtab.cache import Cached
from trimtab.kube.base import Struct
from trimtab.kube.conditions import find_condition
from trimtab.kube.core.v1 import PodCondition
from trimtab.kube.meta.v1 import ObjectMeta

ENDED: Final = ("Succeeded", "Failed")
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


class ContainerView(Struct):
    """Of a container: how it is called, and whether it is a sidecar."""

    name: str = ""
    restart_policy: str | None = None


class ContainerStateView(Struct):
    """Of a container's status: how often it was started anew."""

    name: str = ""
    restart_count: int = 0


class PodSpecView(Struct):
    """Of a Pod's spec: where it is."""

    node_name: str | None = None
    init_containers: list[ContainerView] = []


class PodStatusView(Struct):
    """Of a Pod's status: how it goes."""

    phase: str | None = None
    conditions: list[PodCondition] = []
    container_statuses: list[ContainerStateView] = []
    init_container_statuses: list[ContainerStateView] = []


class PodView(Struct):
    """Of a Pod, what controllers look at. It decodes several times faster than the whole."""

    metadata: ObjectMeta = field(default_factory=ObjectMeta)
    spec: PodSpecView = field(default_factory=PodSpecView)
    status: PodStatusView = field(default_factory=PodStatusView)


class Standing(NamedTuple):
    """What it takes to count a Pod."""

    active: bool
    terminating: bool
    ready_since: datetime | None
    labels: Mapping[str, str]


class _Status(Struct):
    phase: str | None = None
    conditions: list[PodCondition] = []


class _StatusView(Struct):
    status: _Status = field(default_factory=_Status)


def standing(entry: Cached[Any]) -> Standing:
    """How a Pod stands: a digest, for those who count thousands at each look."""
    status = entry.decode(_StatusView, entry.json()).status
    runs = status.phase not in ENDED
    return Standing(runs and not entry.deleting, runs and entry.deleting, _ready_since(status), entry.labels)


def is_active(pod: PodView) -> bool:
    """Whether it counts: it has not ended, and is not about to go."""
    return pod.status.phase not in ENDED and pod.metadata.deletion_timestamp is None


def is_terminating(pod: PodView) -> bool:
    """Whether it is about to go, and its containers may still run."""
    return pod.status.phase not in ENDED and pod.metadata.deletion_timestamp is not None


def ready_since(pod: PodView) -> datetime | None:
    """Since when it is ready; None where it is not."""
    return _ready_since(pod.status)


def _ready_since(status: PodStatusView | _Status) -> datetime | None:
    condition = find_condition(status.conditions, "Ready")
    if condition is None or condition.status != "True":
        return None
    return condition.last_transition_time or _EPOCH


def available_in(pod: PodView, min_ready_seconds: int, now: datetime) -> float | None:
    """In how many seconds it will have been ready for long enough; 0 where it has been, None where it is not ready."""
    return wait_for(ready_since(pod), min_ready_seconds, now)


def wait_for(since: datetime | None, min_ready_seconds: int, now: datetime) -> float | None:
    """The same for a Pod that has been ready since then."""
    if since is None:
        return None
    if not min_ready_seconds:
        return 0.0
    return max(0.0, (since + timedelta(seconds=min_ready_seconds) - now).total_seconds())


def first_available(pods: Iterable[PodView | Standing], min_ready_seconds: int, now: datetime) -> float | None:
    """In how many seconds the next of those that are ready will be available; None where there is no such."""
    if not min_ready_seconds:
        return None
    since = [pod.ready_since if isinstance(pod, Standing) else ready_since(pod) for pod in pods]
    return min((wait for each in since if (wait := wait_for(each, min_ready_seconds, now))), default=None)

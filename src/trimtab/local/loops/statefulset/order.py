"""What is to be done with the Pods of a StatefulSet now, and in which order: pure decisions.

With the policy OrderedReady one thing is done at a time: Pods come from the lowest ordinal up, each when those before
it are available, and go from the highest down. With Parallel all come and go at once. An update goes from the highest
ordinal down, whatever the policy, a Pod when the one before it is available.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, TypeAlias

from trimtab.controllers.replicaset.pods import ENDED, PodView, available_in, ready_since

REVISION = "controller-revision-hash"


@dataclass(frozen=True, slots=True)
class Wish:
    """What a StatefulSet wants."""

    ordinals: range
    ordered: bool = True
    on_delete: bool = False
    partition: int | None = None
    max_unavailable: int = 1
    min_ready_seconds: int = 0
    current: str = ""
    """The revision that it comes from."""
    update: str = ""
    """The revision that it goes to."""
    current_replicas: int = 0
    """How many are of the revision that it comes from, as was told last."""

    def revision_for(self, ordinal: int) -> str:
        """The revision that a new Pod is of: before an update comes to it, still the old one."""
        if self.on_delete:
            return self.update
        kept = self.current_replicas if self.partition is None else self.partition
        return self.current if ordinal < self.ordinals.start + kept else self.update


@dataclass(frozen=True, slots=True)
class Create:
    """Make the Pod of this ordinal."""

    ordinal: int
    revision: str


@dataclass(frozen=True, slots=True)
class Delete:
    """Delete a Pod: it has ended and is made anew, there are too many, or it is of an old revision."""

    pod: PodView
    why: Literal["ended", "scaled", "updated"]


Step: TypeAlias = Create | Delete


def steps(wish: Wish, pods: Mapping[int, PodView], now: datetime) -> list[Step]:
    """What is to be done now. Nothing, where somebody has to be waited for; `pods` are those there are, by ordinal."""
    found, go_on = _fill(wish, pods, now)
    if not go_on:
        return found
    surplus = _shrink(wish, pods)
    if wish.ordered and surplus is not None:
        return [*found, *surplus]
    found += surplus or []
    if wish.on_delete:
        return found
    return found + _update(wish, pods, now)


def _fill(wish: Wish, pods: Mapping[int, PodView], now: datetime) -> tuple[list[Step], bool]:
    """The Pods that are wanted; and whether anything else may be done."""
    found: list[Step] = []
    go_on = True
    for ordinal in wish.ordinals:
        pod = pods.get(ordinal)
        if pod is None:
            found.append(Create(ordinal, wish.revision_for(ordinal)))
            waits = wish.ordered
        elif pod.status.phase in ENDED:
            if not is_terminating(pod):
                found.append(Delete(pod, "ended"))
            waits, go_on = True, False
        else:
            waits = wish.ordered and not is_available(pod, wish, now)
        if waits and wish.ordered:
            return found, False
    return found, go_on


def _shrink(wish: Wish, pods: Mapping[int, PodView]) -> list[Step] | None:
    """The Pods that are not wanted, the highest ordinal first. None: there are none."""
    condemned = [pods[ordinal] for ordinal in sorted(pods, reverse=True) if ordinal not in wish.ordinals]
    if not condemned:
        return None
    if not wish.ordered:
        return [Delete(pod, "scaled") for pod in condemned if not is_terminating(pod)]
    return [] if is_terminating(condemned[0]) else [Delete(condemned[0], "scaled")]


def _update(wish: Wish, pods: Mapping[int, PodView], now: datetime) -> list[Step]:
    """The Pods of an old revision, the highest ordinal first, as many as may be down."""
    lowest = wish.ordinals.start + (wish.partition or 0)
    wanted = [ordinal for ordinal in wish.ordinals if ordinal in pods]
    down = sum(not is_available(pods[ordinal], wish, now) for ordinal in wanted)
    found: list[Step] = []
    for ordinal in reversed([each for each in wanted if each >= lowest]):
        pod = pods[ordinal]
        is_up = is_available(pod, wish, now)
        if pod.metadata.labels.get(REVISION) != wish.update and not is_terminating(pod):
            if is_up and down >= wish.max_unavailable:
                continue
            found.append(Delete(pod, "updated"))
            down += is_up
            if len(found) >= wish.max_unavailable:
                break
    return found


def is_terminating(pod: PodView) -> bool:
    """Whether it is about to go."""
    return pod.metadata.deletion_timestamp is not None


def is_healthy(pod: PodView) -> bool:
    """Whether it runs, is ready, and stays."""
    return pod.status.phase == "Running" and ready_since(pod) is not None and not is_terminating(pod)


def is_available(pod: PodView, wish: Wish, now: datetime) -> bool:
    """Whether it has been so for long enough."""
    return is_healthy(pod) and available_in(pod, wish.min_ready_seconds, now) == 0


def ordinal_of(name: str, pod: str) -> int | None:
    """Which ordinal of a StatefulSet of this name a Pod is; None where its name is no such."""
    prefix, _, number = pod.rpartition("-")
    is_number = number.isascii() and number.isdecimal() and str(int(number)) == number
    return int(number) if prefix == name and is_number else None


def counts(wish: Wish, pods: Sequence[PodView], now: datetime) -> dict[str, int]:
    """The numbers of the status."""
    created = [pod for pod in pods if pod.status.phase]
    staying = [pod.metadata.labels.get(REVISION) for pod in created if not is_terminating(pod)]
    ready = [pod for pod in pods if pod.status.phase == "Running" and ready_since(pod) is not None]
    return {
        "replicas": len(created),
        "ready_replicas": len(ready),
        "available_replicas": sum(available_in(pod, wish.min_ready_seconds, now) == 0 for pod in ready),
        "current_replicas": staying.count(wish.current),
        "updated_replicas": staying.count(wish.update),
    }

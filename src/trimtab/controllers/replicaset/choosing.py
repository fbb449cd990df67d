"""Which Pods go first, when there are too many: those whose end costs least.

The order is Kubernetes': who has no node yet, who does not run, who is not ready; then what people asked for by the
annotation `controller.kubernetes.io/pod-deletion-cost`; then who shares a node with most others of its kin; who has
been ready for a shorter time; who was restarted more often; who is newer. Times are compared by their magnitude alone,
so that among Pods of about the same age, not always the same one goes.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Collection, Iterable
from datetime import datetime
from functools import cmp_to_key
from typing import Final

from trimtab.controllers.replicaset.pods import ContainerStateView, PodView, is_active, ready_since

COST: Final = "controller.kubernetes.io/pod-deletion-cost"
_PHASES: Final = {"Pending": 0, "Unknown": 1, "Running": 2}
_COST: Final = re.compile(r"-?(0|[1-9][0-9]{0,9})")


def choose(
    pods: Collection[PodView],
    count: int,
    *,
    kin: Iterable[PodView] = (),
    doomed: Collection[str] = (),
    now: datetime,
) -> list[PodView]:
    """The Pods that go, so many of them.

    `kin` are all Pods that should be spread with them, these included. `doomed` are the uids of those that were asked
    to go already, though nobody knows whether the server heard it: it is their turn again.
    """
    if count >= len(pods):
        return list(pods)
    crowd = Counter(pod.spec.node_name for pod in kin if pod.spec.node_name and is_active(pod))

    def compare(one: PodView, other: PodView) -> int:
        a, b = _standing(one, crowd, doomed), _standing(other, crowd, doomed)
        if a != b:
            return -1 if a < b else 1
        return _by_time(one, other, now)

    return sorted(pods, key=cmp_to_key(compare))[:count]


def deletion_cost(pod: PodView) -> int:
    """What people say that its deletion costs; 0 where they say nothing that is a number."""
    said = pod.metadata.annotations.get(COST, "")
    cost = int(said) if _COST.fullmatch(said) else 0
    return cost if -(2**31) <= cost < 2**31 else 0


def _standing(pod: PodView, crowd: Counter[str], doomed: Collection[str]) -> tuple[bool, bool, int, bool, int, int]:
    return (
        pod.metadata.uid not in doomed,
        bool(pod.spec.node_name),
        _PHASES.get(pod.status.phase or "", 0),
        ready_since(pod) is not None,
        deletion_cost(pod),
        -crowd[pod.spec.node_name or ""],
    )


def _by_time(one: PodView, other: PodView, now: datetime) -> int:
    ready = ready_since(one), ready_since(other)
    if ready[0] is not None and ready[1] is not None and ready[0] != ready[1]:
        return _younger_first(ready[0], ready[1], one, other, now)
    if (restarts := _restarts(other)) != (ours := _restarts(one)):
        return -1 if ours > restarts else 1
    made = one.metadata.creation_timestamp, other.metadata.creation_timestamp
    if made[0] is not None and made[1] is not None and made[0] != made[1]:
        return _younger_first(made[0], made[1], one, other, now)
    return -1 if one.metadata.uid < other.metadata.uid else 1


def _younger_first(one: datetime, other: datetime, a: PodView, b: PodView, now: datetime) -> int:
    difference = _magnitude(one, now) - _magnitude(other, now)
    return difference or (-1 if a.metadata.uid < b.metadata.uid else 1)


def _magnitude(since: datetime, now: datetime) -> int:
    nanoseconds = (now - since).total_seconds() * 1e9
    return int(math.log2(nanoseconds)) if nanoseconds > 0 else -1


def _restarts(pod: PodView) -> tuple[int, int]:
    """The most that one of its containers was restarted, and the most of its sidecars."""
    sidecars = {each.name for each in pod.spec.init_containers if each.restart_policy == "Always"}
    beside = [each for each in pod.status.init_container_statuses if each.name in sidecars]
    return _most(pod.status.container_statuses), _most(beside)


def _most(statuses: Iterable[ContainerStateView]) -> int:
    return max((each.restart_count for each in statuses), default=0)

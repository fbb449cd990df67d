"""Which of the nodes that will do is the best: the emptiest, unless the Pod would rather be elsewhere."""

from __future__ import annotations

from typing import Final

from trimtab.local.scheduling.board import Machine
from trimtab.local.scheduling.relations import Relations
from trimtab.local.scheduling.tainted import tolerates
from trimtab.local.scheduling.wanted import Wanted

_MOST: Final = 100.0
_LIKING: Final = 2.0  # as Kubernetes weighs preferred affinity against room
_TAINT: Final = 3.0


def score(pod: Wanted, machine: Machine, relations: Relations | None) -> float:
    """How good a node is, the more the better."""
    room, weight = machine.room, machine.weight
    found = 0.0
    for name in ("cpu", "memory"):
        there = room.get(name, 0)
        if there:
            left = there - weight.get(name, 0) - pod.weight[name]
            found += _MOST / 2 * max(left, 0) / there
    for liked, term in pod.liked:
        if term.matches(machine.name, machine.labels):
            found += _LIKING * liked
    for taint in machine.taints:
        if taint.effect == "PreferNoSchedule" and not tolerates(pod.tolerations, taint):
            found -= _TAINT * _MOST / 3
    if relations is not None:
        found += _LIKING * relations.liking(machine)
    return found

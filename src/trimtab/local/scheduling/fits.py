"""Whether a node will do for a Pod; if not, why: in the words of Kubernetes' scheduler."""

from __future__ import annotations

from typing import Final

from trimtab.kube.core.v1 import Taint
from trimtab.local.scheduling.board import Machine
from trimtab.local.scheduling.relations import Relations
from trimtab.local.scheduling.tainted import keeps_off, tolerates
from trimtab.local.scheduling.wanted import Wanted

UNSCHEDULABLE: Final = "node(s) were unschedulable"
TAINTED: Final = "node(s) had untolerated taint(s)"
NOT_CHOSEN: Final = "node(s) didn't match Pod's node affinity/selector"
NOT_REACHED: Final = "node(s) didn't match PersistentVolume's node affinity"
PORT_TAKEN: Final = "node(s) didn't have free ports for the requested pod ports"
TOO_MANY: Final = "Too many pods"

_CLOSED: Final = Taint(key="node.kubernetes.io/unschedulable", effect="NoSchedule")


def fits(pod: Wanted, machine: Machine, relations: Relations) -> list[str]:
    """Why a Pod cannot be on a node; nothing where it can. What is found first is told, as Kubernetes does."""
    if machine.unschedulable and not tolerates(pod.tolerations, _CLOSED):
        return [UNSCHEDULABLE]
    if machine.taints and keeps_off(machine, pod):
        return [TAINTED]
    if (pod.node_labels or pod.terms is not None) and not pod.chooses(machine.name, machine.labels):
        return [NOT_CHOSEN]
    if pod.ports and _collides(pod, machine):
        return [PORT_TAKEN]
    if lacking := lacks(pod, machine):
        return lacking
    if pod.volumes and not pod.reaches(machine.name, machine.labels):
        return [NOT_REACHED]
    return relations.reasons(machine)


def lacks(pod: Wanted, machine: Machine) -> list[str]:
    """What a node has too little of."""
    room, used = machine.room, machine.used
    found = [TOO_MANY] if len(machine.pods) + 1 > room.get("pods", 0) else []
    for name, amount in pod.requests.items():
        if amount > room.get(name, 0) - used.get(name, 0):
            found.append(f"Insufficient {name}")
    return found


def _collides(pod: Wanted, machine: Machine) -> bool:
    """Whether a port of the host is taken: on that address, or where one of both means all addresses."""
    everywhere = "0.0.0.0"  # noqa: S104 - a word in an API
    return any(
        protocol == other and port == number and (address == where or everywhere in (address, where))
        for protocol, address, port in pod.ports
        for other, where, number in machine.ports
    )

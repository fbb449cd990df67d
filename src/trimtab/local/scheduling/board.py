"""What the scheduler knows: the nodes, what is on each, and which Pods wait.

A Pod that was only just bound counts already: the board is told of it before the cluster tells.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from trimtab.controller import Options
from trimtab.kube.core.v1 import Node, Taint
from trimtab.local.scheduling.wanted import Port, Wanted, amounts


@dataclass(slots=True, eq=False)
class Machine:
    """A node with what is on it."""

    name: str
    labels: Mapping[str, str]
    taints: tuple[Taint, ...]
    unschedulable: bool
    room: Mapping[str, int]
    used: dict[str, int] = field(default_factory=dict[str, int])
    weight: dict[str, int] = field(default_factory=dict[str, int])
    pods: dict[str, Wanted] = field(default_factory=dict[str, Wanted])
    ports: dict[Port, int] = field(default_factory=dict[Port, int])

    def put(self, pod: Wanted) -> None:
        """A Pod is on it."""
        self.pods[pod.key] = pod
        self._count(pod, 1)

    def take_off(self, pod: Wanted) -> None:
        """A Pod is not on it any more."""
        del self.pods[pod.key]
        self._count(pod, -1)

    def without(self, pods: Iterable[Wanted]) -> Machine:
        """The same node, as if these Pods were not there."""
        other = Machine(self.name, self.labels, self.taints, self.unschedulable, self.room)
        other.used, other.weight = dict(self.used), dict(self.weight)
        other.pods, other.ports = dict(self.pods), dict(self.ports)
        for pod in pods:
            other.take_off(pod)
        return other

    def _count(self, pod: Wanted, sign: int) -> None:
        for total, parts in ((self.used, pod.requests), (self.weight, pod.weight)):
            for name, amount in parts.items():
                total[name] = total.get(name, 0) + sign * amount
        for port in pod.ports:
            self.ports[port] = self.ports.get(port, 0) + sign
            if not self.ports[port]:
                del self.ports[port]


class Board:
    """All nodes, and all Pods that are on one or wait for one."""

    def __init__(self, _: Options | None = None) -> None:
        self.machines: dict[str, Machine] = {}
        self.namespaces: dict[str, Mapping[str, str]] = {}
        """The labels of namespaces, for those who choose Pods by them."""
        self.waiting: dict[str, Wanted] = {}
        self.changes = 0
        """Counts what may help a Pod that found no node: it is worth to try again."""
        self.tried: dict[str, int] = {}
        """For each Pod that waits, at which count it found no node."""
        self.nominated: dict[str, tuple[str, Wanted]] = {}
        """For each Pod that others made room for, on which node."""
        self.repelling: dict[str, Wanted] = {}
        """The Pods on nodes that want to be far from others."""
        self._where: dict[str, str] = {}  # the node of each Pod
        self._homeless: dict[str, dict[str, Wanted]] = {}  # Pods on nodes that are not known

    def set_node(self, node: Node) -> None:
        """A node is so."""
        name, room = node.metadata.name, amounts(node.status.allocatable)
        taints, closed = tuple(node.spec.taints), bool(node.spec.unschedulable)
        machine = self.machines.get(name)
        if machine is None:
            self.machines[name] = machine = Machine(name, dict(node.metadata.labels), taints, closed, room)
            for pod in self._homeless.pop(name, {}).values():
                machine.put(pod)
        elif (machine.labels, machine.taints, machine.unschedulable, machine.room) == (
            node.metadata.labels, taints, closed, room,
        ):  # fmt: skip
            return
        else:
            machine.labels, machine.taints = dict(node.metadata.labels), taints
            machine.unschedulable, machine.room = closed, room
        self.changes += 1

    def remove_node(self, name: str) -> None:
        """A node is gone. The Pods on it are not, yet."""
        machine = self.machines.pop(name, None)
        if machine is not None:
            self._homeless[name] = machine.pods
            self.changes += 1

    def place(self, pod: Wanted, node: str) -> None:
        """A Pod is on a node."""
        self.stop_waiting(pod.key)
        there = self._where.get(pod.key)
        known = self._on(node).get(pod.key) if there == node else None
        if known is not None and (known.uid, known.requests, known.labels) == (pod.uid, pod.requests, pod.labels):
            return
        if there is not None:
            self.remove(pod.key)
        self._where[pod.key] = node
        machine = self.machines.get(node)
        if machine is None:
            self._homeless.setdefault(node, {})[pod.key] = pod
        else:
            machine.put(pod)
        if pod.far:
            self.repelling[pod.key] = pod
        if self.tried:
            self.changes += 1  # somebody may have waited to be near it

    def remove(self, key: str) -> None:
        """A Pod is on no node any more."""
        node = self._where.pop(key, None)
        if node is None:
            return
        self.repelling.pop(key, None)
        machine = self.machines.get(node)
        if machine is not None:
            machine.take_off(machine.pods[key])
        else:
            self._homeless.get(node, {}).pop(key, None)
        self.changes += 1

    def wait(self, pod: Wanted) -> None:
        """A Pod waits for a node."""
        if key_of(self.waiting.get(pod.key)) != key_of(pod):
            self.tried.pop(pod.key, None)
        self.waiting[pod.key] = pod

    def stop_waiting(self, key: str) -> None:
        """A Pod does not wait any more."""
        self.waiting.pop(key, None)
        self.tried.pop(key, None)
        self.nominated.pop(key, None)

    def next(self) -> Wanted | None:
        """The Pod that is to be tried next: of the highest priority, and of those the one that waits for longest."""
        best: Wanted | None = None
        for key, pod in self.waiting.items():
            if self.tried.get(key, -1) < self.changes and (best is None or pod.priority > best.priority):
                best = pod
        return best

    def where(self, key: str) -> str:
        """The node that a Pod is on, or ""."""
        return self._where.get(key, "")

    def _on(self, node: str) -> Mapping[str, Wanted]:
        machine = self.machines.get(node)
        return machine.pods if machine is not None else self._homeless.get(node, {})


def key_of(pod: Wanted | None) -> tuple[object, ...]:
    """What makes it worth to try a Pod again: it is another one, or asks for something else."""
    if pod is None:
        return ()
    return (pod.uid, pod.requests, pod.labels, pod.node_labels, pod.terms, pod.tolerations, pod.spread, pod.far)

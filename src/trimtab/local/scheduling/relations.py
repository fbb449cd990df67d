"""Where a Pod can be because of the Pods that are there: near some, far from others, spread evenly."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Final

from trimtab.local.scheduling.board import Board, Machine
from trimtab.local.scheduling.tainted import keeps_off
from trimtab.local.scheduling.wanted import Relation, Spread, Wanted

NOT_NEAR: Final = "node(s) didn't match pod affinity rules"
NOT_FAR: Final = "node(s) didn't match pod anti-affinity rules"
REPELLED: Final = "node(s) didn't satisfy existing pods anti-affinity rules"
UNEVEN: Final = "node(s) didn't match pod topology spread constraints"
NO_DOMAIN: Final = "node(s) didn't match pod topology spread constraints (missing required label)"

Place = tuple[str, str]
"""A label of a node and its value: all nodes that have it are one place."""


class Relations:
    """What other Pods mean for one Pod, counted once for all nodes."""

    def __init__(self, pod: Wanted, board: Board, machines: Iterable[Machine] | None = None) -> None:
        self._pod = pod
        self._machines = list(board.machines.values() if machines is None else machines)
        self._namespaces = board.namespaces
        self._near = [self._places(relation) for relation in pod.near]
        self._alone = bool(pod.near) and not any(self._near) and all(self._means(each, pod) for each in pod.near)
        self._far = [self._places(relation) for relation in pod.far]
        self._repelled = self._repelling(board.repelling)
        self._spread = [(each, self._counts(each)) for each in pod.spread if each.required]

    def reasons(self, machine: Machine) -> list[str]:
        """Why a Pod cannot be on a node because of others."""
        labels = machine.labels
        for spread, counts in self._spread:
            value = labels.get(spread.key)
            if value is None:
                return [NO_DOMAIN]
            least = min(counts.values(), default=0) if len(counts) >= spread.least_domains else 0
            own = spread.selector.matches(self._pod.labels)
            if counts.get(value, 0) + own - least > spread.most:
                return [UNEVEN]
        if not self._is_near(labels):
            return [NOT_NEAR]
        for relation, places in zip(self._pod.far, self._far, strict=True):
            if labels.get(relation.key) in places:
                return [NOT_FAR]
        if any(labels.get(key) == value for key, value in self._repelled):
            return [REPELLED]
        return []

    def liking(self, machine: Machine) -> int:
        """How much a Pod would like to be on a node because of others; less than nothing where it would rather not."""
        found = 0
        for sign, relations in ((1, self._pod.near_liked), (-1, self._pod.far_liked)):
            for relation in relations:
                if machine.labels.get(relation.key) in self._places(relation):
                    found += sign * relation.weight
        for spread in self._pod.spread:
            if not spread.required:
                found -= 10 * self._counts(spread).get(machine.labels.get(spread.key, ""), 0)
        return found

    def _is_near(self, labels: Mapping[str, str]) -> bool:
        for relation, places in zip(self._pod.near, self._near, strict=True):
            value = labels.get(relation.key)
            if value is None or (value not in places and not self._alone):
                return False
        return True

    def _places(self, relation: Relation) -> set[str]:
        """Where those are who are meant."""
        found: set[str] = set()
        for machine in self._machines:
            value = machine.labels.get(relation.key)
            if (
                value is not None
                and value not in found
                and any(self._means(relation, p) for p in machine.pods.values())
            ):
                found.add(value)
        return found

    def _means(self, relation: Relation, other: Wanted) -> bool:
        return relation.means(other.namespace, other.labels, self._namespaces)

    def _repelling(self, repelling: Mapping[str, Wanted]) -> set[Place]:
        """Where those are who want to be far from this one."""
        found: set[Place] = set()
        if not repelling:
            return found
        for machine in self._machines:
            for key, other in machine.pods.items():
                if key in repelling:
                    for relation in other.far:
                        value = machine.labels.get(relation.key)
                        if value is not None and self._means(relation, self._pod):
                            found.add((relation.key, value))
        return found

    def _counts(self, spread: Spread) -> Counter[str]:
        """How many that are alike are in each place that may be used at all."""
        counts: Counter[str] = Counter()
        pod = self._pod
        for machine in self._machines:
            value = machine.labels.get(spread.key)
            if value is None or (spread.honors_affinity and not pod.chooses(machine.name, machine.labels)):
                continue
            if spread.honors_taints and keeps_off(machine, pod):
                continue
            counts[value] += sum(
                other.namespace == pod.namespace and spread.selector.matches(other.labels)
                for other in machine.pods.values()
            )
        return counts

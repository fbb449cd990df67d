"""Who could make room for a Pod that is more important than they are. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from trimtab.local.scheduling.board import Board, Machine
from trimtab.local.scheduling.deciding import NO_RELATIONS, Decision
from trimtab.local.scheduling.fits import fits
from trimtab.local.scheduling.relations import Relations
from trimtab.local.scheduling.wanted import Wanted


@dataclass(frozen=True, slots=True)
class Preemption:
    """A node, and who has to go there."""

    node: str
    victims: tuple[Wanted, ...]


def preempt(pod: Wanted, board: Board, decision: Decision) -> Preemption | None:
    """The node where the least important Pods would have to go, and of those as few as can be."""
    if not pod.preempts:
        return None
    best: Preemption | None = None
    best_cost: tuple[int, int] = (0, 0)
    for name in decision.reasons:
        if name not in decision.helped:
            continue
        victims = _victims(pod, board, board.machines[name])
        if victims:
            cost = max(each.priority for each in victims), len(victims)
            if best is None or cost < best_cost:
                best, best_cost = Preemption(name, victims), cost
    return best


def _victims(pod: Wanted, board: Board, machine: Machine) -> tuple[Wanted, ...]:
    """The Pods of a node without which this one would fit; nobody where that would not help."""
    lesser = sorted((each for each in machine.pods.values() if each.priority < pod.priority), key=_importance)
    if not lesser or not _fits(pod, board, machine.without(lesser)):
        return ()
    going = list(lesser)
    for other in reversed(lesser):  # the most important first: who may stay after all
        fewer = [each for each in going if each is not other]
        if _fits(pod, board, machine.without(fewer)):
            going = fewer
    return tuple(going)


def _fits(pod: Wanted, board: Board, machine: Machine) -> bool:
    machines = [machine if each.name == machine.name else each for each in board.machines.values()]
    related = pod.near or pod.far or pod.spread or board.repelling
    return not fits(pod, machine, Relations(pod, board, machines) if related else NO_RELATIONS)


def _importance(pod: Wanted) -> int:
    return pod.priority

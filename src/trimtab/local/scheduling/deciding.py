"""Where a Pod goes: a node; or nowhere, and why. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from trimtab.local.scheduling.board import Board, Machine
from trimtab.local.scheduling.fits import PORT_TAKEN, TOO_MANY, fits
from trimtab.local.scheduling.relations import NOT_FAR, REPELLED, UNEVEN, Relations
from trimtab.local.scheduling.scoring import score
from trimtab.local.scheduling.wanted import Wanted

NO_HELP: Final = "Preemption is not helpful for scheduling"
NO_VICTIMS: Final = "No preemption victims found for incoming pod"
_HELPED: Final = frozenset({PORT_TAKEN, TOO_MANY, NOT_FAR, REPELLED, UNEVEN})
_INSUFFICIENT: Final = "Insufficient "


@dataclass(frozen=True, slots=True)
class Decision:
    """A node for a Pod, or for each node why not."""

    node: str = ""
    reasons: Mapping[str, list[str]] = field(default_factory=dict[str, list[str]])
    helped: frozenset[str] = frozenset()
    """The nodes that could do if other Pods were not there."""
    problem: str = ""
    """What is in the way whatever the node."""

    def message(self, count: int) -> str:
        """Why there is no node, as Kubernetes' scheduler says it of so many nodes."""
        if not count:
            return "no nodes available to schedule pods"
        none = f"0/{count} nodes are available: "
        if self.problem:
            return f"{none}{self.problem}. not found"
        helped = Counter({NO_VICTIMS: len(self.helped), NO_HELP: count - len(self.helped)})
        told = Counter(reason for why in self.reasons.values() for reason in why)
        return f"{none}{_counted(told)}. no new claims to deallocate, preemption: {none}{_counted(helped)}."


def decide(pod: Wanted, board: Board, problem: str = "") -> Decision:
    """Find the best node for a Pod."""
    if problem:
        return Decision(problem=problem)
    related = pod.near or pod.far or pod.spread or pod.near_liked or pod.far_liked or board.repelling
    relations = Relations(pod, board) if related else NO_RELATIONS
    likes = relations if pod.near_liked or pod.far_liked or pod.spread else None
    best: Machine | None = None
    best_score = (0.0, 0)
    reasons: dict[str, list[str]] = {}
    reserved = _reserved(pod, board) if board.nominated else {}
    for machine in board.machines.values():
        why = fits(pod, _with(machine, reserved.get(machine.name, ())), relations)
        if why:
            reasons[machine.name] = why
            continue
        its = score(pod, machine, likes), -len(machine.pods)
        if best is None or its > best_score:
            best, best_score = machine, its
    if best is not None:
        return Decision(best.name)
    helped = frozenset(name for name, why in reasons.items() if _helps(why, pod, board.machines[name]))
    return Decision(reasons=reasons, helped=helped)


def _helps(why: list[str], pod: Wanted, machine: Machine) -> bool:
    """Whether a node could do if other Pods were not there: not where it would have too little even when empty."""
    for reason in why:
        lacking = reason.removeprefix(_INSUFFICIENT)
        if reason not in _HELPED and (lacking == reason or pod.requests[lacking] > machine.room.get(lacking, 0)):
            return False
    return True


def _counted(counts: Counter[str]) -> str:
    return ", ".join(sorted(f"{count} {reason}" for reason, count in counts.items() if count))


def _reserved(pod: Wanted, board: Board) -> dict[str, list[Wanted]]:
    """Room that was made for others, who are as important: it is not for this Pod."""
    found: dict[str, list[Wanted]] = {}
    for key, (node, other) in board.nominated.items():
        if key != pod.key and other.priority >= pod.priority:
            found.setdefault(node, []).append(other)
    return found


def _with(machine: Machine, pods: list[Wanted] | tuple[()]) -> Machine:
    if not pods:
        return machine
    other = machine.without(())
    for pod in pods:
        other.put(pod)
    return other


class _NoRelations(Relations):
    """No other Pod matters."""

    def __init__(self) -> None:
        pass

    def reasons(self, machine: Machine) -> list[str]:  # noqa: ARG002 - of all nodes alike
        return []


NO_RELATIONS: Final = _NoRelations()

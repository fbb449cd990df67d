"""Which endpoints go into which slice: as few changes as there can be, and never more in one than it can hold.

What is in a slice stays in it. What is new fills the slices that change anyway; the rest goes into one that it fills
best, and only then into new ones.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

Json: TypeAlias = dict[str, Any]
Identity: TypeAlias = tuple[Any, ...]

MOST: Final = 100
"""Endpoints in a slice."""


@dataclass(frozen=True, slots=True)
class Slice:
    """A slice that is there."""

    name: str
    endpoints: Sequence[Json]
    ports: Sequence[Json] = ()
    changed: bool = False
    """Something else of it has to be written anyway, such as its labels."""


@dataclass(frozen=True, slots=True)
class Content:
    """What a slice has to hold."""

    ports: Sequence[Json]
    endpoints: Sequence[Json]


@dataclass(slots=True)
class Plan:
    """What is to be done with the slices of a Service, of one family."""

    create: list[Content] = field(default_factory=list[Content])
    update: dict[str, Content] = field(default_factory=dict[str, Content])
    delete: list[str] = field(default_factory=list[str])


def identity(endpoint: Mapping[str, Any]) -> Identity:
    """What makes it the same endpoint, whatever is said of its state."""
    target: Json = endpoint.get("targetRef") or {}
    return (
        tuple(sorted(endpoint.get("addresses") or ())),
        endpoint.get("hostname"),
        target.get("namespace"),
        target.get("name"),
    )


def port_key(ports: Iterable[Mapping[str, Any]]) -> Identity:
    """What slices with the same ports have in common."""
    told = ((p.get("name") or "", p.get("port"), p.get("protocol") or "TCP", p.get("appProtocol")) for p in ports)
    return tuple(sorted(told, key=repr))


def arrange(slices: Sequence[Slice], wanted: Sequence[Content], most: int = MOST) -> Plan:
    """How to come from what there is to what is wanted, each of it with ports of its own."""
    plan = Plan()
    groups: dict[Identity, list[Slice]] = {}
    for each in slices:
        groups.setdefault(port_key(each.ports), []).append(each)
    for content in wanted:
        _arrange_group(groups.pop(port_key(content.ports), []), content, most, plan)
    plan.delete += [each.name for group in groups.values() for each in group]
    if len(plan.delete) == len(slices) and not plan.create:
        _keep_one(slices, plan)
    while plan.create and plan.delete:  # one that goes can as well be the one that comes
        plan.update[plan.delete.pop()] = plan.create.pop()
    return plan


def _keep_one(slices: Sequence[Slice], plan: Plan) -> None:
    """A Service that leads nowhere has one slice that says so."""
    if len(slices) == 1 and not slices[0].endpoints and not slices[0].ports and not slices[0].changed:
        plan.delete.clear()
    else:
        plan.create.append(Content((), ()))


def _arrange_group(slices: Sequence[Slice], content: Content, most: int, plan: Plan) -> None:
    left = {identity(each): each for each in content.endpoints}
    changed: dict[str, list[Json]] = {}
    same: list[Slice] = []
    for each in slices:
        kept = [found for there in each.endpoints if (found := left.pop(identity(there), None)) is not None]
        if not kept:
            plan.delete.append(each.name)
        elif kept == list(each.endpoints) and not each.changed:
            same.append(each)
        else:
            changed[each.name] = kept
    rest = list(left.values())
    for kept in sorted(changed.values(), key=len, reverse=True):
        room = most - len(kept)
        kept.extend(rest[:room])
        del rest[:room]
    while rest:
        best = _best_filled(same, len(rest), most)
        if best is not None:
            same.remove(best)
            changed[best.name] = [*best.endpoints, *rest]
        else:
            plan.create.append(Content(content.ports, rest[:most]))
        del rest[:most]
    for name, kept in changed.items():
        plan.update[name] = Content(content.ports, kept)


def _best_filled(slices: Iterable[Slice], more: int, most: int) -> Slice | None:
    """The slice that is fullest when so many more are in it, if they fit."""
    fitting = [each for each in slices if len(each.endpoints) + more <= most]
    return max(fitting, key=lambda each: len(each.endpoints), default=None)

"""How many Pods each ReplicaSet of a Deployment is to have: pure arithmetic.

While it rolls out there are never more than `replicas + maxSurge` Pods, and never fewer available than `replicas -
maxUnavailable`. The sizes follow from that; who changes them, and in which order, is told in `rollout.py`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from trimtab.kube.apps.v1 import Deployment
from trimtab.kube.intorstring import scaled

ROLLING: Final = "RollingUpdate"
_USUAL: Final = "25%"


@dataclass(frozen=True, slots=True)
class Sized:
    """Of a ReplicaSet: how large it is, and how much of it is available. `made` orders by age, `most` is what its
    Deployment could have had at most when it was last scaled; 0 where that is not known."""

    name: str
    replicas: int
    available: int = 0
    made: str = ""
    most: int = 0


@dataclass(frozen=True, slots=True)
class Bounds:
    """What a Deployment wants, and how far from it there may be during a rollout."""

    replicas: int
    surge: int
    unavailable: int

    @property
    def most(self) -> int:
        """How many Pods there may be."""
        return self.replicas + self.surge

    @property
    def fewest_available(self) -> int:
        """How many have to be available."""
        return self.replicas - self.unavailable


def bounds_of(deployment: Deployment) -> Bounds:
    """What its spec says. Where it would leave no room for anything to happen, one may be unavailable."""
    spec = deployment.spec
    replicas = 1 if spec.replicas is None else spec.replicas
    if spec.strategy.type not in (None, ROLLING):
        return Bounds(replicas, 0, 0)
    said = spec.strategy.rolling_update
    surge = scaled(_or_usual(said.max_surge if said else None), replicas, round_up=True)
    unavailable = scaled(_or_usual(said.max_unavailable if said else None), replicas)
    if not surge and not unavailable:
        unavailable = 1
    return Bounds(replicas, surge, min(unavailable, replicas))


def _or_usual(value: int | str | None) -> int | str:
    return _USUAL if value is None else value


def grown(bounds: Bounds, new: Sized, total: int) -> int:
    """The size of the new ReplicaSet, where so many Pods are wanted by all of them."""
    if total >= bounds.most:
        return new.replicas
    return new.replicas + min(bounds.most - total, bounds.replicas - new.replicas)


def shrunk(bounds: Bounds, new: Sized, old: Sequence[Sized]) -> dict[str, int]:
    """The sizes of the old ReplicaSets that change: Pods that are not available go first, for they serve nobody."""
    total = new.replicas + sum(each.replicas for each in old)
    room = total - bounds.fewest_available - (new.replicas - new.available)
    if room <= 0 or not any(each.replicas for each in old):
        return {}
    sizes = {each.name: each for each in sorted(old, key=_by_age)}
    for each in list(sizes.values()):
        unhealthy = min(room, max(each.replicas - each.available, 0))
        sizes[each.name] = replace(each, replicas=each.replicas - unhealthy)
        room -= unhealthy
    spare = new.available + sum(each.available for each in old) - bounds.fewest_available
    for each in list(sizes.values()):
        gone = min(max(spare, 0), each.replicas)
        sizes[each.name] = replace(each, replicas=each.replicas - gone)
        spare -= gone
    before = {each.name: each.replicas for each in old}
    return {name: each.replicas for name, each in sizes.items() if each.replicas != before[name]}


def shared_out(bounds: Bounds, active: Iterable[Sized], now_there: int) -> dict[str, int]:
    """The sizes of all ReplicaSets that have any, when a Deployment is scaled in the middle of a rollout.

    Each gets its share of what comes or goes, so that a rollout that stands still keeps its proportions; what rounding
    leaves goes to the largest. `now_there` is how many Pods the Deployment has.
    """
    every = list(active)
    allowed = bounds.most if bounds.replicas else 0
    change = allowed - sum(each.replicas for each in every)
    newest_first = change > 0
    every.sort(key=_by_age, reverse=newest_first)
    every.sort(key=lambda each: -each.replicas)
    sizes: dict[str, int] = {}
    done = 0
    for each in every:
        share = _share(bounds, each, now_there)
        left = change - done
        share = 0 if not left or not each.replicas else min(share, left) if change > 0 else max(share, left)
        sizes[each.name] = each.replicas + share
        done += share
    if every and change:
        sizes[every[0].name] = max(sizes[every[0].name] + change - done, 0)
    return sizes


def _share(bounds: Bounds, each: Sized, now_there: int) -> int:
    if not bounds.replicas:
        return -each.replicas
    before = each.most or now_there
    if not before:
        return 0
    return _rounded(each.replicas * bounds.most, before) - each.replicas


def _rounded(dividend: int, divisor: int) -> int:
    """The quotient of two numbers that are not negative; half is rounded up."""
    return (2 * dividend + divisor) // (2 * divisor)


def _by_age(each: Sized) -> tuple[str, str]:
    return each.made, each.name

"""PodDisruptionBudgets: how many of the Pods that a budget covers may go now. Evictions ask, and count on it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Final, TypeAlias

from trimtab.client import ApiError, Conflict, MergePatch, NotFound
from trimtab.controller import App, Context, Requeue, requeue, selected_by
from trimtab.controllers.replicaset.pods import PodView, ready_since
from trimtab.errors import TrimtabError
from trimtab.kube.apps.v1 import Deployment, ReplicaSet, StatefulSet
from trimtab.kube.conditions import ConditionStatus, set_condition
from trimtab.kube.core.v1 import Pod, ReplicationController
from trimtab.kube.dynamic import dynamic
from trimtab.kube.intorstring import scaled
from trimtab.kube.meta.v1 import Condition, LabelSelector, OwnerReference
from trimtab.kube.owners import controller_of
from trimtab.kube.policy.v1 import PodDisruptionBudget
from trimtab.kube.selectors import Selector
from trimtab.kube.timestamps import format_time
from trimtab.kube.wire import to_wire

Json: TypeAlias = dict[str, Any]

app = App("disruption-controller")

_ALLOWED: Final = "DisruptionAllowed"
_PATIENCE: Final = timedelta(minutes=2)  # a Pod that was evicted and is still there then was not evicted
_GATHER: Final = 0.02
_UNMANAGED: Final = (
    "Pods selected by this PodDisruptionBudget (selector: {}) were found to be unmanaged. As a result, the status of "
    "the PDB cannot be calculated correctly, which may result in undefined behavior. To account for these pods please "
    'set ".spec.minAvailable" field of the PDB to an integer value.'
)


class NoScale(TrimtabError):
    """Nobody knows how many Pods there should be."""


def _in_go(selector: LabelSelector | None) -> str:
    """A selector as Kubernetes' own controller, which is written in Go, tells of it."""
    if selector is None:
        return "nil"
    labels = "".join(f"{name}: {value}," for name, value in sorted(selector.match_labels.items()))
    wanted = "".join(
        f"LabelSelectorRequirement{{Key:{each.key},Operator:{each.operator},Values:[{' '.join(each.values)}],}},"
        for each in selector.match_expressions
    )
    expressions = f"[]LabelSelectorRequirement{{{wanted}}}"
    return f"&LabelSelector{{MatchLabels:map[string]string{{{labels}}},MatchExpressions:{expressions},}}"


def counts_owners(budget: PodDisruptionBudget) -> bool:
    """Whether a budget is a share of the Pods that should be there; else it counts those that are."""
    return budget.spec.max_unavailable is not None or isinstance(budget.spec.min_available, str)


def desired(budget: PodDisruptionBudget, expected: int) -> int:
    """How many Pods have to be healthy, when so many are expected."""
    spec = budget.spec
    if spec.max_unavailable is not None:
        return max(0, expected - scaled(spec.max_unavailable, expected, round_up=True))
    return 0 if spec.min_available is None else scaled(spec.min_available, expected, round_up=True)


def still_disrupted(
    told: Mapping[str, datetime], pods: Sequence[PodView], now: datetime
) -> tuple[dict[str, datetime], list[PodView]]:
    """Which evictions are still to be seen, and which Pods were to go and did not."""
    kept: dict[str, datetime] = {}
    late: list[PodView] = []
    for pod in pods:
        at = told.get(pod.metadata.name)
        if at is None or pod.metadata.deletion_timestamp is not None:
            continue
        if at + _PATIENCE < now:
            late.append(pod)
        else:
            kept[pod.metadata.name] = at
    return kept, late


def healthy(pods: Sequence[PodView], disrupted: Mapping[str, datetime]) -> int:
    """How many Pods can be counted on."""
    staying = (each for each in pods if each.metadata.deletion_timestamp is None)
    return sum(each.metadata.name not in disrupted and ready_since(each) is not None for each in staying)


def conditions(
    budget: PodDisruptionBudget, allowed: int, generation: int, now: datetime, failed: str = ""
) -> list[Json]:
    """What the budget says of itself."""
    told: list[Condition] = list(budget.status.conditions)
    status: ConditionStatus = "True" if allowed and not failed else "False"
    reason = "SyncFailed" if failed else "SufficientPods" if allowed else "InsufficientPods"
    set_condition(told, _ALLOWED, status, reason=reason, message=failed, observed_generation=generation, now=now)
    return [to_wire(each) for each in told]


@app.controller(
    PodDisruptionBudget,
    name=app.name,
    known_as="controllermanager",
    reads=[Deployment, ReplicaSet, ReplicationController, StatefulSet],
    watches={Pod: selected_by(lambda budget: budget.spec.selector)},
    gather=_GATHER,
)
async def disruption(budget: PodDisruptionBudget, ctx: Context) -> Requeue | None:
    """Count, and write down how many Pods may go."""
    selector = Selector.from_struct(budget.spec.selector)
    pods = ctx.list(Pod, namespace=ctx.namespace, labels=selector, view=PodView)
    if not pods:
        ctx.event("Normal", "NoPods", "No matching pods found", action="Sync")
    try:
        expected = await _expected(budget, pods, ctx)
    except (ApiError, NoScale) as error:
        said = f"Failed to calculate the number of expected pods: {error}"
        ctx.event("Warning", "CalculateExpectedPodCountFailed", said, action="Sync")
        seen = budget.status.observed_generation
        await _write(budget, {"disruptionsAllowed": 0}, conditions(budget, 0, seen, ctx.now(), str(error)), ctx)
        return requeue()
    now, generation = ctx.now(), budget.metadata.generation or 0
    disrupted, late = still_disrupted(budget.status.disrupted_pods, pods, now)
    for pod in late:
        said = f"Pod was expected by PDB {ctx.key} to be deleted but it wasn't"
        there = ctx.find(Pod, pod.metadata.name)
        ctx.event("Warning", "NotDeleted", said, action="Sync", regarding=there)
    there, wanted = healthy(pods, disrupted), desired(budget, expected)
    allowed = max(0, there - wanted) if expected > 0 else 0
    status: Json = {
        "currentHealthy": there,
        "desiredHealthy": wanted,
        "expectedPods": expected,
        "disruptionsAllowed": allowed,
        "observedGeneration": generation,
        "disruptedPods": {name: None for name in budget.status.disrupted_pods if name not in disrupted}
        | {name: format_time(at) for name, at in disrupted.items()},
    }
    await _write(budget, status, conditions(budget, allowed, generation, now), ctx)
    first = min(disrupted.values(), default=None)
    return None if first is None else requeue(after=first + _PATIENCE - now + timedelta(seconds=1))


async def _write(budget: PodDisruptionBudget, status: Json, told: list[Json], ctx: Context) -> None:
    """Write what is new; not over what an eviction wrote meanwhile."""
    before = to_wire(budget.status)
    wanted = {**status, "conditions": told}
    if "disruptedPods" in status and not status["disruptedPods"]:
        del wanted["disruptedPods"]
    if all(before.get(name, 0) == value for name, value in wanted.items()):
        return
    meta = budget.metadata
    body = {"metadata": {"uid": meta.uid, "resourceVersion": meta.resource_version}, "status": wanted}
    try:
        await ctx.patch(PodDisruptionBudget, meta.name, MergePatch(body), subresource="status")
    except (Conflict, NotFound):
        return  # it comes again


async def _expected(budget: PodDisruptionBudget, pods: Sequence[PodView], ctx: Context) -> int:
    """How many Pods there should be: those that are there, or what their owners want."""
    if not counts_owners(budget):
        return len(pods)
    scales: dict[str, int] = {}
    owners = {owner.uid: owner for pod in pods if (owner := controller_of(pod)) is not None}
    for owner in owners.values():
        uid, scale = await _scale(owner, ctx)
        scales[uid] = scale
    if any(controller_of(pod) is None for pod in pods):
        ctx.event("Warning", "UnmanagedPods", _UNMANAGED.format(_in_go(budget.spec.selector)), action="Sync")
    return sum(scales.values())


async def _scale(owner: OwnerReference, ctx: Context) -> tuple[str, int]:
    """Who says how many Pods there should be, and how many: of a ReplicaSet its Deployment, if it has one."""
    for kind in (ReplicaSet, StatefulSet, ReplicationController):
        if owner.kind == kind.resource.kind:
            found = ctx.find(kind, owner.name)
            if found is None or found.metadata.uid != owner.uid:
                return owner.uid, 0
            above = controller_of(found)
            if above is not None and above.kind == "Deployment":
                deployment = ctx.find(Deployment, above.name)
                if deployment is not None and deployment.metadata.uid == above.uid:
                    return above.uid, _replicas(deployment.spec.replicas)
            return owner.uid, _replicas(found.spec.replicas)
    kind = dynamic(owner.api_version, owner.kind)
    try:
        scale = await ctx.client.get_scale(kind, owner.name, namespace=ctx.namespace)
    except NotFound as error:
        raise NoScale(f"{owner.kind.lower()} {owner.name} does not implement the scale subresource") from error
    return owner.uid, _replicas(scale.spec.replicas)


def _replicas(told: int | None) -> int:
    return 1 if told is None else told

"""PodDisruptionBudgets say how many Pods may go, and evictions keep to that."""

from __future__ import annotations

from typing import Any

import pytest
from tests.cache.samples import virtual
from tests.local.loops.world import START, World, deployment, replica_set

from trimtab.client import MergePatch, TooManyRequests
from trimtab.controllers.replicaset import app as replicasets
from trimtab.kube.apps.v1 import ReplicaSet
from trimtab.kube.core.v1 import Pod
from trimtab.kube.policy.v1 import PodDisruptionBudget
from trimtab.kube.timestamps import format_time
from trimtab.kube.wire import from_wire
from trimtab.local.loops.deployment import app as deployments
from trimtab.local.loops.disruption import app as budgets


def budget(**spec: Any) -> PodDisruptionBudget:
    body = {"selector": {"matchLabels": {"app": "web"}}, **spec}
    return from_wire(PodDisruptionBudget, {"metadata": {"name": "web", "namespace": "default"}, "spec": body})


async def status(world: World) -> tuple[int, int, int, int, str]:
    found = await world.client.get(PodDisruptionBudget, "web")
    told = found.status
    assert told.observed_generation == found.metadata.generation
    (condition,) = told.conditions
    assert condition.status == ("True" if told.disruptions_allowed else "False")
    return (told.expected_pods, told.desired_healthy, told.current_healthy, told.disruptions_allowed, condition.reason)


@virtual
async def test_as_many_pods_go_as_the_budget_allows_and_more_when_others_are_ready() -> None:
    async with World(replicasets, budgets) as world:
        world.kubelet.ready_after = 60.0
        await world.client.create(budget(minAvailable=2))
        await world.client.create(replica_set(replicas=3))
        await world.passes(30)
        assert await status(world) == (3, 2, 0, 0, "InsufficientPods")
        await world.passes(60)
        assert await status(world) == (3, 2, 3, 1, "SufficientPods")
        first, second, _ = await world.pods()
        await world.client.evict(first.metadata.name)
        with pytest.raises(TooManyRequests):
            await world.client.evict(second.metadata.name)
        await world.passes(5)
        assert await status(world) == (3, 2, 2, 0, "InsufficientPods")
        assert not (await world.client.get(PodDisruptionBudget, "web")).status.disrupted_pods
        await world.passes(90)
        assert await status(world) == (3, 2, 3, 1, "SufficientPods")
        await world.client.evict(second.metadata.name)


@virtual
@pytest.mark.parametrize(
    ("spec", "desired"),
    [
        ({"maxUnavailable": 1}, 4),
        ({"maxUnavailable": "50%"}, 2),
        ({"minAvailable": "50%"}, 3),
        ({"minAvailable": 2}, 2),
    ],
)
async def test_a_share_is_one_of_what_the_owner_wants(spec: dict[str, Any], desired: int) -> None:
    async with World(replicasets, deployments, budgets) as world:
        await world.client.create(deployment(replicas=5))
        await world.client.create(budget(**spec))
        await world.passes(30)
        assert await status(world) == (5, desired, 5, 5 - desired, "SufficientPods")


@virtual
async def test_pods_of_nobody_count_for_nothing_where_a_share_is_asked_for() -> None:
    async with World(budgets) as world:
        spec = {"containers": [{"name": "c", "image": "i"}], "nodeName": "node"}
        await world.client.create(from_wire(Pod, {"metadata": {"name": "a", "labels": {"app": "web"}}, "spec": spec}))
        await world.client.create(budget(maxUnavailable=1))
        await world.passes(10)
        assert await status(world) == (0, 0, 1, 0, "InsufficientPods")
        told = world.said("UnmanagedPods")
        shown = (
            "&LabelSelector{MatchLabels:map[string]string{app: web,},MatchExpressions:[]LabelSelectorRequirement{},}"
        )
        assert told
        assert all(f"(selector: {shown}) were found" in each for each in told)


@virtual
async def test_pods_whose_owner_has_no_scale_are_not_allowed_to_go() -> None:
    async with World(budgets) as world:
        owner = {"apiVersion": "v1", "kind": "ConfigMap", "name": "c", "uid": "u", "controller": True}
        meta = {"name": "a", "labels": {"app": "web"}, "ownerReferences": [owner]}
        spec = {"containers": [{"name": "c", "image": "i"}], "nodeName": "node"}
        await world.client.create(from_wire(Pod, {"metadata": meta, "spec": spec}))
        await world.client.create(budget(maxUnavailable=1))
        await world.passes(1)
        (condition,) = (await world.client.get(PodDisruptionBudget, "web")).status.conditions
        assert (condition.status, condition.reason) == ("False", "SyncFailed")
        assert world.said("CalculateExpectedPodCountFailed")


@virtual
async def test_an_eviction_that_came_to_nothing_is_forgotten() -> None:
    async with World(replicasets, budgets) as world:
        await world.client.create(replica_set(replicas=2))
        await world.client.create(budget(maxUnavailable=1))
        await world.passes(10)
        pod, _ = await world.pods()
        asked = {"disruptedPods": {pod.metadata.name: format_time(world.now())}, "disruptionsAllowed": 0}
        patch = MergePatch({"status": asked})
        await world.client.patch(PodDisruptionBudget, "web", patch, subresource="status")
        await world.passes(60)
        assert await status(world) == (2, 1, 1, 0, "InsufficientPods")
        await world.passes(90)
        assert await status(world) == (2, 1, 2, 1, "SufficientPods")
        assert world.said("NotDeleted")
        assert world.now() > START
        await world.client.delete(ReplicaSet, "web")

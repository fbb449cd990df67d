"""Deployments on the server inside, in virtual time: with our ReplicaSets, and Pods that get to run."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from tests.cache.samples import virtual
from tests.local.loops.world import World, deployment, replica_set, template

from trimtab.controllers import replicaset
from trimtab.controllers.replicaset.making import TemplateView
from trimtab.kube import dynamic
from trimtab.kube.apps.v1 import Deployment, ReplicaSet
from trimtab.kube.conditions import find_condition
from trimtab.kube.core.v1 import Pod
from trimtab.kube.wire import from_wire
from trimtab.local.loops.deployment import app
from trimtab.local.loops.deployment.revisions import HASH, REVISION, hash_of


def world() -> World:
    return World(app, replicaset.app)


async def get(world: World, name: str = "web") -> Deployment:
    return await world.client.get(Deployment, name)


async def reason(world: World, type_: str = "Progressing") -> str:
    found = find_condition((await get(world)).status.conditions, type_)
    return f"{found.status} {found.reason}" if found is not None else ""


async def update(world: World, image: str) -> None:
    await world.patch(Deployment, "web", {"spec": {"template": template(image=image)}})


def sizes(sets: list[ReplicaSet]) -> list[int]:
    return [each.spec.replicas or 0 for each in sorted(sets, key=lambda rs: int(rs.metadata.annotations[REVISION]))]


class Watcher:
    """How many Pods there were at most, and how few were ready, while it watched."""

    def __init__(self, world: World) -> None:
        self._world = world
        self.most, self.fewest_ready = 0, 1000
        self.images: set[frozenset[str]] = set()

    async def watch(self) -> None:
        there: dict[str, Pod] = {pod.metadata.name: pod for pod in await self._world.pods()}
        listed = await self._world.client.list(Pod)
        async with self._world.client.watch(Pod, resource_version=listed.resource_version) as events:
            async for event in events:
                pod = event.object
                if event.type == "DELETED" or pod.metadata.deletion_timestamp:
                    there.pop(pod.metadata.name, None)
                else:
                    there[pod.metadata.name] = pod
                self.most = max(self.most, len(there))
                ready = [p for p in there.values() if any(c.status == "True" for c in p.status.conditions)]
                self.fewest_ready = min(self.fewest_ready, len(ready))
                self.images.add(frozenset(p.spec.containers[0].image or "" for p in there.values()))


@virtual
async def test_it_rolls_out_and_tells_so() -> None:
    async with world() as w:
        await w.client.create(deployment(replicas=3))
        await w.passes(0.5)
        assert await reason(w) == "True ReplicaSetUpdated"
        assert await reason(w, "Available") == "False MinimumReplicasUnavailable"
        await w.passes(5)
        found = await get(w)
        (rs,) = await w.replica_sets()
        status = found.status
        assert (status.replicas, status.updated_replicas, status.ready_replicas, status.available_replicas) == (3,) * 4
        assert (status.unavailable_replicas, status.observed_generation) == (0, 1)
        assert found.metadata.annotations[REVISION] == rs.metadata.annotations[REVISION] == "1"
        assert await reason(w) == "True NewReplicaSetAvailable"
        assert await reason(w, "Available") == "True MinimumReplicasAvailable"
        progressing = find_condition(status.conditions, "Progressing")
        assert progressing is not None
        assert progressing.message == f'ReplicaSet "{rs.metadata.name}" has successfully progressed.'
        digest = rs.metadata.labels[HASH]
        assert rs.metadata.name == f"web-{digest}"
        assert rs.spec.selector.match_labels == {"app": "web", HASH: digest}
        assert {pod.metadata.labels[HASH] for pod in await w.pods()} == {digest}
        assert w.said("ScalingReplicaSet") == [f"Scaled up replica set {rs.metadata.name} from 0 to 3"]


@pytest.mark.parametrize(
    ("surge", "unavailable", "most", "fewest"), [(1, 0, 6, 5), (0, 1, 5, 4), ("40%", "20%", 7, 4), (5, 0, 10, 5)]
)
def test_a_rolling_update_keeps_its_bounds(surge: Any, unavailable: Any, most: int, fewest: int) -> None:
    @virtual
    async def run() -> None:
        async with world() as w:
            rolling = {"maxSurge": surge, "maxUnavailable": unavailable}
            await w.client.create(deployment(replicas=5, strategy={"rollingUpdate": rolling}))
            await w.passes()
            watcher = Watcher(w)
            task = asyncio.create_task(watcher.watch())
            await asyncio.sleep(0)
            await update(w, "nginx:2")
            await w.passes(30)
            assert {pod.spec.containers[0].image for pod in await w.pods()} == {"nginx:2"}
            assert sizes(await w.replica_sets()) == [0, 5]
            assert (watcher.most, watcher.fewest_ready) == (most, fewest)
            assert await reason(w) == "True NewReplicaSetAvailable"
            task.cancel()

    run()


@virtual
async def test_recreate_has_no_two_versions_at_a_time() -> None:
    async with world() as w:
        await w.client.create(deployment(replicas=3, strategy={"type": "Recreate"}))
        await w.passes()
        watcher = Watcher(w)
        task = asyncio.create_task(watcher.watch())
        await asyncio.sleep(0)
        await update(w, "nginx:2")
        await w.passes(20)
        assert watcher.images >= {frozenset(["nginx"]), frozenset(["nginx:2"])}
        assert all(len(images) <= 1 for images in watcher.images)
        assert watcher.most == 3
        assert {pod.spec.containers[0].image for pod in await w.pods()} == {"nginx:2"}
        task.cancel()


@virtual
async def test_it_goes_back_and_revisions_count_on() -> None:
    async with world() as w:
        await w.client.create(deployment(replicas=2))
        await w.passes()
        for image in ("nginx:2", "nginx:3", "nginx"):
            await update(w, image)
            await w.passes(10)
        found = {rs.metadata.annotations[REVISION]: rs for rs in await w.replica_sets()}
        assert sorted(found) == ["2", "3", "4"]
        assert found["4"].spec.template.spec.containers[0].image == "nginx"
        assert found["4"].metadata.annotations["deployment.kubernetes.io/revision-history"] == "1"
        assert (await get(w)).metadata.annotations[REVISION] == "4"
        assert found["4"].spec.replicas == 2
        condition = find_condition((await get(w)).status.conditions, "Progressing")
        assert condition is not None
        assert condition.reason == "NewReplicaSetAvailable"


@virtual
async def test_old_revisions_are_forgotten() -> None:
    async with world() as w:
        await w.client.create(deployment(replicas=1, revisionHistoryLimit=2))
        for n in range(5):
            await update(w, f"nginx:{n}")
            await w.passes(10)
        assert (
            sorted(rs.metadata.annotations[REVISION] for rs in await w.replica_sets())
            == ["4", "5", "6"][: len(await w.replica_sets())]
            or len(await w.replica_sets()) == 3
        )


@virtual
async def test_one_that_is_paused_waits_and_can_be_scaled_in_proportion() -> None:
    async with world() as w:
        rolling = {"maxSurge": 2, "maxUnavailable": 0}
        await w.client.create(deployment(replicas=10, strategy={"rollingUpdate": rolling}))
        await w.passes()
        w.kubelet.never_ready = lambda pod: pod.spec.containers[0].image == "broken"
        await update(w, "broken")
        await w.passes(10)
        assert sizes(await w.replica_sets()) == [10, 2]
        await w.patch(Deployment, "web", {"spec": {"paused": True}})
        await w.passes()
        assert await reason(w) == "Unknown DeploymentPaused"
        await update(w, "nginx:3")
        await w.passes(10)
        assert sizes(await w.replica_sets()) == [10, 2]
        await w.client.scale(Deployment, "web", 20)
        await w.passes(10)
        assert sizes(await w.replica_sets()) == [18, 4]
        await w.patch(Deployment, "web", {"spec": {"paused": False}})
        await w.passes(1)
        assert await reason(w) != "Unknown DeploymentPaused"
        await w.passes(60)
        assert sizes(await w.replica_sets()) == [0, 0, 20]
        assert await reason(w) == "True NewReplicaSetAvailable"


@virtual
async def test_a_rollout_that_stands_still_is_told_of_when_its_deadline_has_passed() -> None:
    async with world() as w:
        await w.client.create(deployment(replicas=3, progressDeadlineSeconds=60))
        await w.passes()
        w.kubelet.never_ready = lambda pod: pod.spec.containers[0].image == "broken"
        await update(w, "broken")
        await w.passes(55)
        assert (await reason(w)).startswith("True")
        await w.passes(15)
        assert await reason(w) == "False ProgressDeadlineExceeded"
        assert await reason(w, "Available") == "True MinimumReplicasAvailable"
        await update(w, "nginx")
        await w.passes(15)
        assert await reason(w) == "True NewReplicaSetAvailable"


@virtual
async def test_it_adopts_the_replica_sets_that_it_selects_and_finds_its_own_template() -> None:
    async with world() as w:
        await w.client.create(deployment(replicas=2))
        await w.passes()
        (before,) = await w.replica_sets()
        await w.client.delete(Deployment, "web")
        await w.patch(ReplicaSet, before.metadata.name, {"metadata": {"ownerReferences": None}})
        await w.passes()
        await w.client.create(deployment(replicas=2))
        await w.passes()
        (after,) = await w.replica_sets()
        assert (after.metadata.uid, after.metadata.owner_references[0].name) == (before.metadata.uid, "web")
        assert await reason(w) == "True NewReplicaSetAvailable"


@virtual
async def test_another_template_may_have_the_same_hash() -> None:
    async with world() as w:
        await w.client.create(deployment(replicas=1, paused=True))
        await w.passes()
        raw = (await w.client.get(dynamic("apps/v1", "Deployment"), "web")).to_wire()
        digest = hash_of(from_wire(TemplateView, raw["spec"]["template"]), 0)
        await w.client.create(replica_set(f"web-{digest}", replicas=0))
        await w.patch(Deployment, "web", {"spec": {"paused": False}})
        await w.passes()
        assert (await get(w)).status.collision_count == 1
        assert len(await w.pods("app=web")) == 1


@virtual
async def test_when_nothing_changes_nothing_is_written() -> None:
    async with world() as w:
        await w.client.create(deployment(replicas=3))
        await w.passes(30)
        before = w.server.store.revision
        for queue in w.queues.values():
            queue.add("default/web")
        await w.passes(30)
        assert w.server.store.revision == before

"""StatefulSets on the server inside, in virtual time."""

from __future__ import annotations

from typing import Any

from tests.cache.samples import virtual
from tests.local.loops.world import World, names, template

from trimtab.kube.apps.v1 import ControllerRevision, StatefulSet
from trimtab.kube.core.v1 import PersistentVolumeClaim, Pod
from trimtab.kube.wire import from_wire
from trimtab.local.loops.statefulset import app


def stateful_set(replicas: int = 3, **spec: Any) -> StatefulSet:
    claim = {
        "metadata": {"name": "data"},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
    }
    body = {
        "metadata": {"name": "web", "namespace": "default"},
        "spec": {
            "replicas": replicas,
            "serviceName": "web",
            "selector": {"matchLabels": {"app": "web"}},
            "template": template(),
            "volumeClaimTemplates": [claim],
            **spec,
        },
    }
    return from_wire(StatefulSet, body)


async def images(world: World) -> list[str]:
    return [pod.spec.containers[0].image or "" for pod in await world.pods()]


async def claims(world: World) -> list[str]:
    return sorted(claim.metadata.name for claim in await world.client.list(PersistentVolumeClaim))


@virtual
async def test_one_after_the_other_each_with_its_volume() -> None:
    async with World(app) as w:
        await w.client.create(stateful_set())
        await w.passes(1.5)
        assert names(await w.pods()) == ["web-0", "web-1"]
        await w.passes(5)
        pods = await w.pods()
        assert names(pods) == ["web-0", "web-1", "web-2"]
        last = pods[2]
        assert last.metadata.labels["statefulset.kubernetes.io/pod-name"] == "web-2"
        assert last.metadata.labels["apps.kubernetes.io/pod-index"] == "2"
        assert (last.spec.hostname, last.spec.subdomain) == ("web-2", "web")
        source = last.spec.volumes[0].persistent_volume_claim
        assert source is not None
        assert (last.spec.volumes[0].name, source.claim_name) == ("data", "data-web-2")
        assert await claims(w) == ["data-web-0", "data-web-1", "data-web-2"]
        status = (await w.client.get(StatefulSet, "web")).status
        numbers = (status.replicas, status.ready_replicas, status.available_replicas, status.current_replicas)
        assert (*numbers, status.updated_replicas) == (3, 3, 3, 3, 3)
        assert status.current_revision == status.update_revision == last.metadata.labels["controller-revision-hash"]
        assert "Create Pod web-2 in StatefulSet web successful" in w.said("SuccessfulCreate")
        await w.client.delete(Pod, "web-1")
        await w.passes()
        assert names(await w.pods()) == ["web-0", "web-1", "web-2"]
        await w.client.scale(StatefulSet, "web", 1)
        await w.passes()
        assert names(await w.pods()) == ["web-0"]
        assert len(await claims(w)) == 3
        assert w.said("SuccessfulDelete")[-2:] == [f"Delete Pod web-{n} in StatefulSet web successful" for n in (2, 1)]


@virtual
async def test_an_update_goes_from_the_last_to_the_partition_and_back() -> None:
    async with World(app) as w:
        rolling = {"type": "RollingUpdate", "rollingUpdate": {"partition": 2}}
        await w.client.create(stateful_set(updateStrategy=rolling, podManagementPolicy="Parallel"))
        await w.passes()
        await w.patch(StatefulSet, "web", {"spec": {"template": template(image="nginx:2")}})
        await w.passes(10)
        assert await images(w) == ["nginx", "nginx", "nginx:2"]
        status = (await w.client.get(StatefulSet, "web")).status
        assert (status.current_replicas, status.updated_replicas) == (2, 1)
        assert status.current_revision != status.update_revision
        await w.client.delete(Pod, "web-0")
        await w.passes()
        assert await images(w) == ["nginx", "nginx", "nginx:2"]
        await w.patch(StatefulSet, "web", {"spec": {"updateStrategy": {"rollingUpdate": {"partition": 0}}}})
        await w.passes(10)
        assert await images(w) == ["nginx:2"] * 3
        status = (await w.client.get(StatefulSet, "web")).status
        assert status.current_revision == status.update_revision
        assert sorted(each.revision for each in await w.client.list(ControllerRevision)) == [1, 2]
        await w.patch(StatefulSet, "web", {"spec": {"template": template()}})
        await w.passes(10)
        assert await images(w) == ["nginx"] * 3
        assert sorted(each.revision for each in await w.client.list(ControllerRevision)) == [2, 3]


@virtual
async def test_on_delete_nothing_is_replaced_by_itself_and_old_revisions_go() -> None:
    async with World(app) as w:
        await w.client.create(stateful_set(2, updateStrategy={"type": "OnDelete"}, revisionHistoryLimit=1))
        await w.passes()
        for image in ("nginx:2", "nginx:3", "nginx:4"):
            await w.patch(StatefulSet, "web", {"spec": {"template": template(image=image)}})
            await w.passes()
        assert await images(w) == ["nginx", "nginx"]
        await w.client.delete(Pod, "web-1")
        await w.passes()
        assert await images(w) == ["nginx", "nginx:4"]
        assert sorted(each.revision for each in await w.client.list(ControllerRevision)) == [1, 3, 4]


@virtual
async def test_claims_go_with_whom_the_policy_says() -> None:
    async with World(app) as w:
        policy = {"whenDeleted": "Delete", "whenScaled": "Delete"}
        await w.client.create(stateful_set(2, persistentVolumeClaimRetentionPolicy=policy))
        await w.passes()

        async def owners(name: str) -> list[str]:
            claim = await w.client.get(PersistentVolumeClaim, name)
            return [f"{each.kind} {each.name}" for each in claim.metadata.owner_references]

        assert await owners("data-web-1") == ["StatefulSet web"]
        await w.client.scale(StatefulSet, "web", 1)
        await w.passes()
        assert await owners("data-web-1") == ["Pod web-1"]
        assert await owners("data-web-0") == ["StatefulSet web"]
        await w.patch(StatefulSet, "web", {"spec": {"persistentVolumeClaimRetentionPolicy": {"whenDeleted": "Retain"}}})
        await w.passes()
        assert await owners("data-web-0") == []


@virtual
async def test_one_that_has_ended_is_made_anew() -> None:
    async with World(app) as w:
        await w.client.create(stateful_set(1))
        await w.passes()
        first = (await w.pods())[0].metadata.uid
        await w.patch(Pod, "web-0", {"status": {"phase": "Failed"}}, subresource="status")
        await w.passes()
        (pod,) = await w.pods()
        assert (pod.metadata.uid != first, pod.status.phase) == (True, "Running")


@virtual
async def test_when_nothing_changes_nothing_is_written() -> None:
    async with World(app) as w:
        await w.client.create(stateful_set(2))
        await w.passes(30)
        before = w.server.store.revision
        w.queues["statefulset-controller"].add("default/web")
        await w.passes(30)
        assert w.server.store.revision == before

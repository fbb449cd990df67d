"""Claims get volumes: those that are there, or new ones; and what is used does not go."""

from __future__ import annotations

from typing import Any

import pytest

from trimtab.client import Forbidden, MergePatch
from trimtab.kube.apps.v1 import StatefulSet
from trimtab.kube.core.v1 import Event, PersistentVolume, PersistentVolumeClaim, Pod
from trimtab.kube.storage.v1 import StorageClass
from trimtab.kube.wire import from_wire
from trimtab.local import Cluster
from trimtab.local.loops.volumes.binding import default_class
from trimtab.local.loops.volumes.matching import choose


def claim(name: str = "data", size: str = "1Gi", **spec: Any) -> PersistentVolumeClaim:
    body = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": size}}, **spec}
    return from_wire(PersistentVolumeClaim, {"metadata": {"name": name, "namespace": "default"}, "spec": body})


def volume(name: str, size: str = "1Gi", **spec: Any) -> PersistentVolume:
    body = {"accessModes": ["ReadWriteOnce"], "capacity": {"storage": size}, "hostPath": {"path": "/tmp/x"}, **spec}
    return from_wire(PersistentVolume, {"metadata": {"name": name, "labels": {"name": name}}, "spec": body})


def pod(name: str = "user", claims: str = "data", **spec: Any) -> Pod:
    volumes = [{"name": "v", "persistentVolumeClaim": {"claimName": claims}}]
    body = {"containers": [{"name": "c", "image": "i"}], "volumes": volumes, **spec}
    return from_wire(Pod, {"metadata": {"name": name}, "spec": body})


def storage_class(name: str, **rest: Any) -> StorageClass:
    return from_wire(StorageClass, {"metadata": {"name": name}, "provisioner": "example.com/disk", **rest})


def is_bound(claim: PersistentVolumeClaim) -> bool:
    return claim.status.phase == "Bound"


def is_running(pod: Pod) -> bool:
    return pod.status.phase == "Running"


async def told(cluster: Cluster, name: str, reason: str) -> None:
    """Wait for an event."""
    await cluster.until_all(
        Event, lambda events: any((each.involved_object.name, each.reason) == (name, reason) for each in events)
    )


async def test_a_claim_gets_a_volume_at_once_and_takes_it_along_when_nobody_uses_it() -> None:
    async with Cluster() as cluster:
        client = cluster.client
        await client.create(claim())
        await client.create(pod())
        bound = await cluster.until(PersistentVolumeClaim, "data", is_bound)
        assert (bound.spec.storage_class_name, bound.status.capacity) == ("standard", {"storage": "1Gi"})
        assert bound.spec.volume_name == f"pvc-{bound.metadata.uid}"
        made = await cluster.until(PersistentVolume, bound.spec.volume_name, lambda v: v.status.phase == "Bound")
        assert made.spec.claim_ref is not None
        assert (made.spec.claim_ref.uid, made.spec.persistent_volume_reclaim_policy) == (bound.metadata.uid, "Delete")
        await cluster.until(Pod, "user", is_running)
        await client.delete(PersistentVolumeClaim, "data")
        await client.delete(PersistentVolume, made.metadata.name)
        left = await client.get(PersistentVolumeClaim, "data")
        assert left.metadata.deletion_timestamp is not None
        await client.delete(Pod, "user")
        await cluster.until_gone(PersistentVolumeClaim, "data")
        await cluster.until_gone(PersistentVolume, made.metadata.name)


async def test_a_volume_that_is_kept_waits_for_somebody_to_free_it() -> None:
    async with Cluster(nodes=0) as cluster:
        client = cluster.client
        await client.create(volume("big", "5Gi", storageClassName="by-hand"))
        await client.create(volume("small", "2Gi", storageClassName="by-hand"))
        await cluster.until(PersistentVolume, "small", lambda v: v.status.phase == "Available")
        await client.create(claim(storageClassName="by-hand"))
        bound = await cluster.until(PersistentVolumeClaim, "data", is_bound)
        assert (bound.spec.volume_name, bound.status.capacity) == ("small", {"storage": "2Gi"})
        await client.delete(PersistentVolumeClaim, "data")
        await cluster.until(PersistentVolume, "small", lambda v: v.status.phase == "Released")
        await client.create(claim("other", "3Gi", storageClassName="by-hand"))
        bound = await cluster.until(PersistentVolumeClaim, "other", is_bound)
        assert bound.spec.volume_name == "big"
        await client.create(claim(storageClassName="by-hand"))
        await told(cluster, "data", "ProvisioningFailed")
        await client.patch(PersistentVolume, "small", MergePatch({"spec": {"claimRef": None}}))
        await cluster.until(PersistentVolumeClaim, "data", is_bound)


async def test_a_volume_that_is_lost_is_missed() -> None:
    async with Cluster(nodes=0) as cluster:
        client = cluster.client
        await client.create(claim())
        bound = await cluster.until(PersistentVolumeClaim, "data", is_bound)
        name = bound.spec.volume_name or ""
        await client.delete(PersistentVolume, name)
        await client.patch(PersistentVolume, name, MergePatch({"metadata": {"finalizers": None}}))
        lost = await cluster.until(PersistentVolumeClaim, "data", lambda c: c.status.phase == "Lost")
        assert not lost.status.capacity
        await told(cluster, "data", "ClaimLost")


async def test_a_claim_of_a_class_that_waits_gets_its_volume_with_the_first_pod() -> None:
    async with Cluster() as cluster:
        client = cluster.client
        await client.create(storage_class("later", volumeBindingMode="WaitForFirstConsumer", reclaimPolicy="Retain"))
        await client.create(claim(storageClassName="later"))
        await told(cluster, "data", "WaitForFirstConsumer")
        await client.create(pod())
        await cluster.until(Pod, "user", is_running)
        bound = await client.get(PersistentVolumeClaim, "data")
        assert is_bound(bound)
        assert bound.metadata.annotations["volume.kubernetes.io/selected-node"] == "node-1"
        await client.delete(Pod, "user")
        await client.delete(PersistentVolumeClaim, "data")
        await cluster.until(PersistentVolume, bound.spec.volume_name or "", lambda v: v.status.phase == "Released")


async def test_pods_go_where_their_volumes_are() -> None:
    terms = [{"matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "In", "values": ["node-2"]}]}]
    async with Cluster(nodes=3) as cluster:
        client = cluster.client
        await client.create(
            volume("local", nodeAffinity={"required": {"nodeSelectorTerms": terms}}, storageClassName="")
        )
        await client.create(claim(storageClassName=""))
        await cluster.until(PersistentVolumeClaim, "data", is_bound)
        await client.create(pod())
        placed = await cluster.until(Pod, "user", is_running)
        assert placed.spec.node_name == "node-2"
        await client.create(pod("elsewhere", nodeSelector={"kubernetes.io/hostname": "node-1"}))
        stuck = await cluster.until(Pod, "elsewhere", lambda p: p.status.conditions)
        said = stuck.status.conditions[0].message or ""
        assert "1 node(s) didn't match PersistentVolume's node affinity" in said


async def test_a_claim_grows_and_never_shrinks() -> None:
    async with Cluster(nodes=0) as cluster:
        client = cluster.client
        await client.create(claim())
        await cluster.until(PersistentVolumeClaim, "data", is_bound)
        more = MergePatch({"spec": {"resources": {"requests": {"storage": "2Gi"}}}})
        await client.patch(PersistentVolumeClaim, "data", more)
        await cluster.until(PersistentVolumeClaim, "data", lambda c: c.status.capacity == {"storage": "2Gi"})
        await client.create(storage_class("fixed"))
        await client.create(claim("stiff", storageClassName="fixed"))
        await cluster.until(PersistentVolumeClaim, "stiff", is_bound)
        with pytest.raises(Forbidden):
            await client.patch(PersistentVolumeClaim, "stiff", more)


async def test_stateful_sets_keep_their_claims_and_find_them_again() -> None:
    template = {"metadata": {"labels": {"app": "db"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    claims = [
        {
            "metadata": {"name": "data"},
            "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
        }
    ]
    spec = {
        "replicas": 2,
        "selector": {"matchLabels": {"app": "db"}},
        "template": template,
        "volumeClaimTemplates": claims,
    }
    async with Cluster() as cluster:
        await cluster.client.create(from_wire(StatefulSet, {"metadata": {"name": "db"}, "spec": spec}))
        await cluster.until(StatefulSet, "db", lambda s: s.status.ready_replicas == 2)
        before = {each.metadata.name: each.metadata.uid for each in await cluster.client.list(PersistentVolumeClaim)}
        await cluster.client.patch(StatefulSet, "db", MergePatch({"spec": {"replicas": 0}}))
        await cluster.until_all(Pod, lambda pods: not pods)
        await cluster.client.patch(StatefulSet, "db", MergePatch({"spec": {"replicas": 2}}))
        await cluster.until(StatefulSet, "db", lambda s: s.status.ready_replicas == 2)
        after = {each.metadata.name: each.metadata.uid for each in await cluster.client.list(PersistentVolumeClaim)}
        assert before == after
        assert before.keys() == {"data-db-0", "data-db-1"}


@pytest.mark.parametrize(
    ("spec", "chosen"),
    [
        ({}, "a"),
        ({"size": "2Gi"}, "b"),
        ({"size": "9Gi"}, None),
        ({"accessModes": ["ReadWriteMany"]}, "c"),
        ({"volumeMode": "Block"}, None),
        ({"storageClassName": "x"}, None),
        ({"selector": {"matchLabels": {"name": "c"}}}, "c"),
        ({"name": "set-aside"}, "d"),
    ],
)
def test_the_smallest_volume_that_will_do(spec: dict[str, Any], chosen: str | None) -> None:
    ref = {"namespace": "default", "name": "set-aside"}
    there = [
        volume("c", "4Gi", accessModes=["ReadWriteOnce", "ReadWriteMany"]),
        volume("b", "3Gi"),
        volume("a", "1Gi"),
        volume("d", "8Gi", claimRef=ref),
    ]
    found = choose(there, claim(**spec))
    assert (found and found.metadata.name) == chosen


def test_the_newest_of_the_default_classes() -> None:
    marked = {"storageclass.kubernetes.io/is-default-class": "true"}
    classes = [
        from_wire(
            StorageClass,
            {"metadata": {"name": name, "annotations": marked, "creationTimestamp": at}, "provisioner": "p"},
        )
        for name, at in (("a", "2026-01-01T00:00:00Z"), ("b", "2026-01-02T00:00:00Z"))
    ]
    assert default_class([*classes, storage_class("c")]) is classes[1]
    assert default_class([]) is None

"""ReplicationControllers: what is theirs of the way of ReplicaSets."""

from __future__ import annotations

from trimtab.client import MergePatch
from trimtab.kube.core.v1 import (
    Container,
    Pod,
    PodSpec,
    PodTemplateSpec,
    ReplicationController,
    ReplicationControllerSpec,
)
from trimtab.kube.meta.v1 import ObjectMeta
from trimtab.kube.owners import controller_of
from trimtab.local import Cluster

LABELS = {"app": "old"}


async def test_it_keeps_as_many_pods_as_are_wanted() -> None:
    async with Cluster() as cluster:
        client = cluster.client
        pod = PodSpec(containers=[Container(name="c", image="i")])
        orphan = await client.create(Pod(metadata=ObjectMeta(name="a", namespace="default", labels=LABELS), spec=pod))
        template = PodTemplateSpec(metadata=ObjectMeta(labels=LABELS), spec=pod)
        rc = await client.create(
            ReplicationController(
                metadata=ObjectMeta(name="old", namespace="default"),
                spec=ReplicationControllerSpec(replicas=3, template=template),
            )
        )
        pods = await cluster.until_all(Pod, lambda pods: len(pods) == 3, namespace="default")
        assert orphan.metadata.uid in {each.metadata.uid for each in pods}
        for each in await cluster.until_all(Pod, lambda pods: all(map(controller_of, pods)), namespace="default"):
            owner = controller_of(each)
            assert owner is not None
            assert (owner.kind, owner.uid) == ("ReplicationController", rc.metadata.uid)
        await cluster.until(ReplicationController, "old", lambda rc: rc.status.available_replicas == 3)

        await client.delete(pods[0])
        await cluster.until_gone(Pod, pods[0].metadata.name)
        await cluster.until_all(Pod, lambda pods: len(pods) == 3, namespace="default")
        await client.patch(ReplicationController, "old", MergePatch({"spec": {"replicas": 1}}))
        await cluster.until_all(Pod, lambda pods: len(pods) == 1, namespace="default")
        await cluster.until(ReplicationController, "old", lambda rc: rc.status.replicas == 1)

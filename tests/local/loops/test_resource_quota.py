"""What a namespace uses of its quotas."""

from __future__ import annotations

from typing import Any

import pytest

from trimtab.client import Forbidden, MergePatch
from trimtab.kube.core.v1 import (
    ConfigMap,
    Container,
    Namespace,
    Pod,
    PodSpec,
    ResourceQuota,
    ResourceQuotaSpec,
    ResourceRequirements,
)
from trimtab.kube.meta.v1 import ObjectMeta
from trimtab.kube.quantity import Quantity
from trimtab.local import Cluster
from trimtab.local.loops.resource_quota import bucket_of, used_of


@pytest.mark.parametrize(
    ("name", "bucket"),
    [
        ("pods", "pods"),
        ("limits.cpu", "pods"),
        ("requests.example.com/dongle", "pods"),
        ("requests.storage", "persistentvolumeclaims"),
        ("gold.storageclass.storage.k8s.io/requests.storage", "persistentvolumeclaims"),
        ("services.nodeports", "services"),
        ("count/widgets.example.com", "widgets.example.com"),
        ("example.com/dongle", None),
    ],
)
def test_a_quantity_is_of_one_kind(name: str, bucket: str | None) -> None:
    assert bucket_of(name) == bucket


def a_pod(cpu: str, *, deadline: int | None = None, phase: str = "Running") -> dict[str, Any]:
    containers = [{"name": "c", "resources": {"requests": {"cpu": cpu}}}]
    return {
        "metadata": {},
        "spec": {"containers": containers, "activeDeadlineSeconds": deadline},
        "status": {"phase": phase},
    }


def test_what_has_ended_and_what_is_out_of_scope_is_not_used() -> None:
    quota = {"spec": {"hard": {"pods": "9", "cpu": "9", "count/pods": "9"}, "scopes": ["NotTerminating"]}}
    pods = [a_pod("250m"), a_pod("1"), a_pod("2", phase="Failed"), a_pod("4", deadline=60)]
    used = used_of(quota, "pods", pods)
    assert {name: str(each) for name, each in used.items()} == {"pods": "2", "cpu": "1250m", "count/pods": "3"}
    assert used_of(quota, "pods", []) == {"pods": Quantity(0), "cpu": Quantity(0), "count/pods": Quantity(0)}


def a_quota(name: str, **hard: str) -> ResourceQuota:
    names = {each.replace("__", "/").replace("_", "."): most for each, most in hard.items()}
    return ResourceQuota(metadata=ObjectMeta(name=name, namespace="shop"), spec=ResourceQuotaSpec(hard=names))


async def test_what_is_there_counts_and_what_goes_does_not() -> None:
    async with Cluster() as cluster:
        client = cluster.client
        await client.create(Namespace(metadata=ObjectMeta(name="shop")))
        await cluster.until(ConfigMap, "kube-root-ca.crt", namespace="shop")

        async def used(**wanted: str) -> None:
            names = {each.replace("_", "."): most for each, most in wanted.items()}
            await cluster.until(ResourceQuota, "q", lambda q: names.items() <= q.status.used.items(), namespace="shop")

        await client.create(a_quota("q", configmaps="2", pods="1", cpu="1", resourcequotas="2"))
        await used(configmaps="1", pods="0", cpu="0", resourcequotas="1")
        await client.create(ConfigMap(metadata=ObjectMeta(name="a", namespace="shop")))
        await used(configmaps="2")
        with pytest.raises(Forbidden, match="exceeded quota: q, requested: configmaps=1, used: configmaps=2"):
            await client.create(ConfigMap(metadata=ObjectMeta(name="b", namespace="shop")))
        await client.delete(ConfigMap, "a", namespace="shop")
        await used(configmaps="1")

        busy = ResourceRequirements(requests={"cpu": "500m"})
        pod = PodSpec(containers=[Container(name="c", image="i", resources=busy)])
        meta = ObjectMeta(name="p", namespace="shop", annotations={"trimtab.dev/hang": "now"})
        await client.create(Pod(metadata=meta, spec=pod))
        await used(pods="1", cpu="500m")
        await client.delete(Pod, "p", namespace="shop", grace_period_seconds=0)
        await used(pods="0", cpu="0")

        await client.patch(
            ResourceQuota, "q", MergePatch({"spec": {"hard": {"pods": None, "secrets": "3"}}}), namespace="shop"
        )
        q = await cluster.until(ResourceQuota, "q", lambda q: "secrets" in q.status.used, namespace="shop")
        assert q.status.hard == {"configmaps": "2", "cpu": "1", "resourcequotas": "2", "secrets": "3"}
        assert set(q.status.used) == set(q.status.hard)

        forged = MergePatch({"status": {"hard": {"secrets": "1000"}}})
        await client.patch(ResourceQuota, "q", forged, namespace="shop", subresource="status")
        await cluster.until(ResourceQuota, "q", lambda q: q.status.hard["secrets"] == "3", namespace="shop")

        await client.create(a_quota("other", pods="1"))
        await used(resourcequotas="2")
        await client.delete(ResourceQuota, "other", namespace="shop")
        await used(resourcequotas="1")

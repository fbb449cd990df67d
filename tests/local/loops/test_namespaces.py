"""Namespaces: what each gets, and how it goes."""

from __future__ import annotations

import pytest

from trimtab.client import MergePatch
from trimtab.kube.conditions import find_condition
from trimtab.kube.core.v1 import ConfigMap, Namespace, Secret, Service, ServiceAccount
from trimtab.kube.dynamic import dynamic
from trimtab.kube.kinds import Resource
from trimtab.kube.meta.v1 import ObjectMeta
from trimtab.kube.partial import MetadataOnly
from trimtab.local import Cluster
from trimtab.local.loops.namespaces import Left, conditions_of
from trimtab.local.loops.root_ca import CERTIFICATE, NAME
from trimtab.local.waiting import Waited

PODS = Resource("", "v1", "Pod", "pods")
WIDGETS = Resource("example.com", "v1", "Widget", "widgets")


def test_what_is_left_is_told_in_the_words_of_kubernetes() -> None:
    left = Left()
    left.count(PODS, [MetadataOnly(metadata=ObjectMeta(name="a")), MetadataOnly(metadata=ObjectMeta(name="b"))])
    left.count(WIDGETS, [MetadataOnly(metadata=ObjectMeta(name="w", finalizers=["example.com/held"]))])
    told = {kind: (status, reason, message) for kind, status, reason, message in conditions_of(left)}
    assert told["NamespaceContentRemaining"] == (
        "True",
        "SomeResourcesRemain",
        "Some resources are remaining: pods. has 2 resource instances, widgets.example.com has 1 resource instances",
    )
    assert told["NamespaceFinalizersRemaining"][2] == (
        "Some content in the namespace has finalizers remaining: example.com/held in 1 resource instances"
    )
    assert told["NamespaceDeletionContentFailure"][0] == "False"
    assert {status for _, status, _, _ in conditions_of(Left())} == {"False"}


async def test_a_namespace_gets_an_account_and_a_certificate_and_gets_them_back() -> None:
    async with Cluster(options={CERTIFICATE: "PEM"}) as cluster:
        client = cluster.client
        await client.create(Namespace(metadata=ObjectMeta(name="shop")))
        first = await cluster.until(ServiceAccount, "default", namespace="shop")
        await cluster.until(ConfigMap, NAME, lambda c: c.data == {"ca.crt": "PEM"}, namespace="shop")
        await client.delete(first)
        await cluster.until(ServiceAccount, "default", lambda a: a.metadata.uid != first.metadata.uid, namespace="shop")
        await client.patch(ConfigMap, NAME, MergePatch({"data": {"ca.crt": "forged"}}), namespace="shop")
        await cluster.until(ConfigMap, NAME, lambda c: c.data == {"ca.crt": "PEM"}, namespace="shop")
        await cluster.until(ServiceAccount, "default", namespace="kube-system")


async def test_a_namespace_waits_for_finalizers_and_says_so(cluster: Cluster) -> None:
    async with cluster:
        client = cluster.client
        await client.create(Namespace(metadata=ObjectMeta(name="shop")))
        held = ConfigMap(metadata=ObjectMeta(name="held", namespace="shop", finalizers=["example.com/held"]))
        await client.create(held)
        await client.create(Secret(metadata=ObjectMeta(name="free", namespace="shop")))
        await client.delete(Namespace, "shop")

        def says(namespace: Namespace) -> bool:
            condition = find_condition(namespace.status.conditions, "NamespaceFinalizersRemaining")
            return condition is not None and condition.status == "True"

        waiting = await cluster.until(Namespace, "shop", says)
        assert waiting.status.phase == "Terminating"
        await cluster.until_gone(Secret, "free", namespace="shop")
        await client.patch(ConfigMap, "held", MergePatch({"metadata": {"finalizers": None}}), namespace="shop")
        await cluster.until_gone(Namespace, "shop")


async def test_custom_resources_go_with_their_namespace(cluster: Cluster) -> None:
    definition = dynamic("apiextensions.k8s.io/v1", "CustomResourceDefinition")
    schema = {"openAPIV3Schema": {"type": "object"}}
    spec = {
        "group": "example.com", "scope": "Namespaced", "names": {"plural": "widgets", "kind": "Widget"},
        "versions": [{"name": "v1", "served": True, "storage": True, "schema": schema}],
    }  # fmt: skip
    widget = dynamic("example.com/v1", "Widget", plural="widgets", namespaced=True)
    async with cluster:
        client = cluster.client
        await client.create(definition({"metadata": {"name": "widgets.example.com"}, "spec": spec}))
        await client.create(Namespace(metadata=ObjectMeta(name="shop")))
        await client.create(widget({"metadata": {"name": "w", "namespace": "shop"}}))
        await client.delete(Namespace, "shop")
        await cluster.until_gone(Namespace, "shop")
        assert await client.list(widget) == []


async def test_who_waits_in_vain_is_told_for_what(cluster: Cluster) -> None:
    async with cluster:
        with pytest.raises(Waited, match=r"in vain for ConfigMap x: it is not there"):
            await cluster.until(ConfigMap, "x", timeout=0.05)


async def test_the_api_server_is_a_service_that_comes_back() -> None:
    async with Cluster() as cluster:
        first = await cluster.until(Service, "kubernetes")
        assert first.spec.cluster_ip == "10.0.0.1"
        await cluster.client.delete(first)
        await cluster.until(Service, "kubernetes", lambda found: found.metadata.uid != first.metadata.uid)

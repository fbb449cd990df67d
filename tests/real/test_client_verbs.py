"""The verbs on objects, against a real API server: read, made, replaced and deleted."""

import asyncio
import logging
from typing import Any

import pytest

from trimtab.client import (
    AlreadyExists,
    BadRequest,
    Client,
    Conflict,
    Invalid,
    MergePatch,
    NotFound,
    RequestTooLarge,
    Timeout,
)
from trimtab.errors import TrimtabError
from trimtab.kube.apps.v1 import Deployment
from trimtab.kube.core.v1 import (
    ConfigMap,
    Container,
    ContainerPort,
    Namespace,
    Pod,
    PodSpec,
    Service,
    ServiceAccount,
    ServicePort,
    ServiceSpec,
)
from trimtab.kube.dynamic import dynamic
from trimtab.kube.invalid import InvalidValueError
from trimtab.kube.meta.v1 import ObjectMeta
from trimtab.kube.wire import from_wire
from trimtab.testing.control_plane import ControlPlane

CONFIG_MAP = dynamic("v1", "ConfigMap", plural="configmaps", namespaced=True)


def config_map(name: str = "", /, namespace: str = "", **data: str) -> ConfigMap:
    return ConfigMap(metadata=ObjectMeta(name=name, namespace=namespace), data=data)


def web_pod(name: str = "web", **labels: str) -> Pod:
    ports = [ContainerPort(container_port=80)]
    return Pod(
        metadata=ObjectMeta(name=name, labels=labels),
        spec=PodSpec(containers=[Container(name="c", image="nginx:1", ports=ports)]),
    )


# Reading


async def test_get(client: Client) -> None:
    made = await client.create(config_map("a", x="1"))
    assert made.metadata.namespace == client.namespace
    got = await client.get(ConfigMap, "a")
    assert got == made
    assert (await client.get(CONFIG_MAP, "a"))["data"] == {"x": "1"}
    assert (await client.get(ConfigMap, "a", resource_version="0")).metadata.uid == made.metadata.uid
    with pytest.raises(NotFound, match=f'cannot get configmaps {client.namespace}/b: NotFound .404.: .*"b" not found'):
        await client.get(ConfigMap, "b")
    with pytest.raises(NotFound):
        await client.get(ConfigMap, "a", namespace="default")
    with pytest.raises(Timeout) as future:  # a version that is not there yet
        await client.get(ConfigMap, "a", resource_version=str(int(made.metadata.resource_version) + 1_000_000))
    assert future.value.has_cause("ResourceVersionTooLarge")
    assert (await client.get(Namespace, client.namespace)).metadata.name == client.namespace
    with pytest.raises(TrimtabError, match="without a name"):
        await client.get(ConfigMap, "")


async def test_list_with_selectors_and_pages(client: Client) -> None:
    names = [f"p{i}" for i in range(7)]
    await asyncio.gather(*(client.create(web_pod(name, parity=str(i % 2))) for i, name in enumerate(names)))
    ns = client.namespace

    async def found(**query: Any) -> list[str]:
        return [pod.metadata.name for pod in await client.list(Pod, namespace=ns, **query)]

    assert await found() == await found(page_size=3) == await found(page_size=0) == names
    assert await found(labels={"parity": "1"}, page_size=2) == ["p1", "p3", "p5"]
    assert await found(labels="parity notin (1),parity") == ["p0", "p2", "p4", "p6"]
    assert await found(fields={"metadata.name": "p4"}) == ["p4"]
    assert await found(fields="metadata.name!=p4,spec.nodeName=", labels={"parity": "0"}) == ["p0", "p2", "p6"]
    assert await found(resource_version="0") == names
    pages = [page async for page in client.pages(Pod, namespace=ns, page_size=3)]
    assert [len(page) for page in pages] == [3, 3, 1]
    assert [page.remaining for page in pages] == [4, 1, None]
    whole = await client.list(Pod, namespace=ns, page_size=3)
    assert whole.resource_version == (await client.list(
        Pod, namespace=ns, resource_version=whole.resource_version, resource_version_match="Exact"
    )).resource_version  # fmt: skip
    everywhere = await client.list(Pod, labels="parity")
    assert {pod.metadata.namespace for pod in everywhere} >= {ns}
    with pytest.raises(BadRequest, match=r"field label not supported: spec.colour"):
        await found(fields={"spec.colour": "red"})
    with pytest.raises(InvalidValueError, match="label selector '!!'"):  # told before the server is asked
        await found(labels="!!")


# Making


async def test_create(client: Client) -> None:
    await client.create(config_map("a"))
    with pytest.raises(AlreadyExists, match=f'cannot create configmaps in {client.namespace}: .*"a" already exists'):
        await client.create(config_map("a"))
    one, two = await asyncio.gather(
        *(client.create(ConfigMap(metadata=ObjectMeta(generate_name="gen-"))) for _ in range(2))
    )
    assert one.metadata.name.startswith("gen-")
    assert one.metadata.name != two.metadata.name
    [entry] = one.metadata.managed_fields
    assert (entry.manager, entry.operation) == ("trimtab", "Update")
    other = await client.create(config_map("b", x="1"), field_manager="somebody")
    assert other.metadata.managed_fields[0].manager == "somebody"
    with pytest.raises(TrimtabError, match="is in namespace x, not in y"):
        await client.create(config_map("c", "x"), namespace="y")
    with pytest.raises(Invalid) as invalid:
        await client.create(config_map("Not A Name"))
    assert [cause.field for cause in invalid.value.causes] == ["metadata.name"]
    assert "metadata.name: Invalid value" in str(invalid.value)


async def test_dry_run_stores_nothing(client: Client) -> None:
    dry = await client.create(config_map("a"), dry_run=True)
    assert dry.metadata.uid
    with pytest.raises(NotFound):
        await client.get(ConfigMap, "a")
    made = await client.create(config_map("a"))
    assert (await client.patch(ConfigMap, "a", MergePatch({"data": {"x": "1"}}), dry_run=True)).data == {"x": "1"}
    assert (await client.apply(config_map("a", y="2"), dry_run=True)).data == {"y": "2"}
    await client.delete(ConfigMap, "a", dry_run=True)
    assert await client.get(ConfigMap, "a") == made


async def test_field_validation(client: Client, caplog: pytest.LogCaptureFixture) -> None:
    def odd(name: str) -> Any:
        return CONFIG_MAP({"metadata": {"name": name}, "dta": {"x": "1"}})

    with pytest.raises(BadRequest, match='strict decoding error: unknown field "dta"'):
        await client.create(odd("a"), field_validation="Strict")
    with caplog.at_level(logging.WARNING, "trimtab.client"):
        await client.create(odd("a"), field_validation="Ignore")
        assert not caplog.records
        await client.create(odd("b"), field_validation="Warn")
        await client.create(odd("c"))
    ns = client.namespace
    assert [record.getMessage() for record in caplog.records] == [
        f'the server warns about create configmaps in {ns}: unknown field "dta"'
    ]


async def test_a_body_that_is_too_large_is_refused(client: Client) -> None:
    with pytest.raises(RequestTooLarge):
        await client.create(config_map("a", x="y" * (3 << 20)))
    with pytest.raises(Invalid, match=r"must have at most 1048576 bytes|Too long"):
        await client.create(config_map("a", x="y" * ((1 << 20) + 1)))


async def test_replace(client: Client) -> None:
    await client.create(config_map("a", x="1", y="2"))
    first, second = [await client.get(CONFIG_MAP, "a") for _ in range(2)]
    first["data"] = {"x": "changed"}
    assert (await client.replace(first))["data"] == {"x": "changed"}
    second["data"] = {"x": "stale"}
    with pytest.raises(Conflict, match="the object has been modified"):
        await client.replace(second)
    typed: Any = await client.get(ConfigMap, "a")
    with pytest.raises(TrimtabError, match="use apply or modify"):
        await client.replace(typed)


# Deleting


async def test_delete(client: Client) -> None:
    made = await client.create(config_map("a"))
    assert await client.delete(made) is None
    with pytest.raises(NotFound):
        await client.delete(ConfigMap, "a")
    # One of the same name, but not the one that was read.
    successor = await client.create(config_map("a"))
    with pytest.raises(Conflict, match=r"uid|UID"):
        await client.delete(made)
    with pytest.raises(Conflict):
        await client.delete(ConfigMap, "a", resource_version=made.metadata.resource_version)
    assert await client.delete(successor, resource_version=successor.metadata.resource_version) is None


async def test_delete_tells_whether_it_is_gone(client: Client) -> None:
    # Kinds whose objects the server answers with, as they were, though they are gone.
    account = await client.create(ServiceAccount(metadata=ObjectMeta(name="a")))
    service = await client.create(
        Service(metadata=ObjectMeta(name="a"), spec=ServiceSpec(ports=[ServicePort(port=80)]))
    )
    unbound = await client.create(web_pod("unbound"))
    for obj in (account, service, unbound):
        assert await client.delete(obj) is None
        with pytest.raises(NotFound):
            await client.get(type(obj), obj.metadata.name)
    # A Pod on a node has its time to end.
    bound = web_pod("bound")
    bound.spec.node_name = "nowhere"
    await client.create(bound)
    ending = await client.delete(Pod, "bound", grace_period_seconds=20)
    assert ending is not None
    assert ending.metadata.deletion_grace_period_seconds == 20
    assert await client.delete(Pod, "bound", grace_period_seconds=0) is None
    with pytest.raises(NotFound):
        await client.get(Pod, "bound")


async def test_a_finalizer_keeps_the_object(client: Client) -> None:
    held = ConfigMap(metadata=ObjectMeta(name="a", finalizers=["trimtab.dev/test"]))
    await client.create(held)
    kept = await client.delete(ConfigMap, "a")
    assert kept is not None
    assert kept.metadata.deletion_timestamp
    assert (await client.get(ConfigMap, "a")).metadata.finalizers == ["trimtab.dev/test"]

    def let_go(obj: ConfigMap) -> None:
        obj.metadata.finalizers.clear()

    await client.modify(ConfigMap, "a", let_go)
    with pytest.raises(NotFound):
        await client.get(ConfigMap, "a")


@pytest.mark.parametrize(
    ("propagation", "finalizers"), [("Foreground", ["foregroundDeletion"]), ("Orphan", ["orphan"])]
)
async def test_propagation(client: Client, propagation: Any, finalizers: list[str]) -> None:
    template = {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "c", "image": "nginx:1"}]}}
    spec = {"selector": {"matchLabels": {"app": "web"}}, "template": template}
    web = from_wire(Deployment, {"metadata": {"name": "web"}, "spec": spec})
    await client.create(web)
    kept = await client.delete(Deployment, "web", propagation=propagation)
    assert kept is not None
    assert kept.metadata.finalizers == finalizers
    await client.patch(Deployment, "web", MergePatch({"metadata": {"finalizers": None}}))
    await client.create(web)
    assert await client.delete(Deployment, "web", propagation="Background") is None


async def test_delete_all_deletes_what_matches(client: Client, control_plane: ControlPlane) -> None:
    for name, tier in (("a", "x"), ("b", "x"), ("c", "y")):
        await client.create(ConfigMap(metadata=ObjectMeta(name=name, labels={"tier": tier})))
    with control_plane.namespace() as other:
        await client.create(ConfigMap(metadata=ObjectMeta(name="a", namespace=other, labels={"tier": "x"})))
        await client.delete_all(ConfigMap, labels={"tier": "x"}, dry_run=True)
        await client.delete_all(ConfigMap, labels={"tier": "x"})
        assert [o.metadata.name for o in await client.list(ConfigMap, namespace=client.namespace)] == ["c"]
        assert [o.metadata.name for o in await client.list(ConfigMap, namespace=other)] == ["a"]
        await client.delete_all(ConfigMap, fields={"metadata.name": "c"})
        assert not await client.list(ConfigMap, namespace=client.namespace)

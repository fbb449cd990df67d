"""What an informer asks the server for, and what it keeps of the answers: ways, kinds, selectors, namespaces."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from typing import Any

import pytest

from trimtab.cache import Informers, NotWatched
from trimtab.client import Client, HttpTransport, MergePatch, Response, load_config
from trimtab.client.request import Request
from trimtab.kube.core.v1 import ConfigMap, Namespace, Pod
from trimtab.kube.meta.v1 import ObjectMeta
from trimtab.kube.partial import MetadataOnly, metadata_of
from trimtab.kube.rbac.v1 import ClusterRole, PolicyRule
from trimtab.kube.wire import from_wire
from trimtab.testing.control_plane import ControlPlane

from .cache_helpers import Recording, Witness, config_map, kept, no_streamed_state, truth, until


@pytest.fixture
async def transport(control_plane: ControlPlane) -> Recording:
    return Recording(HttpTransport(load_config(control_plane.kubeconfig())))


@pytest.fixture
async def informers(transport: Recording, real_namespace: str) -> AsyncIterator[Informers]:
    async with Client(transport, namespace=real_namespace) as reader, Informers(reader, random=lambda: 0.0) as them:
        yield them


def not_known(request: Request) -> Response | None:
    """A server that refuses the parameter as a bad request."""
    refusal = no_streamed_state(request)
    return refusal and Response(
        400, refusal.headers, refusal.body.replace(b"422", b"400").replace(b"Invalid", b"BadRequest")
    )


async def test_the_state_is_streamed(client: Client, informers: Informers, transport: Recording) -> None:
    await client.create(config_map("a"))
    informer = informers.informer(ConfigMap, namespaces=client.namespace)
    witness = Witness(informer)
    await informers.synced(30)
    await client.create(config_map("b"))
    await until(lambda: ("add", "b") in witness.told)
    # One request gave the state and goes on with the changes.
    [request] = transport.asked
    assert request.verb == "watch"
    path, _, query = request.path.partition("?")
    assert path == f"/api/v1/namespaces/{client.namespace}/configmaps"
    assert {*query.split("&")} == {
        "watch=true",
        "allowWatchBookmarks=true",
        "sendInitialEvents=true",
        "resourceVersionMatch=NotOlderThan",
        "timeoutSeconds=300",
    }
    assert witness.told == [("add", "a"), ("add", "b")]
    assert witness.initial == {f"{client.namespace}/a"}


@pytest.mark.parametrize("refuse", [no_streamed_state, not_known], ids=["422", "400"])
async def test_where_it_is_not_streamed_it_is_listed(
    client: Client, informers: Informers, transport: Recording, refuse: Any
) -> None:
    transport.instead = refuse
    await client.create(config_map("a"))
    informer = informers.informer(ConfigMap, namespaces=client.namespace)
    witness = Witness(informer)
    await informers.synced(30)
    version = informer.watches[0].feed.resource_version
    await client.delete(ConfigMap, "a")
    await client.create(config_map("b"))
    await until(lambda: ("add", "b") in witness.told)
    assert [request.verb for request in transport.asked] == ["watch", "list", "watch"]
    assert transport.asked[1].path.partition("?")[2] == "resourceVersion=0&limit=500"
    assert f"&resourceVersion={version}&" in transport.asked[2].path
    assert "sendInitialEvents" not in transport.asked[2].path
    assert witness.told == [("add", "a"), ("delete", "a"), ("add", "b")]
    assert kept(informer) == await truth(client, ConfigMap, namespace=client.namespace)


async def test_metadata_alone(client: Client, informers: Informers, transport: Recording) -> None:
    ns = client.namespace
    pod = {"metadata": {"name": "p", "labels": {"app": "x"}}, "spec": {"containers": [{"name": "c", "image": "i:1"}]}}
    await client.create(from_wire(Pod, pod))
    kind = metadata_of(Pod)
    informer = informers.informer(kind, namespaces=ns)
    witness = Witness(informer)
    await informers.synced(30)
    assert all("as=PartialObjectMetadata" in request.accept for request in transport.asked)
    await client.patch(Pod, "p", MergePatch({"metadata": {"annotations": {"new": "1"}}}))
    await until(lambda: witness.told == [("add", "p"), ("update", "p")])
    [entry] = informer.lister.entries(labels="app=x")
    assert b"containers" not in entry.json()
    assert b"managedFields" not in entry.json()
    read = informer.lister.get("p", namespace=ns)
    assert isinstance(read, MetadataOnly)
    assert read.metadata.annotations == {"new": "1"}
    await client.delete(Pod, "p", grace_period_seconds=0)
    await until(lambda: not witness.state)
    assert (witness.faults, informer.watches[0].pulse.skipped) == ([], 0)


async def test_objects_enter_and_leave_a_selector(client: Client, informers: Informers) -> None:
    ns = client.namespace
    for name, tier in (("a", "front"), ("b", "back"), ("c", "front")):
        await client.create(config_map(name, tier=tier))
    by_label = informers.informer(ConfigMap, namespaces=ns, labels="tier in (front)")
    by_field = informers.informer(ConfigMap, namespaces=ns, fields={"metadata.name": "b"})
    front, named = Witness(by_label), Witness(by_field)
    await informers.synced(30)
    await until(lambda: len(front.state) == 2)

    async def move(name: str, tier: str) -> None:
        await client.patch(ConfigMap, name, MergePatch({"metadata": {"labels": {"tier": tier}}}))

    await move("a", "back")
    await move("b", "front")
    await client.patch(ConfigMap, "c", MergePatch({"data": {"x": "2"}}))
    await move("a", "front")
    await client.delete(ConfigMap, "c")
    await until(lambda: ("delete", "c") in front.told)
    await until(lambda: len(named.told) == 2)
    changes = [("delete", "a"), ("add", "b"), ("update", "c"), ("add", "a"), ("delete", "c")]
    assert front.told[2:] == changes
    assert named.told == [("add", "b"), ("update", "b")]
    assert kept(by_label) == await truth(client, ConfigMap, namespace=ns, labels="tier=front")
    assert list(kept(by_field)) == [f"{ns}/b"]
    # 'a' came back: nobody deleted it, so it has the uid that it had when it left.
    assert [fault for fault in front.faults if "a at" not in fault] == []


async def test_pods_of_a_node(client: Client, informers: Informers) -> None:
    """A selector by a field that the server has an index of."""
    spec = {"containers": [{"name": "c", "image": "i:1"}]}
    here = from_wire(Pod, {"metadata": {"name": "here"}, "spec": {**spec, "nodeName": "n1"}})
    await client.create(here)
    await client.create(from_wire(Pod, {"metadata": {"name": "elsewhere"}, "spec": spec}))
    informer = informers.informer(Pod, namespaces=client.namespace, fields="spec.nodeName=n1")
    await informers.synced(30)
    assert list(kept(informer)) == [f"{client.namespace}/here"]


async def test_namespaces_that_change_while_it_runs(
    client: Client, informers: Informers, control_plane: ControlPlane, transport: Recording
) -> None:
    async with AsyncExitStack() as stack:
        a, b, c = (stack.enter_context(control_plane.namespace(name)) for name in "abc")
        for ns in (a, b, c):
            await client.create(config_map("x"), namespace=ns)
        informer = informers.informer(ConfigMap, namespaces=[a, b])
        witness = Witness(informer)
        await informers.synced(30)
        await until(lambda: witness.state.keys() == {f"{a}/x", f"{b}/x"})
        with pytest.raises(NotWatched, match=f"ConfigMaps in namespace {c} are not watched"):
            informer.lister.list(namespace=c)

        informer.look_in([b, c])
        await informer.synced()
        await until(lambda: witness.state.keys() == {f"{b}/x", f"{c}/x"})
        assert kept(informer).keys() == witness.state.keys()
        with pytest.raises(NotWatched):
            informer.lister.get("x", namespace=a)
        await client.delete(ConfigMap, "x", namespace=a)  # nobody is told
        await client.delete(ConfigMap, "x", namespace=b)
        await client.create(config_map("y"), namespace=c)
        await until(lambda: witness.state.keys() == {f"{c}/x", f"{c}/y"})

        informer.look_in([a, c])
        await client.create(config_map("z"), namespace=a)
        await until(lambda: witness.state.keys() == {f"{a}/z", f"{c}/x", f"{c}/y"})
        assert kept(informer) == witness.state
        assert witness.faults == []
        # A namespace that stayed was asked for once.
        assert len([path for path in transport.paths("watch") if f"/{c}/" in path]) == 1
        assert len([path for path in transport.paths("watch") if f"/{a}/" in path]) == 2


async def test_kinds_of_no_namespace(client: Client, informers: Informers, control_plane: ControlPlane) -> None:
    name = f"{client.namespace}-role"
    roles = informers.informer(ClusterRole, labels={"test": client.namespace})
    namespaces = informers.informer(Namespace, fields={"metadata.name": client.namespace})
    witness = Witness(roles)
    await informers.synced(30)
    assert namespaces.lister.get(client.namespace) is not None
    rule = PolicyRule(api_groups=[""], resources=["pods"], verbs=["get"])
    labels = {"test": client.namespace}
    made = await client.create(ClusterRole(metadata=ObjectMeta(name=name, labels=labels), rules=[rule]))
    await until(lambda: ("add", name) in witness.told)
    made.metadata.managed_fields = []  # which the cache does not keep
    assert roles.lister.get(name) == made
    await client.delete(made)
    await until(lambda: ("delete", name) in witness.told)
    assert roles.lister.list() == []


async def test_informers_of_the_same_share_a_watch(client: Client, informers: Informers, transport: Recording) -> None:
    ns = client.namespace
    for _ in range(3):
        Witness(informers.informer(ConfigMap, namespaces=ns, labels="a=1,b=2"))
        informers.informer(ConfigMap, namespaces=[ns], labels={"a": "1", "b": "2"})
    await informers.synced(30)
    await asyncio.gather(*(client.create(config_map(f"c{n}", a="1", b="2")) for n in range(3)))
    one = informers.informer(ConfigMap, namespaces=ns, labels="a=1,b=2")
    await until(lambda: len(one.lister.entries()) == 3)
    assert len(transport.asked) == 1

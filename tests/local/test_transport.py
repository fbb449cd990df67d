"""Our own client and informers against the server in the process."""

from __future__ import annotations

import asyncio

import pytest

from trimtab.apiserver.server import Server
from trimtab.cache import Informers
from trimtab.client import AlreadyExists, Client, Conflict, Expired, Invalid, MergePatch, NotFound
from trimtab.kube import dynamic
from trimtab.kube.apps.v1 import Deployment
from trimtab.kube.core.v1 import ConfigMap, Namespace, Pod
from trimtab.kube.meta.v1 import ObjectMeta


def config_map(name: str, **data: str) -> ConfigMap:
    return ConfigMap(metadata=ObjectMeta(name=name, labels={"app": name}), data=data)


async def test_an_object_comes_and_goes(client: Client) -> None:
    made = await client.create(config_map("a", k="v"))
    assert (made.metadata.namespace, made.metadata.uid != "") == ("default", True)
    with pytest.raises(AlreadyExists):
        await client.create(config_map("a"))
    assert (await client.get(ConfigMap, "a")).data == {"k": "v"}
    await client.delete(made)
    with pytest.raises(NotFound):
        await client.get(ConfigMap, "a")


async def test_errors_have_their_reasons(client: Client) -> None:
    with pytest.raises(Invalid, match=r"metadata\.name"):
        await client.create(config_map("Not_A_Name"))
    loose = dynamic("v1", "ConfigMap")
    first = await client.create(loose({"metadata": {"name": "b"}}))
    await client.replace(loose({"metadata": {"name": "b"}, "data": {"x": "y"}}))
    with pytest.raises(Conflict):
        await client.replace(first)
    with pytest.raises(NotFound, match="no-such"):
        await client.create(config_map("a"), namespace="no-such")


async def test_a_watch_tells_what_happens(client: Client) -> None:
    first = await client.create(config_map("a", k="v"))
    async with client.watch(ConfigMap, resource_version=first.metadata.resource_version) as events:
        await client.create(config_map("b"))
        await client.delete(first)
        seen = [await anext(aiter(events)) for _ in range(2)]
    assert [(event.type, event.object.metadata.name) for event in seen] == [("ADDED", "b"), ("DELETED", "a")]
    assert int(seen[1].object.metadata.resource_version) > int(seen[0].object.metadata.resource_version)


async def test_a_watch_from_what_is_forgotten_says_so(api: Server, client: Client) -> None:
    first = await client.create(config_map("a"))
    await client.create(config_map("b"))
    api.store.compact(api.store.revision)
    with pytest.raises(Expired):
        async with client.watch(ConfigMap, resource_version=first.metadata.resource_version) as events:
            await anext(aiter(events))


async def test_informers_follow(api: Server, client: Client) -> None:
    for n in range(5):
        await client.create(config_map(f"a{n}"))
    async with Informers(client) as informers:
        informer = informers.informer(ConfigMap)
        await informers.synced(10)
        assert len(informer.lister.list(namespace="default")) == 5
        seen: asyncio.Queue[str] = asyncio.Queue()
        registration = informer.add_handler(on_add=lambda obj, _: seen.put_nowait(obj.metadata.name))
        await registration.synced()
        await client.create(config_map("late"))
        async with asyncio.timeout(10):
            while await seen.get() != "late":
                pass
        assert informer.lister.get("late", namespace="default") is not None


async def test_built_in_kinds_are_there(client: Client) -> None:
    names = {namespace.metadata.name for namespace in await client.list(Namespace)}
    assert names >= {"default", "kube-system"}
    assert list(await client.list(Pod)) == []
    assert list(await client.list(Deployment)) == []


async def test_events_are_the_same_under_both_their_names(client: Client) -> None:
    new, old = dynamic("events.k8s.io/v1", "Event"), dynamic("v1", "Event")
    about = {"kind": "Pod", "namespace": "default", "name": "web"}
    event = {"metadata": {"name": "e"}, "regarding": about, "note": "it ran", "reason": "Ran", "type": "Normal"}
    times = {"eventTime": "2026-01-01T00:00:00.000000Z", "action": "Run", "reportingController": "me"}
    await client.create(new({**event, **times, "reportingInstance": "me-1"}))
    (seen,) = await client.list(old, fields="involvedObject.name=web")
    assert (seen["message"], seen["reportingComponent"], seen["involvedObject"]) == ("it ran", "me", about)
    await client.patch(old, "e", MergePatch({"message": "it ran again", "count": 2}))
    again = await client.get(new, "e")
    assert (again["note"], again["deprecatedCount"], "message" in again.to_wire()) == ("it ran again", 2, False)

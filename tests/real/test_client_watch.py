"""Watches, against a real API server."""

from typing import Any

import pytest

from trimtab.client import BadRequest, Client, Forbidden, MergePatch, NotFound, WatchEvent, load_config
from trimtab.kube.core.v1 import ConfigMap
from trimtab.kube.dynamic import dynamic
from trimtab.kube.meta.v1 import ObjectMeta
from trimtab.testing.control_plane import ControlPlane


def config_map(name: str, **labels: str) -> ConfigMap:
    return ConfigMap(metadata=ObjectMeta(name=name, labels=labels), data={"x": "1"})


def said(event: WatchEvent[Any]) -> tuple[str, str]:
    return event.type, event.object.metadata.name


async def test_changes_since_a_list_and_the_way_on(client: Client) -> None:
    ns = client.namespace
    await client.create(config_map("before"))
    listed = await client.list(ConfigMap, namespace=ns)
    async with client.watch(ConfigMap, namespace=ns, resource_version=listed.resource_version) as events:
        made = await client.create(config_map("a"))
        assert said(event := await anext(events)) == ("ADDED", "a")
        assert event.object == made
        assert events.resource_version == made.metadata.resource_version
        changed = await client.patch(ConfigMap, "a", MergePatch({"data": {"x": "2"}}))
        assert said(event := await anext(events)) == ("MODIFIED", "a")
        assert event.object.data == {"x": "2"}
    # The connection is gone; what happens meanwhile is not.
    await client.delete(ConfigMap, "a")
    await client.create(config_map("b"))
    async with client.watch(ConfigMap, namespace=ns, resource_version=changed.metadata.resource_version) as events:
        assert said(event := await anext(events)) == ("DELETED", "a")
        assert int(event.object.metadata.resource_version) > int(changed.metadata.resource_version)
        assert said(await anext(events)) == ("ADDED", "b")


async def test_the_state_first_and_its_end_marked(client: Client) -> None:
    for name in ("a", "b"):
        await client.create(config_map(name))
    found: list[tuple[str, str]] = []
    async with client.watch(ConfigMap, namespace=client.namespace, initial_events=True) as events:
        for _ in range(2):
            found.append(said(await anext(events)))
            assert not events.initial_events_ended
        await client.create(config_map("c"))
        # The bookmark comes before what happens afterwards.
        assert said(await anext(events)) == ("ADDED", "c")
        assert events.initial_events_ended
    assert sorted(found) == [("ADDED", "a"), ("ADDED", "b")]


async def test_without_a_version_it_begins_with_the_state(client: Client) -> None:
    await client.create(config_map("a"))
    async with client.watch(ConfigMap, namespace=client.namespace) as events:
        assert said(await anext(events)) == ("ADDED", "a")
        assert not events.initial_events_ended


async def test_what_leaves_a_selector_is_deleted(client: Client) -> None:
    ns = client.namespace
    version = (await client.list(ConfigMap, namespace=ns)).resource_version
    by_label = client.watch(ConfigMap, namespace=ns, labels={"tier": "x"}, resource_version=version)
    by_field = client.watch(ConfigMap, namespace=ns, fields={"metadata.name": "b"}, resource_version=version)
    async with by_label as labelled, by_field as named:
        for name in ("a", "b"):
            await client.create(config_map(name, tier="x"))
        await client.patch(ConfigMap, "a", MergePatch({"metadata": {"labels": {"tier": "y"}}}))
        events = [said(await anext(labelled)) for _ in range(3)]
        assert events == [("ADDED", "a"), ("ADDED", "b"), ("DELETED", "a")]
        assert said(await anext(named)) == ("ADDED", "b")


async def test_the_server_ends_it_in_good_order(client: Client) -> None:
    await client.create(config_map("a"))
    async with client.watch(ConfigMap, namespace=client.namespace, timeout=1) as events:
        assert [said(event) async for event in events] == [("ADDED", "a")]
        assert events.resource_version


async def test_a_kind_without_a_class(client: Client) -> None:
    kind = dynamic("v1", "ConfigMap")
    await client.create(config_map("a"))
    async with client.watch(kind, namespace=client.namespace) as events:
        event = await anext(events)
        assert (said(event), event.object["data"]) == (("ADDED", "a"), {"x": "1"})
        assert events.skipped == 0


async def test_what_cannot_begin_says_why(client: Client, control_plane: ControlPlane) -> None:
    with pytest.raises(BadRequest, match=r"spec.x"):
        async with client.watch(ConfigMap, fields={"spec.x": "1"}):
            pass
    with pytest.raises(NotFound, match=r"cannot watch widgets.none.trimtab.dev"):
        async with client.watch(dynamic("none.trimtab.dev/v1", "Widget", plural="widgets", namespaced=True)):
            pass
    async with Client(load_config(control_plane.kubeconfig("nobody", groups=()))) as nobody:
        with pytest.raises(Forbidden, match='User "nobody" cannot watch resource "configmaps"'):
            async with nobody.watch(ConfigMap):
                pass

"""Listers: what is read comes from the cache, never from the network, and what is done to it changes nothing there."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from copy import deepcopy
from typing import Any

import msgspec
import pytest
from tests.cache.fakeserver import FakeServer
from tests.cache.informing import informing
from tests.cache.samples import FORBIDDEN, config_map, pod, virtual

from trimtab.cache import Cached, Lister, NotSynced, NotWatched, Undecodable
from trimtab.errors import TrimtabError
from trimtab.kube.base import Struct
from trimtab.kube.core.v1 import ConfigMap, Node, Pod
from trimtab.kube.dynamic import dynamic
from trimtab.kube.frozen import FrozenError
from trimtab.kube.meta.v1 import ObjectMeta
from trimtab.kube.partial import metadata_of

_UID = "rs-uid"


def owned(name: str, uid: str = _UID, *, controller: bool = True, **metadata: Any) -> dict[str, Any]:
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "rs", "uid": uid, "controller": controller}
    return pod(name, ownerReferences=[owner], **metadata)


class Names(Struct):
    """A view: of a Pod only its name."""

    metadata: ObjectMeta = msgspec.field(default_factory=ObjectMeta)


def name_of(entry: Cached[Any]) -> str:
    return entry.view(Names).metadata.name


@asynccontextmanager
async def listing(server: FakeServer, kind: type[Any] = Pod, **query: Any) -> AsyncIterator[Lister[Any]]:
    async with informing(server) as informers:
        informer = informers.informer(kind, **query)
        informer.add_index("letter", lambda entry: [entry.name[0], *entry.name[1:2]])
        await informers.synced()
        before = len(server.requests)
        yield informer.lister
        assert len(server.requests) == before, "it asked the server"


def names(found: list[Any]) -> list[str]:
    return sorted(each.metadata.name for each in found)


def shop() -> FakeServer:
    server = FakeServer(Pod, ConfigMap, Node)
    server.put(pod("a1", "one", labels={"app": "web", "tier": "front"}))
    server.put(pod("a2", "two", labels={"app": "web"}))
    server.put(pod("b1", "one", labels={"app": "db"}))
    server.put(pod("b2", "one"))
    return server


@virtual
async def test_an_object_is_read_by_its_name() -> None:
    async with listing(shop()) as lister:
        found = lister.get("a1", namespace="one")
        assert isinstance(found, Pod)
        assert found.spec.containers[0].image == "nginx"
        assert lister.get("a1", namespace="two") is None
        assert lister.get("nobody", namespace="one") is None
        with pytest.raises(TrimtabError, match="which Pod a1\\? It lives in a namespace: give that too"):
            lister.get("a1")


@virtual
async def test_an_object_of_a_kind_without_namespaces_is_read_by_its_name_alone() -> None:
    server = FakeServer(Node)
    server.put({"kind": "Node", "apiVersion": "v1", "metadata": {"name": "n1"}})
    async with listing(server, Node) as lister:
        assert lister.get("n1").metadata.name == "n1"
        assert lister.get("n2") is None
        assert names(lister.list()) == ["n1"]


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ({}, ["a1", "a2", "b1", "b2"]),
        ({"namespace": "one"}, ["a1", "b1", "b2"]),
        ({"namespace": "none"}, []),
        ({"labels": "app=web"}, ["a1", "a2"]),
        ({"labels": {"app": "web", "tier": "front"}}, ["a1"]),
        ({"labels": "app in (web,db),!tier"}, ["a2", "b1"]),
        ({"labels": "!app"}, ["b2"]),
        ({"labels": "app=web", "namespace": "two"}, ["a2"]),
        ({"index": ("letter", "a")}, ["a1", "a2"]),
        ({"index": ("letter", "1")}, ["a1", "b1"]),
        ({"index": ("letter", "x")}, []),
        ({"index": ("letter", "1"), "labels": "app=web"}, ["a1"]),
        ({"index": ("letter", "b"), "namespace": "one"}, ["b1", "b2"]),
    ],
)
@virtual
async def test_objects_are_listed_by_namespace_labels_and_index(query: dict[str, Any], found: list[str]) -> None:
    async with listing(shop()) as lister:
        assert names(lister.list(**query)) == found
        assert sorted(entry.name for entry in lister.entries(**query)) == found
        assert sorted(lister.digests(name_of, **query)) == found
        assert all(isinstance(each, Pod) for each in lister.list(**query))
        view = lister.list(**query, view=Names)
        assert names(view) == found
        assert all(isinstance(each, Names) for each in view)


@virtual
async def test_objects_are_listed_by_the_controller_that_owns_them() -> None:
    server = FakeServer()
    server.put(owned("mine", labels={"app": "web"}))
    server.put(owned("mine-too"))
    server.put(owned("anothers", "another-uid"))
    server.put(owned("not-controlled", controller=False))
    server.put(pod("free"))
    async with listing(server) as lister:
        assert names(lister.list(owner=_UID)) == ["mine", "mine-too"]
        owner = ConfigMap(metadata=ObjectMeta(name="rs", uid=_UID))
        assert names(lister.list(owner=owner)) == ["mine", "mine-too"]
        assert names(lister.list(owner=owner, labels="app=web")) == ["mine"]
        assert names(lister.list(owner=owner, namespace="elsewhere")) == []
        assert names(lister.list(owner=owner, index=("letter", "m"))) == ["mine", "mine-too"]
        assert names(lister.list(owner="nobody")) == []
        with pytest.raises(TrimtabError, match="has no uid"):
            lister.list(owner=ConfigMap(metadata=ObjectMeta(name="rs")))
        server.put(owned("mine", "another-uid"))
        await asyncio.sleep(0.01)
        assert names(lister.list(owner=_UID)) == ["mine-too"]


@virtual
async def test_a_view_is_a_part_of_an_object() -> None:
    async with listing(shop()) as lister:
        found = lister.get("a1", namespace="one", view=Names)
        assert isinstance(found, Names)
        assert not hasattr(found, "spec")
        assert lister.get("nobody", namespace="one", view=Names) is None


@virtual
async def test_what_is_not_synced_says_so_instead_of_not_found() -> None:
    server = FakeServer()
    server.put(pod("a"))
    server.next["watchlist"].append(5.0)
    async with informing(server) as informers:
        lister = informers.informer(Pod).lister
        reads: list[Callable[[], Any]] = [
            lambda: lister.get("a", namespace="default"),
            lister.list,
            lister.entries,
            lambda: lister.entry("a", namespace="default"),
        ]
        for read in reads:
            with pytest.raises(NotSynced, match=r"^pods cannot be read yet: its first state was not read; wait"):
                read()
        await informers.synced()
        for read in reads:
            assert read()


@virtual
async def test_what_is_not_synced_says_why() -> None:
    server = FakeServer()
    server.always = {"watchlist": FORBIDDEN, "list": FORBIDDEN}
    async with informing(server) as informers:
        lister = informers.informer(Pod).lister
        await asyncio.sleep(5)
        with pytest.raises(NotSynced, match=r"\(cannot list pods: Forbidden \(403\): pods is forbidden\)$"):
            lister.get("a", namespace="default")


@virtual
async def test_a_namespace_that_is_not_watched_says_so() -> None:
    async with listing(shop(), namespaces=["two", "one"]) as lister:
        for read in (lambda: lister.get("a", namespace="three"), lambda: lister.list(namespace="three")):
            with pytest.raises(NotWatched, match=r"^Pods in namespace three are not watched: only in one, two$"):
                read()
        assert names(lister.list(namespace="two")) == ["a2"]
        assert lister.get("a2", namespace="two") is not None


@virtual
async def test_a_namespace_can_be_read_while_another_is_not_synced_yet() -> None:
    server = shop()
    server.on_watch = lambda watch: watch.stall_before_the_end() if watch.asked.namespace == "two" else None
    async with informing(server) as informers:
        lister = informers.informer(Pod, namespaces=["one", "two"]).lister
        await asyncio.sleep(1)
        assert names(lister.list(namespace="one")) == ["a1", "b1", "b2"]
        with pytest.raises(NotSynced, match="pods in two"):
            lister.list()


def changes_label(obj: Any) -> None:
    obj.metadata.labels["app"] = "stolen"


def adds_item(obj: Any) -> None:
    obj.spec.containers.append(obj.spec.containers[0])


def sets_field(obj: Any) -> None:
    obj.spec.containers[0].image = "stolen"


def deletes_field(obj: Any) -> None:
    del obj.metadata.name


@pytest.mark.parametrize("harm", [changes_label, adds_item, sets_field, deletes_field])
@pytest.mark.parametrize("how", ["get", "list", "entry"])
@virtual
async def test_what_is_read_cannot_be_changed(harm: Callable[[Any], None], how: str) -> None:
    async with listing(shop()) as lister:

        def read() -> Any:
            if how == "get":
                return lister.get("a1", namespace="one")
            if how == "list":
                return lister.list(labels="tier=front")[0]
            entry = lister.entry("a1", namespace="one")
            assert entry is not None
            return entry.read()

        before = msgspec.json.encode(read())
        for _ in range(4):  # at first it is decoded anew, later all are given the same
            with pytest.raises(FrozenError, match="shared and cannot be changed: change a copy"):
                harm(read())
            assert msgspec.json.encode(read()) == before
        mine = deepcopy(read())
        harm(mine)
        assert msgspec.json.encode(read()) == before


@virtual
async def test_labels_of_an_entry_cannot_be_changed_either() -> None:
    async with listing(shop()) as lister:
        entry = lister.entry("a1", namespace="one")
        assert entry is not None
        with pytest.raises(FrozenError):
            entry.labels["app"] = "stolen"  # type: ignore[index]
        with pytest.raises(AttributeError):
            entry.key = "stolen"  # type: ignore[misc]
        entry.metadata.labels["app"] = "mine"  # the metadata is the reader's own
        assert names(lister.list(labels="app=web")) == ["a1", "a2"]


@virtual
async def test_objects_without_a_class_are_the_readers_own() -> None:
    server = FakeServer()
    server.put(config_map("a", data={"k": "v"}))
    async with listing(server, dynamic("v1", "ConfigMap", plural="configmaps", namespaced=True)) as lister:
        for _ in range(4):
            lister.get("a", namespace="default")["data"]["k"] = "mine"
            lister.list()[0].raw.clear()
            assert lister.get("a", namespace="default")["data"] == {"k": "v"}


@virtual
async def test_metadata_alone_is_read_as_metadata() -> None:
    async with listing(shop(), metadata_of(Pod)) as lister:
        assert lister.get("a1", namespace="one").metadata.labels == {"app": "web", "tier": "front"}
        assert names(lister.list(labels="app=web")) == ["a1", "a2"]


@virtual
async def test_what_does_not_fit_its_class_is_left_out_of_lists_and_logged_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    server = shop()
    odd = pod("odd", "one", labels={"app": "web"})
    odd["spec"]["containers"] = "none"
    server.put(odd)
    async with listing(server) as lister:
        for _ in range(3):
            assert names(lister.list(labels="app=web")) == ["a1", "a2"]
            assert len(lister.entries(labels="app=web")) == 3
        [record] = caplog.records
        assert "Pod one/odd does not fit Pod" in record.getMessage()
        with pytest.raises(Undecodable, match="Pod one/odd does not fit Pod"):
            lister.get("odd", namespace="one")
        assert lister.get("odd", namespace="one", view=Names) is not None
        server.put(odd)  # another version: worth another line
        await asyncio.sleep(0.01)
        lister.list()
        lister.list()
        assert len(caplog.records) == 2


@virtual
async def test_what_is_read_often_is_given_again_until_it_changes() -> None:
    server = shop()
    async with listing(server) as lister:
        first, second, third = (lister.get("a1", namespace="one") for _ in range(3))
        assert first is not second
        assert second is third
        assert lister.get("a1", namespace="one", view=Names) is not third
        server.touch("one/a1", "newer")
        await asyncio.sleep(0.01)
        for _ in range(3):
            assert lister.get("a1", namespace="one").spec.containers[0].image == "newer"

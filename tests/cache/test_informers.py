"""All informers of a process: what is shared, what is in the way, and how they end."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from tests.cache.fakeserver import FakeServer
from tests.cache.informing import Told, informing
from tests.cache.samples import FORBIDDEN, config_map, pod, virtual

from trimtab.cache import NotSynced, NotWatched
from trimtab.client import Unreachable
from trimtab.errors import TrimtabError
from trimtab.kube.core.v1 import ConfigMap, Node, Pod
from trimtab.kube.dynamic import dynamic
from trimtab.kube.partial import metadata_of
from trimtab.kube.selectors import Selector


def strip(obj: dict[str, Any]) -> dict[str, Any]:
    obj.pop("spec", None)
    return obj


def appends(obj: dict[str, Any]) -> dict[str, Any]:
    obj["metadata"]["labels"] = {"n": obj["metadata"].get("labels", {}).get("n", "") + "x"}
    return obj


@virtual
async def test_there_is_one_watch_per_kind_namespace_and_selector_however_many_ask() -> None:
    server = FakeServer(Pod, ConfigMap, Node)
    async with informing(server) as informers:
        asked: list[dict[str, Any]] = [
            {"kind": Pod},
            {"kind": Pod, "labels": "app=web"},
            {"kind": Pod, "labels": "app=web,tier=db"},
            {"kind": Pod, "fields": "spec.nodeName=n1"},
            {"kind": Pod, "namespaces": ["one"]},
            {"kind": Pod, "namespaces": ["one", "two"]},
            {"kind": Pod, "namespaces": "two"},
            {"kind": metadata_of(Pod)},
            {"kind": ConfigMap},
            {"kind": Node},
        ]
        for each in asked * 3:
            informers.informer(**each)
        # The same selectors, written in other ways.
        informers.informer(Pod, labels={"app": "web"})
        informers.informer(Pod, labels=Selector.parse("tier=db, app=web"))
        informers.informer(Pod, fields={"spec.nodeName": "n1"})
        informers.informer(Pod, namespaces=("two", "one"))
        await informers.synced()
        assert len(server.requests) == len(informers.watches) == 9  # one and two are shared


@virtual
async def test_those_who_share_a_watch_are_told_each_and_one_who_leaves_does_not_end_it() -> None:
    server = FakeServer()
    server.put(pod("a", "one"))
    server.put(pod("b", "two"))
    async with informing(server) as informers:
        both, one = informers.informer(Pod, namespaces=["one", "two"]), informers.informer(Pod, namespaces=["one"])
        told, told_too = Told(both), Told(one)
        await informers.synced()
        await asyncio.sleep(0.1)
        one.close()
        server.put(pod("c", "one"))
        await asyncio.sleep(0.1)
        assert sorted(told.all()) == ["+a*", "+b*", "+c"]
        assert told_too.all() == ["+a*"]
        assert len(server.watches) == 2
        both.close()
        await asyncio.sleep(0.1)
        assert server.watches == []
        assert informers.watches == ()


@virtual
async def test_namespaces_that_one_user_changes_stay_as_they_are_for_another() -> None:
    """Two ask for the same; one of them moves on."""
    server = FakeServer()
    server.put(pod("a", "one"))
    server.put(pod("b", "two"))
    async with informing(server) as informers:
        moving = informers.informer(Pod, namespaces=["one"])
        moving.look_in(["two"])
        staying = informers.informer(Pod, namespaces=["one"])
        await informers.synced()
        assert [p.metadata.name for p in staying.lister.list(namespace="one")] == ["a"]
        assert [p.metadata.name for p in moving.lister.list(namespace="two")] == ["b"]


@virtual
async def test_a_selector_selects_what_is_watched() -> None:
    server = FakeServer()
    server.put(pod("a", labels={"app": "web"}))
    server.put(pod("b", labels={"app": "db"}))
    async with informing(server) as informers:
        informer = informers.informer(Pod, labels="app=web")
        told = Told(informer)
        await informers.synced()
        server.change_label("default/b", "web")
        server.change_label("default/a", "db")  # it leaves the selector: for this watch it is gone
        await asyncio.sleep(0.1)
        assert told.all() == ["+a*", "+b", "-a"]
        assert [p.metadata.name for p in informer.lister.list()] == ["b"]


@virtual
async def test_a_selector_of_nothing_is_refused_at_once() -> None:
    async with informing(FakeServer()) as informers:
        with pytest.raises(TrimtabError, match="selects nothing"):
            informers.informer(Pod, labels=Selector.nothing())


@virtual
async def test_what_does_not_sync_in_time_is_named_with_the_reason() -> None:
    server = FakeServer()
    server.always = {"watchlist": FORBIDDEN, "list": FORBIDDEN}
    server.served.pop("configmaps")
    async with informing(server) as informers:
        informers.informer(Pod, namespaces=["shop"], labels="app=web")
        informers.informer(ConfigMap)
        with pytest.raises(NotSynced) as caught:
            await informers.synced(30)
        assert asyncio.get_running_loop().time() == pytest.approx(30, abs=1)
        text = str(caught.value)
        assert text.startswith("not read within 30 s: ")
        assert "pods in shop with app=web (cannot list pods in shop: Forbidden (403): pods is forbidden)" in text
        assert "configmaps (cannot" in text
        assert "\n" not in text


@virtual
async def test_a_server_that_says_nothing_is_a_reason_too() -> None:
    server = FakeServer()
    server.put(pod("a"))
    server.on_watch = lambda watch: watch.stall_before_the_end()
    async with informing(server) as informers:
        informers.informer(Pod)
        with pytest.raises(NotSynced, match=r"^not read within 5 s: pods \(the server has not sent all of it yet\)$"):
            await informers.synced(5)


@virtual
async def test_waiting_covers_what_is_asked_for_meanwhile() -> None:
    server = FakeServer()
    server.next["watchlist"].extend([3.0, None, 20.0])
    async with informing(server) as informers:
        informers.informer(Pod)
        waiting = asyncio.create_task(informers.synced())
        await asyncio.sleep(1)
        later = informers.informer(ConfigMap)
        await waiting
        assert later.has_synced


@virtual
async def test_one_watch_has_one_transform() -> None:
    server = FakeServer()
    server.put(pod("a"))
    async with informing(server) as informers:
        informer = informers.informer(Pod, transform=strip)
        informers.informer(Pod, transform=strip)
        for namespaces in (None, ["default"]):
            if namespaces:
                informers.informer(Pod, namespaces=namespaces, transform=strip)
            with pytest.raises(TrimtabError, match=r"^pods.* is watched already, with another transform$"):
                informers.informer(Pod, namespaces=namespaces)
        await informers.synced()
        assert b"containers" not in informer.lister.entries()[0].json()


@virtual
async def test_an_informer_that_cannot_be_made_leaves_nothing_behind() -> None:
    server = FakeServer()
    async with informing(server) as informers:
        informers.informer(Pod, namespaces=["m"], transform=strip)
        with pytest.raises(TrimtabError, match="another transform"):
            informers.informer(Pod, namespaces=["a", "b", "m", "y", "z"])
        assert [str(watched.scope) for watched in informers.watches] == ["pods in m"]


@virtual
async def test_a_transform_has_to_be_idempotent() -> None:
    server = FakeServer()
    server.put(pod("a"))

    async def use() -> None:
        async with informing(server) as informers:
            informers.informer(Pod, transform=appends)
            await informers.synced()

    with pytest.raises(TrimtabError, match=r"^the transform of Pod changes what it has changed already"):
        await use()


@virtual
async def test_a_closed_informer_is_not_among_all() -> None:
    async with informing(FakeServer()) as informers:
        kept, closed = informers.informer(Pod), informers.informer(Pod)
        closed.close()
        assert informers.all == (kept,)


@virtual
async def test_namespaces_of_a_kind_that_has_none_are_an_error() -> None:
    async with informing(FakeServer(Node)) as informers:
        with pytest.raises(TrimtabError, match="Node lives in no namespace: leave namespaces out"):
            informers.informer(Node, namespaces=["one"])


@virtual
async def test_nothing_runs_outside_of_the_block() -> None:
    server = FakeServer()
    server.put(pod("a"))
    informers = informing(server)
    with pytest.raises(TrimtabError, match="the informers do not run: ask for them inside of"):
        informers.informer(Pod)
    async with informers:
        told = Told(informers.informer(Pod), resync=5)
        await informers.synced()
        await asyncio.sleep(0.1)
    assert len(asyncio.all_tasks()) == 1
    assert server.watches == []
    server.put(pod("b"))
    await asyncio.sleep(100)
    assert told.all() == ["+a*"]


@virtual
async def test_health_says_of_each_watch_when_it_heard_and_what_is_in_the_way() -> None:
    server = FakeServer()
    server.put(pod("a"))
    async with informing(server) as informers:
        informers.informer(Pod)
        await informers.synced()
        await asyncio.sleep(30)
        server.served.pop("configmaps")
        informers.informer(ConfigMap, namespaces="shop")
        await asyncio.sleep(10)
        well, ill = informers.health()
        assert (str(well.scope), well.synced, well.problem) == ("pods", True, "")
        assert well.heard == pytest.approx(40, abs=0.1)
        assert (str(ill.scope), ill.synced) == ("configmaps in shop", False)
        assert ill.heard is not None
        assert ill.heard < 10  # a refusal is a word of the server too
        assert "configmaps in shop" in ill.problem
        server.always["watch"] = Unreachable("connection refused")
        server.watches[0].cut()
        await asyncio.sleep(200)
        well, _ = informers.health()
        assert (well.synced, well.problem) == (True, "connection refused")
        assert well.heard == pytest.approx(240, abs=0.1)


@virtual
async def test_kinds_without_a_class_are_watched_as_any_other() -> None:
    server = FakeServer()
    kind = dynamic("v1", "ConfigMap")
    server.put(config_map("a", data={"k": "v"}))
    async with informing(server) as informers:
        informer = informers.informer(kind)
        told = Told(informer)
        await informers.synced()
        await asyncio.sleep(0.1)
        found = informer.lister.get("a", namespace="default")
        assert found is not None
        assert found["data"] == {"k": "v"}
        assert told.all() == ["+a*"]
        with pytest.raises(NotWatched):
            informers.informer(Pod, namespaces=["x"]).lister.list(namespace="y")

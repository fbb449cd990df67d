"""Informers: semantics.md's section Shared informer, a sentence a test.

| sentence | test |
| --- | --- |
| one watch per kind, namespace, selector | test_informers |
| on_add, on_update, on_delete; tombstones | test_handlers_are_told..., test_what_vanished_unseen... |
| serial and in order; a slow one delays nobody; the backlog can be seen | test_a_slow_handler..., test_handlers |
| late handlers get synthetic adds | test_a_late_handler... |
| has_synced per informer and per handler | test_has_synced... |
| handlers can be removed | test_a_handler_that_is_removed..., test_removing... |
| resync | test_resync... |
| a handler that raises | test_handlers |
| the set of namespaces changes | test_namespaces... |
"""

from __future__ import annotations

import asyncio
from itertools import pairwise
from typing import Any

import pytest
from tests.cache.fakeserver import FakeServer
from tests.cache.informing import Told, informing
from tests.cache.samples import pod, virtual

from trimtab.cache import DeletedFinalStateUnknown
from trimtab.errors import TrimtabError
from trimtab.kube.core.v1 import Pod


def server_with(*names: str, namespace: str = "default") -> FakeServer:
    server = FakeServer()
    for name in names:
        server.put(pod(name, namespace))
    return server


@virtual
async def test_handlers_are_told_of_what_was_there_and_of_what_changes() -> None:
    server = server_with("a", "b")
    async with informing(server) as informers:
        informer = informers.informer(Pod)
        told = Told(informer)
        await asyncio.sleep(0.1)
        assert told.new() == ["+a*", "+b*"]
        server.put(pod("c"))
        server.touch("default/a", "other")
        server.delete("default/b")
        await asyncio.sleep(0.1)
        assert told.new() == ["+c", "~a", "-b"]
        old, new = told.updates[0]
        assert (old.read().spec.containers[0].image, new.read().spec.containers[0].image) == ("nginx", "other")


@virtual
async def test_what_vanished_unseen_is_told_of_with_its_last_known_state() -> None:
    server = server_with("a", "b", "c")
    async with informing(server) as informers:
        told = Told(informers.informer(Pod))
        await asyncio.sleep(2)
        server.watches[0].silent = True
        server.touch("default/a", "never seen")
        server.delete("default/a")
        server.delete("default/b")
        server.put(pod("b"))  # with another uid
        server.touch("default/c", "other")
        server.put(pod("d"))
        server.compact()
        told.new()
        await asyncio.sleep(80)
        assert set(told.new()) == {"-a?", "-b?", "+b", "~c", "+d"}
        assert told.all().index("-b?") < told.all().index("+b")
        lost = told.deleted[0]
        assert isinstance(lost, DeletedFinalStateUnknown)
        assert (lost.key, lost.last.read().spec.containers[0].image) == ("default/a", "nginx")


@virtual
async def test_a_slow_handler_delays_neither_the_others_nor_the_cache() -> None:
    server = server_with("a")
    async with informing(server) as informers:
        informer = informers.informer(Pod)
        slow = informer.add_handler(on_add=lambda *_: asyncio.sleep(1000))
        told = Told(informer)
        await asyncio.sleep(0.1)
        for n in range(300):
            server.put(pod(f"p{n}"))
        await asyncio.sleep(0.1)
        assert len(told.all()) == len(informer.lister.list()) == 301
        assert slow.backlog == 301
        assert told.registration.backlog == 0
        server.delete("default/p7")
        await asyncio.sleep(0.1)
        assert told.all()[-1] == "-p7"
        assert informer.lister.get("p7", namespace="default") is None


@virtual
async def test_a_late_handler_is_told_of_what_there_is_and_then_of_the_changes() -> None:
    server = server_with("a")
    async with informing(server) as informers:
        informer = informers.informer(Pod)
        early = Told(informer)
        await asyncio.sleep(0.1)
        server.put(pod("b"))
        await asyncio.sleep(0.1)
        late = Told(informer)
        assert not late.registration.has_synced
        server.delete("default/a")
        await asyncio.sleep(0.1)
        assert late.registration.has_synced
        assert late.all() == ["+a*", "+b*", "-a"]
        assert early.all() == ["+a*", "+b", "-a"]
        assert server.verbs() == ["watchlist"]


@virtual
async def test_has_synced_is_of_the_informer_and_of_each_handler() -> None:
    server = server_with("a", "b")
    server.next["watchlist"].append(5.0)
    async with informing(server) as informers:
        informer = informers.informer(Pod)
        quick = informer.add_handler(on_add=lambda *_: None)
        slow = informer.add_handler(on_add=lambda *_: asyncio.sleep(1))
        await asyncio.sleep(4)
        assert (informer.has_synced, quick.has_synced, slow.has_synced) == (False, False, False)
        await asyncio.wait_for(informer.synced(), 2)
        await asyncio.sleep(0.5)
        assert (informer.has_synced, quick.has_synced, slow.has_synced) == (True, True, False)
        await asyncio.sleep(2)
        assert slow.has_synced


@virtual
async def test_a_kind_without_objects_syncs_too() -> None:
    async with informing(FakeServer()) as informers:
        informer = informers.informer(Pod)
        told = Told(informer)
        await asyncio.wait_for(informer.synced(), 1)
        assert told.registration.has_synced
        assert told.all() == []


@virtual
async def test_a_handler_that_is_removed_is_told_no_more_not_even_what_waits_for_it() -> None:
    server = server_with("a", "b", "c")
    async with informing(server) as informers:
        informer = informers.informer(Pod)
        seen: list[str] = []

        async def slow(obj: Any, initial: bool) -> None:
            await asyncio.sleep(1)
            seen.append(obj.name)

        removed, kept = informer.add_handler(on_add=slow, resync=10), Told(informer)
        await asyncio.sleep(1.5)
        removed.remove()
        server.put(pod("d"))
        await asyncio.sleep(100)
        assert seen == ["a"]
        assert kept.all() == ["+a*", "+b*", "+c*", "+d"]


@virtual
async def test_a_handler_may_remove_itself() -> None:
    server = server_with("a", "b", "c")
    async with informing(server) as informers:
        informer = informers.informer(Pod)
        seen: list[str] = []

        def once(obj: Any, initial: bool) -> None:
            seen.append(obj.name)
            registration.remove()

        registration = informer.add_handler(on_add=once)
        await asyncio.sleep(1)
        assert seen == ["a"]


@virtual
async def test_removing_a_handler_twice_is_removing_it_once() -> None:
    server = server_with("a")
    async with informing(server) as informers:
        told = Told(informers.informer(Pod))
        told.registration.remove()
        told.registration.remove()
        await asyncio.sleep(1)
        assert told.all() == []


@virtual
async def test_a_handler_without_a_function_is_an_error() -> None:
    async with informing(FakeServer()) as informers:
        with pytest.raises(TrimtabError, match="a handler of Pod wants one function at least, such as on_update"):
            informers.informer(Pod).add_handler()


@virtual
async def test_resync_tells_of_all_as_updated_to_those_who_asked_and_asks_the_server_nothing() -> None:
    server = server_with("a", "b")
    async with informing(server) as informers:
        informer = informers.informer(Pod)
        told, other = Told(informer, resync=100), Told(informer)
        await asyncio.sleep(1)
        told.new()
        dice = [told.times[0]]
        for _ in range(20):
            await asyncio.sleep(111)
            dice += sorted({time for time in told.times if time > dice[-1]})[:1]
        assert set(told.new()) == {"=a", "=b"}
        assert other.all() == ["+a*", "+b*"]
        assert all(new is old for old, new in told.updates)
        assert "list" not in server.verbs()
        assert server.verbs().count("watchlist") == 1
        periods = [b - a for a, b in pairwise(sorted(set(told.times)))][1:]
        assert all(90 <= period <= 110 for period in periods)
        assert max(periods) - min(periods) > 10  # spread


@virtual
async def test_resync_waits_for_the_first_state() -> None:
    server = server_with("a")
    server.next["watchlist"].append(50.0)
    async with informing(server) as informers:
        told = Told(informers.informer(Pod), resync=20)
        await asyncio.sleep(49)
        assert told.all() == []
        await asyncio.sleep(30)
        assert told.all()[:2] == ["+a*", "=a"]


# Namespaces


@virtual
async def test_namespaces_are_watched_one_by_one_and_read_as_one() -> None:
    server = server_with("a", namespace="one")
    server.put(pod("b", "two"))
    server.put(pod("c", "three"))
    async with informing(server) as informers:
        informer = informers.informer(Pod, namespaces=["one", "two"])
        told = Told(informer)
        await informer.synced()
        await asyncio.sleep(0.1)
        assert sorted(asked.namespace for asked in server.requests) == ["one", "two"]
        assert informer.namespaces == {"one", "two"}
        assert sorted(told.all()) == ["+a*", "+b*"]
        assert told.registration.has_synced
        assert sorted(p.metadata.name for p in informer.lister.list()) == ["a", "b"]


@virtual
async def test_namespaces_change_while_it_runs() -> None:
    server = server_with("a", namespace="one")
    server.put(pod("b", "two"))
    server.put(pod("c", "three"))
    async with informing(server) as informers:
        informer = informers.informer(Pod, namespaces=["one", "two"])
        informer.add_index("by-name", lambda entry: [entry.name])
        told = Told(informer)
        await asyncio.sleep(0.1)
        told.new()
        informer.look_in(["two", "three"])
        assert not informer.has_synced
        assert not told.registration.has_synced
        await informer.synced()
        await asyncio.sleep(0.1)
        assert sorted(told.new()) == ["+c*", "-a?"]
        assert [asked.namespace for asked in server.requests] == ["one", "two", "three"] or server.verbs() == [
            "watchlist"
        ] * 3
        assert sorted(watch.asked.namespace for watch in server.watches) == ["three", "two"]
        assert [p.metadata.name for p in informer.lister.list(index=("by-name", "c"))] == ["c"]
        assert sorted(p.metadata.name for p in informer.lister.list()) == ["b", "c"]
        server.put(pod("d", "three"))
        server.put(pod("e", "one"))
        await asyncio.sleep(0.1)
        assert told.new() == ["+d"]


@virtual
async def test_who_waits_for_the_first_state_does_not_wait_for_a_namespace_that_is_left_out_meanwhile() -> None:
    server = server_with("a", namespace="one")
    server.next["watchlist"].extend([None, 1e6])
    async with informing(server) as informers:
        informer = informers.informer(Pod, namespaces=["one", "two"])
        waiting = asyncio.create_task(informer.synced()), asyncio.create_task(informers.synced(500))
        await asyncio.sleep(1)
        [stuck] = [w.scope.namespace for w in informers.watches if not w.synced.is_set()]
        informer.look_in({"one", "two"} - {stuck})
        await asyncio.sleep(100)
        assert [task.done() for task in waiting] == [True, True]
        for task in waiting:
            task.result()


# Indexes


@virtual
async def test_indexes_are_added_at_any_time_and_a_second_of_the_same_name_is_an_error() -> None:
    server = server_with("a", "b")
    async with informing(server) as informers:
        informer = informers.informer(Pod)
        informer.add_index("image", lambda entry: [entry.read().spec.containers[0].image])
        await informer.synced()
        informer.add_index("first-letter", lambda entry: [entry.name[0]])
        assert [p.metadata.name for p in informer.lister.list(index=("first-letter", "b"))] == ["b"]
        server.touch("default/a", "other")
        await asyncio.sleep(0.1)
        assert [p.metadata.name for p in informer.lister.list(index=("image", "other"))] == ["a"]
        assert [p.metadata.name for p in informer.lister.list(index=("image", "nginx"))] == ["b"]
        with pytest.raises(TrimtabError, match="Pod has an index 'image' already: give another name"):
            informer.add_index("image", lambda _: [])
        with pytest.raises(TrimtabError, match="there is no index 'labels'"):
            informer.lister.list(index=("labels", "x"))


@virtual
async def test_a_closed_informer_gives_back_its_watch_and_may_be_asked_for_again() -> None:
    server = server_with("a")
    async with informing(server) as informers:
        informer = informers.informer(Pod)
        told = Told(informer, resync=10)
        await informer.synced()
        informer.close()
        await asyncio.sleep(0.1)
        assert server.watches == []
        before = len(told.all())
        server.put(pod("b"))
        await asyncio.sleep(100)
        assert len(told.all()) == before
        again = informers.informer(Pod)
        await asyncio.wait_for(again.synced(), 1)
        assert sorted(p.metadata.name for p in again.lister.list()) == ["a", "b"]

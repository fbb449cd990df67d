"""What the cache says of itself to Prometheus."""

from __future__ import annotations

import asyncio

from prometheus_client import CollectorRegistry
from tests.cache.feeding import server_with
from tests.cache.informing import informing
from tests.cache.samples import EXPIRED, config_map, pod, virtual

from trimtab.cache import Cached
from trimtab.cache.metrics import CacheCollector
from trimtab.kube.core.v1 import ConfigMap, Pod
from trimtab.kube.meta.v1 import ObjectMeta


@virtual
async def test_metrics_say_what_is_kept_and_how_its_watch_is_doing() -> None:
    server = server_with("a", "b")
    async with informing(server) as informers:
        registry = CollectorRegistry()
        registry.register(CacheCollector(informers))

        def value(name: str) -> float | None:
            scope = {"kind": "Pod", "scope": str(informers.watches[0].scope)}
            return registry.get_sample_value(f"trimtab_cache_{name}", scope)

        informer = informers.informer(Pod)
        assert (value("synced"), value("objects"), value("heard_seconds")) == (0, 0, None)
        await informers.synced()
        assert (value("synced"), value("objects"), value("loads_total")) == (1, 2, 1)
        assert value("bytes") == sum(len(entry.data) for entry in informer.lister.entries())
        before = value("events_total") or 0
        server.put(pod("c"))
        [stream] = server.watches
        stream.tell("ADDED", {**config_map("no Pod"), "metadata": {"name": "x", "resourceVersion": "99"}})
        await asyncio.sleep(1)
        assert (value("objects"), value("heard_seconds")) == (3, 1)
        assert ((value("events_total") or 0) - before, value("skipped_total")) == (2, 1)
        stream.refuse(EXPIRED)
        await asyncio.sleep(1)
        assert value("loads_total") == 2
        server.watches[-1].silent = True
        await asyncio.sleep(80)
        assert value("stalls_total") == 1
        assert registry.get_sample_value("trimtab_cache_hot_bytes") == informers.hot.size


@virtual
async def test_metrics_say_how_far_handlers_are_behind_and_how_often_they_failed() -> None:
    server = server_with("a", "b", "c")
    async with informing(server) as informers:
        registry = CollectorRegistry()
        registry.register(CacheCollector(informers))

        async def slow(_new: Cached[Pod], _initial: bool) -> None:
            await asyncio.sleep(10)
            raise ValueError("no")

        informer = informers.informer(Pod)
        for _ in range(2):  # of the same name: they count together
            informer.add_handler(on_add=slow, name="slow")
        who = {"kind": "Pod", "handler": "slow"}
        for seconds, backlog, failures in ((1, 6, 0), (10, 4, 2), (20, 0, 6)):
            await asyncio.sleep(seconds)
            assert registry.get_sample_value("trimtab_handler_backlog", who) == backlog
            assert registry.get_sample_value("trimtab_handler_failures_total", who) == failures


@virtual
async def test_metrics_say_how_far_writes_are_ahead_of_the_watch() -> None:
    server = server_with("a")
    async with informing(server) as informers:
        registry = CollectorRegistry()
        registry.register(CacheCollector(informers))
        informers.informer(ConfigMap)
        await informers.synced()
        scope = {"kind": "ConfigMap", "scope": str(informers.watches[0].scope)}
        server.watches[0].silent = True
        await informers.client.create(ConfigMap(metadata=ObjectMeta(name="b", namespace="default")))
        assert registry.get_sample_value("trimtab_cache_ahead", scope) == 1
        assert registry.get_sample_value("trimtab_cache_objects", scope) == 0

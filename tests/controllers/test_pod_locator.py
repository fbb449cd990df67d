"""pod-locator at work on a server in memory: once for each Pod, in the log and in the metrics."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import pytest
from prometheus_client import CollectorRegistry
from tests.cache.samples import Obj, merged, pod, virtual
from tests.controller.apiserver import ApiServer
from tests.controller.working import working

from trimtab.controller import Options
from trimtab.controllers.pod_locator import Located, app


def on(node: str, name: str, **more: Any) -> Obj:
    return merged(pod(name, **more), {"spec": {"nodeName": node}})


def located(log: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in log.records if record.getMessage().startswith("located")]


def test_each_pod_is_located_once(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)

    @virtual
    async def run() -> None:
        server, options, registry = ApiServer(), Options(), CollectorRegistry()
        registry.register(options.once(Located))

        def metric(name: str, node: str) -> float | None:
            return registry.get_sample_value(f"trimtab_pod_locator_{name}", {"node": node})

        server.put(on("n1", "there"))
        server.put(pod("waiting"))
        async with working(app, server, options=options) as controllers:
            assert len(located(caplog)) == 1
            assert "pod='there'" in located(caplog)[0]
            assert "node='n1'" in located(caplog)[0]
            server.put(on("n1", "waiting"))
            await asyncio.sleep(1)
            for _ in range(60):  # changes and resyncs are no news
                server.touch("default/there", "nginx:2")
                controllers.queues["pod-locator"].add("default/waiting")
                await asyncio.sleep(1)
            assert len(located(caplog)) == 2
            assert (metric("located_total", "n1"), metric("pods", "n1")) == (2, 2)
            server.delete("default/there")
            await asyncio.sleep(1)
            assert (metric("located_total", "n1"), metric("pods", "n1")) == (2, 1)
            server.put(on("n2", "there"))  # another one of its name
            await asyncio.sleep(1)
            assert (metric("located_total", "n2"), metric("pods", "n2")) == (1, 1)
        assert len(located(caplog)) == 3
        assert server.writes == []

    run()


def test_one_that_is_made_anew_unseen_is_another() -> None:
    here = Located(Options())
    assert here.locate("shop/a", "uid-1", "n1")
    assert not here.locate("shop/a", "uid-1", "n1")
    assert here.locate("shop/a", "uid-2", "n1")
    assert here.counts == {"n1": 2}

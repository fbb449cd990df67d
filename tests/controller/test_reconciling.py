"""The loop: which keys come to a reconciler, when again, and what it counts."""

from __future__ import annotations

import asyncio

from tests.cache.fakeserver import FakeServer
from tests.cache.samples import config_map, virtual
from tests.controller.working import working

from trimtab.controller import App, Context
from trimtab.kube.core.v1 import ConfigMap


@virtual
async def test_each_object_is_looked_at_once_when_it_is_there_and_once_for_each_change() -> None:
    app, seen = App("app"), []

    @app.controller(ConfigMap)
    async def look(cm: ConfigMap, ctx: Context) -> None:
        seen.append((ctx.key, cm.data, str(ctx.causes)))

    server = FakeServer()
    server.put(config_map("a", data={"x": "1"}))
    async with working(app, server) as controllers:
        server.put(config_map("a", data={"x": "2"}))
        await asyncio.sleep(1)
        assert seen == [
            ("default/a", {"x": "1"}, "ConfigMap default/a: initial"),
            ("default/a", {"x": "2"}, "ConfigMap default/a: spec"),
        ]
        assert controllers.numbers["look"].results["success"] == 2

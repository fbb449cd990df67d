"""10,000 objects at the start, and somebody who changes one now: they do not wait for the rest."""

from __future__ import annotations

import asyncio
import time

from trimtab.client import Client, MergePatch
from trimtab.controller import App, Context
from trimtab.kube.core.v1 import ConfigMap
from trimtab.testing.control_plane import ControlPlane

from .cache_helpers import config_map, until
from .controller_helpers import at_work

OBJECTS = 10_000
A_LOOK = 0.005  # seconds: with two workers, all of them take 25


async def fill(client: Client) -> None:
    names = iter(range(OBJECTS))

    async def create() -> None:
        for number in names:
            await client.create(config_map(f"cm-{number:05}"))

    await asyncio.gather(*(create() for _ in range(16)))


async def test_a_change_that_somebody_makes_now_is_looked_at_within_a_second(
    client: Client, control_plane: ControlPlane
) -> None:
    app, looked, changed = App("backlog"), set[str](), dict[str, float]()

    @app.controller(ConfigMap, workers=2)
    async def look(cm: ConfigMap, ctx: Context) -> None:
        looked.add(ctx.name)
        if "by" in cm.data:
            changed.setdefault(ctx.name, time.monotonic())
        await asyncio.sleep(A_LOOK)

    await fill(client)
    async with at_work(app, control_plane, client.namespace) as controllers:
        await until(lambda: looked)
        waited: list[float] = []
        for number in range(OBJECTS - 1, OBJECTS - 11, -1):
            name, began = f"cm-{number:05}", time.monotonic()
            await client.patch(ConfigMap, name, MergePatch({"data": {"by": "a person"}}))
            await until(lambda name=name: name in changed)  # type: ignore[misc]
            waited.append(changed[name] - began)
        assert len(looked) < OBJECTS // 2, "they were to be changed while the rest waits"
        assert max(waited) < 1.0
        await until(lambda: len(looked) == OBJECTS, 120)
        assert controllers.numbers["look"].results["error"] == 0

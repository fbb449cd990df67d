"""An app at work on a fake server, in virtual time."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from random import Random
from typing import Any

from tests.cache.fakeserver import FakeServer
from tests.cache.informing import informing

from trimtab.cache import Informers
from trimtab.controller import App, Controllers


@dataclass
class Events:
    """An event sink that remembers."""

    told: list[tuple[str, str, str, str]] = field(default_factory=list)

    def event(self, regarding: Any, type: str, reason: str, note: str, **_: Any) -> None:  # noqa: A002
        self.told.append((regarding.metadata.name, type, reason, note))


def controllers_of(app: App, informers: Informers, **options: Any) -> Controllers:
    clock = asyncio.get_running_loop().time
    return Controllers(app, informers, clock=clock, random=Random(1).random, **options)


@asynccontextmanager
async def running(
    app: App, server: FakeServer, **options: Any
) -> AsyncIterator[tuple[Controllers, asyncio.Task[None]]]:
    """The app at work, and the task that it runs in."""
    async with informing(server) as informers:
        controllers = controllers_of(app, informers, **options)
        controllers.start()
        task = asyncio.create_task(controllers.run())
        await controllers.synced()
        await asyncio.sleep(0.5)
        yield controllers, task


@asynccontextmanager
async def working(app: App, server: FakeServer, **options: Any) -> AsyncIterator[Controllers]:
    """The app, at work until the end of the block."""
    async with running(app, server, **options) as (controllers, task):
        try:
            yield controllers
            assert not task.done(), "it must go on until it is stopped"
        finally:
            controllers.stop()
            await task

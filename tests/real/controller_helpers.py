"""An app at work on a real control plane, and what it asked of it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from trimtab.cache import Informers
from trimtab.client import Client, HttpTransport, load_config
from trimtab.controller import App, Controllers
from trimtab.testing.control_plane import ControlPlane

from .cache_helpers import Recording

WRITES = ("create", "update", "patch", "delete")


class At(Controllers):
    """Controllers, with the requests that they make."""

    requests: Recording

    def writes(self) -> list[str]:
        return [
            f"{request.verb} {request.path.partition('?')[0].rpartition('/namespaces/')[2]}" for request in self.sent
        ]

    @property
    def sent(self) -> list[Any]:
        return [request for request in self.requests.asked if request.verb in WRITES]


@asynccontextmanager
async def at_work(app: App, control_plane: ControlPlane, namespace: str, **options: Any) -> AsyncIterator[At]:
    """The app, at work in one namespace until the end of the block, with a client of its own."""
    recording = Recording(HttpTransport(load_config(control_plane.kubeconfig())))
    async with Client(recording, namespace=namespace) as client, Informers(client) as informers:
        controllers = At(app, informers, namespaces=[namespace], **options)
        controllers.requests = recording
        controllers.start()
        running = asyncio.create_task(controllers.run())
        await controllers.synced(30)
        try:
            yield controllers
            assert not running.done(), "it must go on until it is stopped"
        finally:
            controllers.stop()
            await running

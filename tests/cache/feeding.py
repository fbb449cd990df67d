"""A feed with its store, and what it delivered: for the tests of the feed."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from random import Random
from typing import Any

from tests.cache.fakeserver import FakeServer
from tests.cache.samples import pod

from trimtab.cache.feed import Feed, Scope
from trimtab.cache.intake import Intake
from trimtab.cache.reflector import Reflector
from trimtab.cache.store import Change, Store
from trimtab.client import Client
from trimtab.kube.core.v1 import Pod
from trimtab.kube.partial import PARTIAL, MetadataOnly
from trimtab.packing import Packer


class Fed:
    """A feed with its store, and what it delivered."""

    def __init__(self, server: Any, kind: type[Any] = Pod, **scope: Any) -> None:
        self.server = server
        self.store: Store[Any] = Store()
        self.delivered: list[tuple[list[Change[Any]], bool]] = []
        calls_itself = PARTIAL if issubclass(kind, MetadataOnly) else kind.resource
        intake = Intake(kind, calls_itself, self.store.indexer, Packer())
        clock = asyncio.get_running_loop().time
        self.feed = Feed(
            Client(server, random=lambda: 0.5),
            Scope(kind, **scope),
            self.store,
            intake,
            Reflector(clock=clock, random=Random(1).random),
            lambda changes, first: self.delivered.append((list(changes), first)),
            clock=clock,
        )

    @property
    def changes(self) -> list[tuple[str, str]]:
        """What it told of: the key, and what became of the object."""
        told = [change for changes, _ in self.delivered for change in changes]
        return [(str((c.new or c.old).key), "+" if c.old is None else "-" if c.new is None else "~") for c in told]

    def is_like_the_server(self) -> bool:
        plural = self.feed._scope.kind.resource.plural or "widgets"
        held = {entry.key: entry.resource_version for entry in self.store}
        return held == {key: obj["metadata"]["resourceVersion"] for key, obj in self.server.current[plural].items()}


@asynccontextmanager
async def feeding(server: Any, kind: type[Any] = Pod, **scope: Any) -> AsyncIterator[Fed]:
    fed = Fed(server, kind, **scope)
    running = asyncio.create_task(fed.feed.run())
    await asyncio.sleep(0.01)
    try:
        yield fed
        assert not running.done(), "it must go on for ever"
    finally:
        running.cancel()
        await asyncio.wait([running])


def server_with(*names: str, **settings: Any) -> FakeServer:
    server = FakeServer()
    for name in names:
        server.put(pod(name))
    for name, value in settings.items():
        assert hasattr(server, name)
        setattr(server, name, value)
    return server

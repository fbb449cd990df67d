"""Watches everything in a cluster, and keeps for each scenario what happened in its namespace, in order."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from tests.scenarios.templates import CLUSTER_WIDE, KINDS

from trimtab.client import Client
from trimtab.kube import dynamic

Json = dict[str, Any]


@dataclass
class Journal:
    """What happened in one namespace, and to what belongs to it of cluster-wide objects."""

    log: list[tuple[str, str, Json]] = field(default_factory=list)
    """Type of the change, word of the kind, object."""
    there: dict[str, dict[str, Json]] = field(default_factory=lambda: defaultdict(dict))
    """By word and name, what there is now."""
    last: float = 0.0
    changed: asyncio.Event = field(default_factory=asyncio.Event)

    def tell(self, change: str, word: str, obj: Json) -> None:
        """Something changed."""
        self.log.append((change, word, obj))
        if change == "DELETED":
            self.there[word].pop(obj["metadata"]["name"], None)
        else:
            self.there[word][obj["metadata"]["name"]] = obj
        self.last = asyncio.get_running_loop().time()
        self.changed.set()

    async def settles(self, quiet: float) -> None:
        """Wait until nothing has happened for so long."""
        clock = asyncio.get_running_loop().time
        since = clock()
        while (left := max(self.last, since) + quiet - clock()) > 0:  # noqa: ASYNC110  # that nothing happens is no event
            await asyncio.sleep(left)


class Journals:
    """One for each namespace that is asked for."""

    def __init__(self) -> None:
        self._by_namespace: dict[str, Journal] = {}

    def of(self, namespace: str) -> Journal:
        """The journal of a namespace, from its first object on if it is asked for before that is made."""
        return self._by_namespace.setdefault(namespace, Journal())

    def tell(self, change: str, word: str, obj: Json) -> None:
        """Something changed somewhere."""
        meta = obj["metadata"]
        namespace = meta.get("namespace") or meta["name"].partition(".")[0]
        if (journal := self._by_namespace.get(namespace)) is not None:
            journal.tell(change, word, obj)


@asynccontextmanager
async def watched(client: Client) -> AsyncIterator[Journals]:
    """Watch all kinds, and hand out the journals."""
    journals = Journals()
    begun = [asyncio.Event() for _ in KINDS]

    async def follow(word: str, ready: asyncio.Event) -> None:
        kind = dynamic(*KINDS[word], namespaced=word not in CLUSTER_WIDE)
        listed = await client.list(kind)
        async with client.watch(kind, resource_version=listed.resource_version) as events:
            ready.set()
            async for event in events:
                journals.tell(event.type, word, event.object.to_wire())

    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(follow(word, ready)) for word, ready in zip(KINDS, begun, strict=True)]
        for ready in begun:
            await ready.wait()
        yield journals
        for task in tasks:
            task.cancel()

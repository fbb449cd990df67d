"""`Cluster`: an API server, the loops of a controller manager, a scheduler and nodes, all in this process."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from trimtab.apiserver.server import Server
from trimtab.apiserver.storage import Database, Store
from trimtab.apiserver.surroundings import Surroundings
from trimtab.client import Client
from trimtab.client.options import LabelQuery
from trimtab.controller import App, Option, Options
from trimtab.errors import TrimtabError
from trimtab.kube.conditions import is_condition_true
from trimtab.kube.core.v1 import Node, ServiceAccount
from trimtab.kube.dynamic import Dynamic
from trimtab.kube.objects import Object
from trimtab.kube.wire import K
from trimtab.local.loops import LOOPS, load_loops
from trimtab.local.loops.kubernetes_service import ApiPort
from trimtab.local.loops.volumes.binding import NAME as VOLUMES
from trimtab.local.loops.volumes.binding import make_default_class
from trimtab.local.nodes.kubelet import add_nodes
from trimtab.local.nodes.kubelet import app as kubelet
from trimtab.local.nodes.logs import Logs
from trimtab.local.scheduling.scheduler import app as scheduler
from trimtab.local.transport import LocalTransport
from trimtab.local.waiting import SECONDS, until, until_all, until_gone
from trimtab.manager import Manager, Part, Phase
from trimtab.manager.lifecycle import Stop

_ACCOUNTS = "serviceaccount-controller"
_NOT_READY = "node.kubernetes.io/not-ready"
_STOP_SECONDS = 2.0  # for a loop to finish what it has in hand: it writes to this process


def _wall() -> datetime:
    return datetime.now(UTC)


class Cluster:
    """A cluster in this process: `async with Cluster(nodes=3) as cluster`, and its loops are at work.

    `apps` run in it beside the loops; there are `nodes` simulated nodes (none: Pods stay pending); `loops` says which
    of those there are (all, unless given), by their names in `LOOPS`. With `data_dir` the objects are kept there.
    `clock` is what loops wait by, `now` what time it is in it. Nothing listens: `cluster.server` can be served over
    HTTPS, and `cluster.transport()` is the way in for our own client.
    """

    def __init__(
        self,
        apps: Iterable[App] = (),
        *,
        nodes: int = 1,
        loops: Iterable[str] | None = None,
        data_dir: Path | None = None,
        options: Mapping[Option[Any], Any] | None = None,
        clock: Callable[[], float] = time.monotonic,
        now: Callable[[], datetime] = _wall,
    ) -> None:
        store = None if data_dir is None else Store(Database(data_dir / "objects.db"))
        self.logs = Logs(now=now)
        """What the containers have said."""
        wanted = LOOPS.keys() if loops is None else set(loops)
        self._has_accounts = _ACCOUNTS in wanted
        self.server = Server(
            store,
            surroundings=Surroundings(now=now),
            nodes=self.logs if nodes else None,
            plugins_on=["ServiceAccount"] if self._has_accounts else (),
        )
        self.client = Client(self.transport())
        """May do everything."""
        self._loops = load_loops(wanted)
        self._apps = [*self._loops.apps, *apps]
        self._nodes = nodes
        self._options = Options(options)
        self._options.put(Logs, self.logs)
        if nodes:
            self._apps += [scheduler, kubelet]
        self._clock = clock
        self._now = now
        self._stopping = asyncio.Event()
        self._running: asyncio.Task[None] | None = None

    def transport(self) -> LocalTransport:
        """A way in for a client, as an administrator."""
        return LocalTransport(self.server)

    async def __aenter__(self) -> Self:
        if self._running is not None:
            raise TrimtabError("this cluster ran already: make another one")
        if (port := self.server.address.rpartition(":")[2]).isdecimal():  # it is served already
            self._options.put(ApiPort, ApiPort(port=int(port)))
        await add_nodes(self.client, self._nodes)
        if any(app.name == VOLUMES for app in self._apps):
            await make_default_class(self.client)
        manager = Manager(
            self._apps,
            self.transport(),
            listen=False,
            options=self._options,
            grace=_STOP_SECONDS,
            clock=self._clock,
            now=self._now,
        )
        for part in self._loops.parts:
            manager.add(Phase.LEADING, part(manager))
        started = asyncio.Event()

        async def say(ready: Callable[[], None], stop: Stop) -> None:
            started.set()
            ready()
            await stop.wait()

        manager.add(Phase.LEADING, Part("cluster", say))
        self._running = asyncio.create_task(manager.run(self._stopping), name="trimtab: cluster")
        waiting = asyncio.create_task(started.wait())
        await asyncio.wait({self._running, waiting}, return_when=asyncio.FIRST_COMPLETED)
        if not started.is_set():
            waiting.cancel()
            self.server.close()
            await self._running
        if self._has_accounts:  # without its account no Pod can be made
            await self.until(ServiceAccount, "default", namespace="default")
        await self._nodes_ready()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._stopping.set()
        try:
            if self._running is not None:
                await self._running
        finally:
            self.server.close()

    async def _nodes_ready(self) -> None:
        """Wait until Pods can be scheduled to the nodes: whoever comes first is not to be told that they cannot."""
        names = {f"node-{number}" for number in range(1, self._nodes + 1)}
        keeps_taints = any(app.name == "node-lifecycle-controller" for app in self._apps)

        def are_ready(nodes: list[Node]) -> bool:
            ours = [node for node in nodes if node.metadata.name in names]
            return all(
                is_condition_true(node.status.conditions, "Ready")
                and not (keeps_taints and any(taint.key == _NOT_READY for taint in node.spec.taints))
                for node in ours
            )

        if names:
            await self.until_all(Node, are_ready)

    async def until(
        self,
        kind: type[K],
        name: str,
        condition: Callable[[K], object] | None = None,
        *,
        namespace: str | None = None,
        timeout: float = SECONDS,
    ) -> K:
        """Wait until an object is there, and the condition holds of it; in `default` unless a namespace is given.

        `await cluster.until(Deployment, "web", lambda d: d.status.ready_replicas == 3)`. Waited says how it was last.
        """
        return await until(self.client, kind, name, condition, namespace=namespace, timeout=timeout)

    async def until_gone(
        self, kind: type[Object | Dynamic], name: str, *, namespace: str | None = None, timeout: float = SECONDS
    ) -> None:
        """Wait until there is no such object."""
        await until_gone(self.client, kind, name, namespace=namespace, timeout=timeout)

    async def until_all(
        self,
        kind: type[K],
        condition: Callable[[list[K]], object],
        *,
        namespace: str | None = None,
        labels: LabelQuery = None,
        timeout: float = SECONDS,
    ) -> list[K]:
        """Wait until the condition holds of all objects that are selected: `lambda pods: len(pods) == 3`."""
        return await until_all(self.client, kind, condition, namespace=namespace, labels=labels, timeout=timeout)

    async def failed(self) -> None:
        """Wait until a loop cannot go on, and raise why; returns when the cluster is stopped."""
        if self._running is not None:
            await asyncio.shield(self._running)

"""Loops at work on the server inside, in virtual time, with a stand-in for all nodes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from contextlib import AsyncExitStack
from datetime import UTC, datetime, timedelta
from random import Random
from types import TracebackType
from typing import Any, Self

from tests.controller.working import Events

from trimtab.apiserver.server import Server
from trimtab.apiserver.surroundings import Surroundings
from trimtab.cache import Informers
from trimtab.client import Client, Conflict, MergePatch, NotFound, Transport
from trimtab.controller import App, Context, Controllers, Requeue, requeue
from trimtab.kube.apps.v1 import Deployment, ReplicaSet
from trimtab.kube.core.v1 import Pod
from trimtab.kube.timestamps import format_time
from trimtab.kube.wire import from_wire
from trimtab.local import LocalTransport

START = datetime(2026, 7, 1, 12, tzinfo=UTC)


class Kubelet:
    """All nodes: a Pod gets to run at once, and is ready after `ready_after` seconds, if it ever is.

    `outcome` says how a Pod ends: None goes on for ever, a number is the exit code of its container.
    """

    def __init__(self) -> None:
        self.ready_after = 1.0
        self.never_ready: Callable[[Pod], bool] = lambda _: False
        self.outcome: Callable[[Pod], int | None] = lambda _: None
        self.ends_after = 5.0
        self.grace = 0.0
        self.app = App("kubelet")
        self.app.controller(Pod, name="kubelet", workers=20)(self._sync)

    async def _sync(self, pod: Pod, ctx: Context) -> Requeue | None:
        try:
            return await self._look(pod, ctx)
        except (NotFound, Conflict):
            return None

    async def _look(self, pod: Pod, ctx: Context) -> Requeue | None:
        meta, now = pod.metadata, ctx.now()
        if meta.deletion_timestamp is not None:
            since = meta.deletion_timestamp - timedelta(seconds=meta.deletion_grace_period_seconds or 0)
            if (wait := self.grace - (now - since).total_seconds()) > 0:
                return requeue(after=wait)
            await ctx.delete(Pod, meta.name, uid=meta.uid, grace_period_seconds=0)
            return None
        if pod.status.phase in ("Succeeded", "Failed"):
            return None
        if pod.status.phase != "Running":
            await self._status(pod, ctx, phase="Running", ready=False, now=now)
            return requeue(after=max(self.ready_after, 0.01))
        assert pod.status.start_time is not None
        runs = (now - pod.status.start_time).total_seconds()
        code = self.outcome(pod)
        if code is not None and runs >= self.ends_after:
            phase = "Failed" if code else "Succeeded"
            await self._status(pod, ctx, phase=phase, ready=False, now=now, code=code)
            return None
        if runs >= self.ready_after and not self.never_ready(pod) and not _ready(pod):
            await self._status(pod, ctx, phase="Running", ready=True, now=now)
        return requeue(after=0.5) if code is not None or not _ready(pod) else None

    async def _status(
        self, pod: Pod, ctx: Context, *, phase: str, ready: bool, now: datetime, code: int | None = None
    ) -> None:
        at = format_time(now)
        conditions = [{"type": "Ready", "status": "True" if ready else "False", "lastTransitionTime": at}]
        state: dict[str, Any] = {"running": {"startedAt": at}}
        if code is not None:
            state = {"terminated": {"exitCode": code, "finishedAt": at, "reason": "Error" if code else "Completed"}}
        statuses = [
            {"name": each.name, "ready": ready, "restartCount": 0, "image": each.image, "imageID": "", "state": state}
            for each in pod.spec.containers
        ]
        status: dict[str, Any] = {"phase": phase, "conditions": conditions, "containerStatuses": statuses}
        if pod.status.start_time is None:
            status["startTime"] = at
        body = {"metadata": {"uid": pod.metadata.uid}, "status": status}
        await ctx.patch(Pod, pod.metadata.name, MergePatch(body), subresource="status")


def _ready(pod: Pod) -> bool:
    return any(each.type == "Ready" and each.status == "True" for each in pod.status.conditions)


class World:
    """`async with World(app) as world`: a server, a client, and the apps at work, a kubelet among them."""

    def __init__(
        self, *apps: App, kubelet: bool = True, through: Callable[[Transport], Transport] | None = None
    ) -> None:
        self.kubelet = Kubelet()
        self.events = Events()
        self.server = Server(surroundings=Surroundings(now=self.now, dice=Random(1)))
        self.client = Client(LocalTransport(self.server))
        self._apps = [*apps, self.kubelet.app] if kubelet else [*apps]
        self._through = through or (lambda transport: transport)
        self._stack = AsyncExitStack()
        self.queues: dict[str, Any] = {}

    def now(self) -> datetime:
        return START + timedelta(seconds=asyncio.get_event_loop().time())

    async def __aenter__(self) -> Self:
        clock = asyncio.get_running_loop().time
        client = Client(self._through(LocalTransport(self.server)))
        informers = await self._stack.enter_async_context(Informers(client, clock=clock, random=Random(1).random))
        for app in self._apps:
            controllers = Controllers(
                app, informers, events=self.events, clock=clock, random=Random(1).random, now=self.now
            )
            controllers.start()
            self.queues |= controllers.queues
            self._stack.push_async_callback(self._stop, controllers, asyncio.create_task(controllers.run()))
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self._stack.aclose()
        self.server.close()

    async def _stop(self, controllers: Controllers, task: asyncio.Task[None]) -> None:
        controllers.stop()
        await task

    async def passes(self, seconds: float = 5.0) -> None:
        """Let time pass: virtual time."""
        await asyncio.sleep(seconds)

    async def pods(self, labels: str | None = None) -> list[Pod]:
        found = await self.client.list(Pod, namespace="default", labels=labels)
        return sorted(found, key=lambda pod: pod.metadata.name)

    async def replica_sets(self) -> list[ReplicaSet]:
        return list(await self.client.list(ReplicaSet, namespace="default"))

    async def patch(self, kind: type[Any], name: str, body: dict[str, Any], subresource: str = "") -> Any:
        return await self.client.patch(kind, name, MergePatch(body), subresource=subresource)

    def said(self, reason: str) -> list[str]:
        return [note for _, _, told, note in self.events.told if told == reason]


def template(app: str = "web", image: str = "nginx", **spec: Any) -> dict[str, Any]:
    return {
        "metadata": {"labels": {"app": app}},
        "spec": {"containers": [{"name": "c", "image": image}], **spec},
    }


def replica_set(name: str = "web", replicas: int = 3, **spec: Any) -> ReplicaSet:
    body = {
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"replicas": replicas, "selector": {"matchLabels": {"app": name}}, "template": template(name), **spec},
    }
    return from_wire(ReplicaSet, body)


def deployment(name: str = "web", replicas: int = 3, **spec: Any) -> Deployment:
    body = {
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"replicas": replicas, "selector": {"matchLabels": {"app": name}}, "template": template(name), **spec},
    }
    return from_wire(Deployment, body)


def names(pods: Iterable[Pod]) -> list[str]:
    return [pod.metadata.name for pod in pods]

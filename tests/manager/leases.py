"""The cache's server for tests, that also keeps who writes from overwriting what they have not read."""

from __future__ import annotations

import asyncio

import msgspec
from tests.cache.fakeserver import FakeServer
from tests.cache.samples import status

from trimtab.client import Client, Request, Response, Retry, Target
from trimtab.kube.coordination.v1 import Lease
from trimtab.kube.core.v1 import ConfigMap
from trimtab.kube.events.v1 import Event
from trimtab.manager.election import Timing
from trimtab.manager.leading import LeaderElector


class LeaseServer(FakeServer):
    def __init__(self) -> None:
        super().__init__(Lease, ConfigMap, Event)
        self.sent: list[Request] = []

    async def send(self, request: Request) -> Response:
        target = request.what
        if request.before_sending is not None:
            request.before_sending()
        self.sent.append(request)
        if request.verb == "update" and isinstance(target, Target):
            stored = self.current[target.resource.plural].get(f"{target.namespace}/{target.name}")
            wanted = msgspec.json.decode(request.body or b"{}")["metadata"].get("resourceVersion")
            if stored is None:
                return Response(404, {}, status(404, "NotFound")[1])
            if wanted != stored["metadata"]["resourceVersion"]:
                return Response(409, {}, status(409, "Conflict")[1])
        return await super().send(request)

    @property
    def lease(self) -> dict[str, object]:
        return self.current["leases"]["default/lock"]["spec"]

    def client(self) -> Client:
        return Client(self, retry=Retry(attempts=1))

    def elector(self, name: str, timing: Timing | None = None) -> LeaderElector:
        loop = asyncio.get_running_loop()
        client = self.client()
        return LeaderElector(
            client, "lock", namespace="default", identity=name, timing=timing, clock=loop.time, random=lambda: 0.5
        )

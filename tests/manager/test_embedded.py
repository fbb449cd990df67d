"""Managers over the API server in the process: two compete as they do in a cluster, and the fence holds there too."""

from __future__ import annotations

import asyncio

import pytest

from trimtab.apiserver.server import Server
from trimtab.client import Client, NotFound
from trimtab.controller import App, Context, labelled
from trimtab.kube.coordination.v1 import Lease
from trimtab.kube.core.v1 import ConfigMap
from trimtab.kube.meta.v1 import ObjectMeta
from trimtab.local import LocalTransport
from trimtab.manager import Fence, LeaderElection, Manager, NotLeading


def writing(by: str, wrote: list[str]) -> App:
    app = App("writer")

    @app.controller(ConfigMap, where=labelled("write"), writes=[ConfigMap])
    async def write(obj: ConfigMap, ctx: Context) -> None:
        wrote.append(by)
        await ctx.apply(ConfigMap(metadata=ObjectMeta(name="out"), data={"by": by, "of": obj.data["n"]}), force=True)

    return app


async def test_two_compete_and_the_second_takes_over_where_the_first_stopped() -> None:
    server, wrote = Server(), list[str]()
    stops: dict[str, asyncio.Event] = {"one": asyncio.Event(), "other": asyncio.Event()}
    election = LeaderElection(name="lock")
    managers = {
        name: Manager(writing(name, wrote), LocalTransport(server), listen=False, leader_election=election)
        for name in stops
    }

    async def settled(client: Client, by: str, of: str) -> None:
        async with asyncio.timeout(20), client.watch(ConfigMap, fields={"metadata.name": "out"}) as events:
            async for event in events:
                if event.object.data == {"by": by, "of": of}:
                    return

    async with Client(LocalTransport(server)) as client, asyncio.TaskGroup() as group:
        await client.create(ConfigMap(metadata=ObjectMeta(name="in", labels={"write": "yes"}), data={"n": "1"}))
        group.create_task(managers["one"].run(stops["one"]))
        await settled(client, "one", "1")
        group.create_task(managers["other"].run(stops["other"]))
        stops["one"].set()
        await settled(client, "other", "1")
        await client.apply(ConfigMap(metadata=ObjectMeta(name="in"), data={"n": "2"}), force=True)
        await settled(client, "other", "2")
        stops["other"].set()
    assert wrote[0] == "one"
    assert set(wrote[1:]) == {"other"}
    async with Client(LocalTransport(server)) as client:
        lease = await client.get(Lease, "lock")
        assert (lease.spec.holder_identity or "", lease.spec.lease_duration_seconds) == ("", 1)
        assert lease.spec.lease_transitions == 1


async def test_the_fence_is_asked_again_when_the_request_goes_out() -> None:
    class Passing:
        """A lease that ends between the two looks."""

        now = 0.0
        deadline = 1.0

        def clock(self) -> float:
            self.now += 0.6
            return self.now

        def refused(self) -> str:
            return "it is over"

    async with Client(LocalTransport(Server())) as client:
        fenced = client.through(lambda inner: Fence(inner, Passing()))
        with pytest.raises(NotLeading, match="it is over; nothing was sent"):
            await fenced.create(ConfigMap(metadata=ObjectMeta(name="a")))
        with pytest.raises(NotFound):
            await client.get(ConfigMap, "a")

"""replicaset on the server inside, in virtual time, with a kubelet that lets Pods run."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, cast

import msgspec
import pytest
from tests.cache.samples import virtual
from tests.local.loops.world import World, names, replica_set

from trimtab.client import Broken, Forbidden, Request, Response, Stream, Transport
from trimtab.controllers.replicaset import app
from trimtab.kube.apps.v1 import ReplicaSet
from trimtab.kube.core.v1 import Pod
from trimtab.kube.meta.v1 import Status
from trimtab.kube.owners import set_owner
from trimtab.kube.wire import from_wire


def loose(name: str, **labels: str) -> Pod:
    meta = {"name": name, "namespace": "default", "labels": labels}
    return from_wire(Pod, {"metadata": meta, "spec": {"containers": [{"name": "c", "image": "i"}]}})


@virtual
async def test_it_makes_what_is_missing_and_tells_how_it_goes() -> None:
    async with World(app) as world:
        await world.client.create(replica_set(replicas=3))
        await world.passes()
        pods = await world.pods()
        assert len(pods) == 3
        for pod in pods:
            assert pod.metadata.name.startswith("web-")
            assert pod.metadata.generate_name == "web-"
            assert pod.metadata.labels == {"app": "web"}
            (owner,) = pod.metadata.owner_references
            assert (owner.kind, owner.name, owner.controller, owner.block_owner_deletion) == (
                "ReplicaSet",
                "web",
                True,
                True,
            )
        rs = await world.client.get(ReplicaSet, "web")
        status = rs.status
        assert (status.replicas, status.ready_replicas, status.available_replicas) == (3, 3, 3)
        assert (status.fully_labeled_replicas, status.observed_generation) == (3, 1)
        assert sorted(world.said("SuccessfulCreate")) == sorted(f"Created pod: {name}" for name in names(pods))
        await world.client.delete(pods[0])
        await world.client.scale(ReplicaSet, "web", 2)
        await world.passes()
        assert len(await world.pods()) == 2
        rs = await world.client.get(ReplicaSet, "web")
        assert (rs.status.replicas, rs.status.observed_generation) == (2, 2)


@virtual
async def test_hundreds_come_and_go_with_no_look_for_each() -> None:
    async with World(app) as world:
        await world.client.create(replica_set(replicas=700))
        await world.passes(10)
        assert (await world.client.get(ReplicaSet, "web")).status.available_replicas == 700
        await world.client.scale(ReplicaSet, "web", 0)
        await world.passes(10)
        assert await world.pods() == []
        assert (await world.client.get(ReplicaSet, "web")).status.replicas == 0
        assert sum(world.queues["replicaset-controller"].worked.counts) < 100


@virtual
async def test_orphans_are_adopted_and_strangers_released() -> None:
    async with World(app) as world:
        for name in ("a", "b"):
            await world.client.create(loose(name, app="web"))
        await world.client.create(replica_set(replicas=3))
        await world.passes()
        assert len(pods := await world.pods("app=web")) == 3
        assert {"a", "b"} < set(names(pods))
        assert all(pod.metadata.owner_references[0].name == "web" for pod in pods)
        await world.patch(Pod, "a", {"metadata": {"labels": {"app": "other"}}})
        await world.passes()
        assert (await world.client.get(Pod, "a")).metadata.owner_references == []
        assert len(await world.pods("app=web")) == 3
        await world.client.create(loose("late", app="web"))  # one too many: adopted, and one goes
        await world.passes()
        assert len(await world.pods("app=web")) == 3
        assert len(world.said("SuccessfulDelete")) == 1


@virtual
async def test_one_that_goes_leaves_its_pods_to_the_collector_of_garbage() -> None:
    async with World(app) as world:
        rs = replica_set(replicas=2)
        rs.metadata.finalizers = ["example.com/hold"]
        await world.client.create(rs)
        await world.passes()
        await world.client.delete(ReplicaSet, "web")
        pods = await world.pods()
        await world.client.delete(pods[0])
        await world.passes()
        assert names(await world.pods()) == [pods[1].metadata.name]
        status = (await world.client.get(ReplicaSet, "web")).status
        assert (status.replicas, status.ready_replicas) == (1, 1)


@virtual
async def test_available_is_who_has_been_ready_for_long_enough() -> None:
    async with World(app) as world:
        await world.client.create(replica_set(replicas=2, minReadySeconds=30))
        await world.passes(10)
        status = (await world.client.get(ReplicaSet, "web")).status
        assert (status.ready_replicas, status.available_replicas) == (2, 0)
        await world.passes(25)
        assert (await world.client.get(ReplicaSet, "web")).status.available_replicas == 2


class Faulty:
    """A Transport that loses answers, or refuses."""

    def __init__(self, inner: Transport, fault: Callable[[Request, int], Exception | str | None]) -> None:
        self._inner = inner
        self._fault = fault
        self.sent: Counter[str] = Counter()

    async def send(self, request: Request) -> Response:
        what = f"{request.verb} {request.path.partition('?')[0].split('/')[5:6]}"
        self.sent[what] += 1
        fault = self._fault(request, self.sent[what])
        if isinstance(fault, Exception):
            raise fault
        answer = await self._inner.send(request)
        if fault == "lose":
            raise Broken(f"cannot {request}: the answer was lost")
        return answer

    def stream(self, request: Request) -> AbstractAsyncContextManager[Stream]:
        return self._inner.stream(request)

    async def close(self) -> None:
        await self._inner.close()


class Most:
    """How many Pods there were at most, by the server's own log."""

    def __init__(self, world: World) -> None:
        self.most = 0
        self._world = world

    async def watch(self) -> None:
        there: dict[str, Any] = {}
        async with self._world.client.watch(Pod, namespace="default", resource_version="1") as events:
            async for event in events:
                name = event.object.metadata.name
                if event.type == "DELETED" or event.object.metadata.deletion_timestamp:
                    there.pop(name, None)
                else:
                    there[name] = event.object
                self.most = max(self.most, len(there))


@pytest.mark.parametrize("every", [2, 3, 7])
def test_lost_answers_make_no_pod_too_many(every: int) -> None:
    @virtual
    async def run() -> None:
        def fault(request: Request, count: int) -> str | None:
            about_pods = "/pods" in request.path
            return "lose" if about_pods and request.verb in ("create", "delete") and count % every == 0 else None

        async with World(app, through=lambda inner: Faulty(inner, fault)) as world:
            most = Most(world)
            task = asyncio.create_task(most.watch())
            await world.client.create(replica_set(replicas=40))
            await world.passes(200)
            assert len(await world.pods()) == 40
            await world.client.scale(ReplicaSet, "web", 10)
            await world.passes(200)
            assert len(await world.pods()) == 10
            assert len(await world.client.list(Pod, namespace="default")) == 10
            assert most.most == 40
            task.cancel()

    run()


class Held:
    """A Transport whose watches of Pods can be held back."""

    def __init__(self, inner: Transport) -> None:
        self._inner = inner
        self.send = inner.send
        self.close = inner.close
        self.goes_on = asyncio.Event()
        self.goes_on.set()

    @asynccontextmanager
    async def stream(self, request: Request) -> AsyncIterator[Any]:
        async with self._inner.stream(request) as stream:
            if "/pods" not in request.path:
                yield stream
                return
            read = stream.read

            async def late() -> bytes:
                data = await read()
                await self.goes_on.wait()
                return data

            cast("Any", stream).read = late
            yield stream


@virtual
async def test_what_an_earlier_process_made_counts_though_the_cache_is_behind() -> None:
    held: list[Held] = []

    def hold(inner: Transport) -> Transport:
        held.append(Held(inner))
        return held[0]

    async with World(app, through=hold) as world:
        await world.passes()
        held[0].goes_on.clear()
        rs = await world.client.create(replica_set(replicas=0))
        for name in ("a", "b", "c"):
            pod = loose(name, app="web")
            set_owner(pod, rs)
            await world.client.create(pod)
        await world.client.scale(ReplicaSet, "web", 3)
        await world.passes()
        assert names(await world.pods()) == ["a", "b", "c"]
        held[0].goes_on.set()
        await world.passes()
        assert names(await world.pods()) == ["a", "b", "c"]
        assert (await world.client.get(ReplicaSet, "web")).status.replicas == 3


@virtual
async def test_what_cannot_be_made_is_found_out_by_few_requests_and_told() -> None:
    refusing = [True]

    def refuse(request: Request, _: int) -> Exception | None:
        if not refusing or request.verb != "create" or "/pods" not in request.path:
            return None
        name = msgspec.json.decode(request.body or b"{}")["metadata"]["name"]
        message = f'pods "{name}" is forbidden: exceeded quota: q'
        return Forbidden(request, Status(code=403, reason="Forbidden", message=message))

    async with World(app, through=lambda inner: Faulty(inner, refuse)) as world:
        await world.client.create(replica_set(replicas=500))
        await world.passes(2)
        rs = await world.client.get(ReplicaSet, "web")
        (condition,) = rs.status.conditions
        assert (condition.type, condition.status, condition.reason) == ("ReplicaFailure", "True", "FailedCreate")
        assert condition.message == 'pods "web-" is forbidden: exceeded quota: q'
        tries = len(world.said("FailedCreate"))
        assert 2 < tries < 15
        assert set(world.said("FailedCreate")) == {'Error creating: pods "web-" is forbidden: exceeded quota: q'}
        refusing.clear()
        await world.passes(120)
        rs = await world.client.get(ReplicaSet, "web")
        assert (rs.status.ready_replicas, rs.status.conditions) == (500, [])

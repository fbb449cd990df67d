"""Puts the population into a server, and takes it out again."""

import asyncio
import secrets
from collections.abc import AsyncIterator, Coroutine, Iterable
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
import msgspec

from bench.harness import BenchError
from bench.population import Made
from bench.session import open_session

_IN_FLIGHT = 64


async def server_version(kubeconfig: str) -> str:
    """Ask the server which Kubernetes it is."""
    async with open_session(kubeconfig) as (session, server), session.get(f"{server}/version") as response:
        return str((await response.json())["gitVersion"])


@asynccontextmanager
async def populated(kubeconfig: str, *populations: Iterable[Made]) -> AsyncIterator[str]:
    """Give a namespace with these objects, and delete it afterwards.

    Nobody may look after it in the meantime: its Pods belong to ReplicaSets and nodes that are not there.
    """
    namespace = f"bench-{secrets.token_hex(4)}"
    async with open_session(kubeconfig) as (session, server):
        loader = _Loader(session, f"{server}/api/v1/namespaces")
        await loader.send("POST", "", {"metadata": {"name": namespace}})
        try:
            for population in populations:
                await gather((loader.add(namespace, made) for made in population), _IN_FLIGHT)
            yield namespace
        finally:
            # Without grace: there is no kubelet that would say that the Pods have ended.
            await loader.send("DELETE", f"/{namespace}/pods", {"gracePeriodSeconds": 0})
            await loader.send("DELETE", f"/{namespace}")


async def collection_size(kubeconfig: str, path: str) -> int:
    """Measure a collection: the bytes of JSON in which the server sends it."""
    async with (
        open_session(kubeconfig) as (session, server),
        session.get(f"{server}{path}?resourceVersion=0") as answer,
    ):
        return sum([len(part) async for part in answer.content.iter_any()])


async def collection_count(kubeconfig: str, path: str) -> int:
    """Count the objects of a collection."""
    async with open_session(kubeconfig) as (session, server), session.get(f"{server}{path}?limit=1") as answer:
        page = await answer.json()
        if answer.status >= 400:
            raise BenchError(f"GET {path} was answered {answer.status}: {page.get('message', '')}")
    return len(page["items"]) + int(page["metadata"].get("remainingItemCount", 0))


async def fill(kubeconfig: str, namespace: str, population: Iterable[Made]) -> int:
    """Put objects into a namespace, which is made if it is not there, and say how many."""
    made = list(population)
    async with open_session(kubeconfig) as (session, server):
        loader = _Loader(session, f"{server}/api/v1/namespaces")
        async with session.get(f"{server}/api/v1/namespaces/{namespace}") as answer:
            absent = answer.status == 404
        if absent:
            await loader.send("POST", "", {"metadata": {"name": namespace}})
        await gather((loader.add(namespace, one) for one in made), _IN_FLIGHT)
    return len(made)


async def gather(work: Iterable[Coroutine[Any, Any, None]], in_flight: int) -> None:
    """Run them all, so many at a time; one that fails ends the others."""
    waiting = iter(work)

    async def worker() -> None:
        for one in waiting:
            await one

    async with asyncio.TaskGroup() as group:
        for _ in range(in_flight):
            group.create_task(worker())


class _Loader:
    def __init__(self, session: aiohttp.ClientSession, namespaces: str) -> None:
        self._session = session
        self._namespaces = namespaces

    async def send(
        self, method: str, path: str, body: object = None, manager: str = "", content_type: str = "application/json"
    ) -> None:
        async with self._session.request(
            method,
            self._namespaces + path,
            params={"fieldManager": manager} if manager else None,
            data=None if body is None else msgspec.json.encode(body),
            headers={"Content-Type": content_type},
        ) as response:
            if response.status >= 400:
                said = await response.text()
                raise BenchError(f"{method} {path or 'namespace'} was answered {response.status}: {said}")
            await response.read()

    async def add(self, namespace: str, made: Made) -> None:
        collection = f"/{namespace}/{made.resource}"
        await self.send("POST", collection, made.manifest, made.manager)
        if made.status is not None:
            status = {"status": made.status}
            path = f"{collection}/{made.name}/status"
            await self.send("PATCH", path, status, "kubelet", "application/merge-patch+json")

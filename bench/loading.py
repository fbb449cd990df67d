"""Puts the population into a server, and takes it out again."""

import asyncio
import secrets
from collections.abc import AsyncIterator, Coroutine, Iterable
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
import msgspec

from bench.harness import BenchError
from bench.population import FIELD_MANAGER, config_map, pod, pod_status
from bench.session import open_session

_IN_FLIGHT = 64


async def server_version(kubeconfig: str) -> str:
    """Ask the server which Kubernetes it is."""
    async with open_session(kubeconfig) as (session, server), session.get(f"{server}/version") as response:
        return str((await response.json())["gitVersion"])


@asynccontextmanager
async def populated(kubeconfig: str, *, config_maps: int, pods: int) -> AsyncIterator[str]:
    """Give a namespace with so many objects, and delete it afterwards."""
    namespace = f"bench-{secrets.token_hex(4)}"
    async with open_session(kubeconfig) as (session, server):
        loader = _Loader(session, f"{server}/api/v1/namespaces")
        await loader.send("POST", "", {"metadata": {"name": namespace}})
        try:
            await _gather(loader.add_config_map(namespace, number) for number in range(config_maps))
            await _gather(loader.add_pod(namespace, number) for number in range(pods))
            yield namespace
        finally:
            # Without grace: there is no kubelet that would say that the Pods have ended.
            await loader.send("DELETE", f"/{namespace}/pods", {"gracePeriodSeconds": 0})
            await loader.send("DELETE", f"/{namespace}")


class _Loader:
    def __init__(self, session: aiohttp.ClientSession, namespaces: str) -> None:
        self._session = session
        self._namespaces = namespaces

    async def send(self, method: str, path: str, body: object = None, content_type: str = "application/json") -> None:
        async with self._session.request(
            method,
            self._namespaces + path,
            params={"fieldManager": FIELD_MANAGER} if method in ("POST", "PATCH") else None,
            data=None if body is None else msgspec.json.encode(body),
            headers={"Content-Type": content_type},
        ) as response:
            if response.status >= 400:
                said = await response.text()
                raise BenchError(f"{method} {path or 'namespace'} was answered {response.status}: {said}")
            await response.read()

    async def add_config_map(self, namespace: str, number: int) -> None:
        await self.send("POST", f"/{namespace}/configmaps", config_map(number))

    async def add_pod(self, namespace: str, number: int) -> None:
        body = pod(number)
        await self.send("POST", f"/{namespace}/pods", body)
        status = {"status": pod_status(number)}
        path = f"/{namespace}/pods/{body['metadata']['name']}/status"
        await self.send("PATCH", path, status, "application/merge-patch+json")


async def _gather(work: Iterable[Coroutine[Any, Any, None]]) -> None:
    """Run them all, so many at a time; one that fails ends the others."""
    waiting = iter(work)

    async def worker() -> None:
        for one in waiting:
            await one

    async with asyncio.TaskGroup() as group:
        for _ in range(_IN_FLIGHT):
            group.create_task(worker())

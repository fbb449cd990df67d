"""Trimtab's client as its users have it."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.metadata import version
from typing import Any

from bench.cost import Cost
from bench.population import FIELD_MANAGER
from bench.work import Job, run_async
from trimtab.client import Client, MergePatch, load_config
from trimtab.kube.core.v1 import ConfigMap, Pod


class Peer:
    """Client."""

    version = f"trimtab {version('trimtab')}"

    def __init__(self, client: Client, namespace: str) -> None:
        self._client = client
        self._namespace = namespace

    async def get(self, name: str) -> object:
        """Get a ConfigMap."""
        return await self._client.get(ConfigMap, name, namespace=self._namespace)

    async def patch(self, name: str, patch: dict[str, Any]) -> object:
        """Send it a merge patch."""
        return await self._client.patch(ConfigMap, name, MergePatch(patch), namespace=self._namespace)

    async def list(self, page: int) -> list[Any]:
        """List all Pods of the namespace."""
        return await self._client.list(Pod, namespace=self._namespace, page_size=page)


@asynccontextmanager
async def connect(job: Job) -> AsyncIterator[Peer]:
    """Open a client."""
    async with Client(load_config(job.kubeconfig), field_manager=FIELD_MANAGER) as client:
        yield Peer(client, job.namespace)


def run(job: Job) -> Cost:
    """Do the job."""
    return run_async(job, connect)

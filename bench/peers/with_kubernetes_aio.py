"""The asyncio half of kubernetes-client/python (once kubernetes_asyncio) as its users have it: typed."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.metadata import version
from typing import Any

from kubernetes.aio import client, config

from bench.cost import Cost
from bench.population import FIELD_MANAGER
from bench.work import Job, run_async

_MERGE = "application/merge-patch+json"


class Peer:
    """CoreV1Api."""

    version = f"kubernetes {version('kubernetes')}"

    def __init__(self, api: client.CoreV1Api, namespace: str) -> None:
        self._api = api
        self._namespace = namespace

    async def get(self, name: str) -> object:
        """Get a ConfigMap."""
        return await self._api.read_namespaced_config_map(name, self._namespace)

    async def patch(self, name: str, patch: dict[str, Any]) -> object:
        """Send it a merge patch."""
        return await self._api.patch_namespaced_config_map(
            name, self._namespace, patch, field_manager=FIELD_MANAGER, _content_type=_MERGE
        )

    async def list(self, page: int) -> list[Any]:
        """List all Pods of the namespace."""
        pods: list[Any] = []
        token = None
        while True:
            answer = await self._api.list_namespaced_pod(self._namespace, limit=page, _continue=token)
            pods += answer.items
            if not (token := answer.metadata._continue):  # noqa: SLF001 (it is called so)
                return pods


@asynccontextmanager
async def connect(job: Job) -> AsyncIterator[Peer]:
    """Open a client."""
    configuration = client.Configuration()
    await config.load_kube_config(job.kubeconfig, client_configuration=configuration, persist_config=False)
    async with client.ApiClient(configuration) as api:
        yield Peer(client.CoreV1Api(api), job.namespace)


def run(job: Job) -> Cost:
    """Do the job."""
    return run_async(job, connect)

"""Bare aiohttp and Trimtab's classes: how light a client on aiohttp can be."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import quote

import aiohttp
import msgspec
from yarl import URL

from bench.cost import Cost
from bench.peers.decoding import CONFIG_MAP, PODS
from bench.population import FIELD_MANAGER
from bench.session import open_session
from bench.work import Job, run_async

_MERGE = {"Content-Type": "application/merge-patch+json"}


class Peer:
    """Requests as the documentation of aiohttp writes them, but for URLs that are encoded already."""

    version = f"aiohttp {aiohttp.__version__}"

    def __init__(self, session: aiohttp.ClientSession, namespace: str) -> None:
        self._session = session
        self._namespace = namespace

    async def get(self, name: str) -> object:
        """Get a ConfigMap."""
        async with self._session.get(URL(f"{self._namespace}/configmaps/{name}", encoded=True)) as response:
            response.raise_for_status()
            return CONFIG_MAP.decode(await response.read())

    async def patch(self, name: str, patch: dict[str, Any]) -> object:
        """Send it a merge patch."""
        url = URL(f"{self._namespace}/configmaps/{name}?fieldManager={FIELD_MANAGER}", encoded=True)
        async with self._session.patch(url, data=msgspec.json.encode(patch), headers=_MERGE) as response:
            response.raise_for_status()
            return CONFIG_MAP.decode(await response.read())

    async def list(self, page: int) -> list[Any]:
        """List all Pods of the namespace."""
        pods: list[Any] = []
        token = ""
        while True:
            url = URL(f"{self._namespace}/pods?limit={page}&continue={quote(token)}", encoded=True)
            async with self._session.get(url) as response:
                response.raise_for_status()
                answer = PODS.decode(await response.read())
            pods += answer.items
            if not (token := answer.token):
                return pods


@asynccontextmanager
async def connect(job: Job) -> AsyncIterator[Peer]:
    """Open a session."""
    async with open_session(job.kubeconfig) as (session, server):
        yield Peer(session, f"{server}/api/v1/namespaces/{job.namespace}")


def run(job: Job) -> Cost:
    """Do the job."""
    return run_async(job, connect)

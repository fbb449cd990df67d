"""Bare pyreqwest and Trimtab's classes: how light a client on Rust's reqwest can be."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.metadata import version
from typing import Any
from urllib.parse import quote

import msgspec
from pyreqwest.client import Client, ClientBuilder

from bench.cost import Cost
from bench.peers.decoding import CONFIG_MAP, PODS
from bench.population import FIELD_MANAGER
from bench.session import Access
from bench.work import Job, run_async

_HEADERS = {"Accept": "application/json", "User-Agent": "bench"}
_MERGE = {**_HEADERS, "Content-Type": "application/merge-patch+json"}


class Peer:
    """HTTP/1.1, which was the lighter of its two protocols."""

    version = f"pyreqwest {version('pyreqwest')}"

    def __init__(self, client: Client, namespace: str) -> None:
        self._client = client
        self._namespace = namespace

    async def get(self, name: str) -> object:
        """Get a ConfigMap."""
        return CONFIG_MAP.decode(await self._read(f"/configmaps/{name}"))

    async def patch(self, name: str, patch: dict[str, Any]) -> object:
        """Send it a merge patch."""
        request = self._client.patch(f"{self._namespace}/configmaps/{name}?fieldManager={FIELD_MANAGER}")
        request = request.headers(_MERGE).body_bytes(msgspec.json.encode(patch)).error_for_status()
        response = await request.build().send()
        return CONFIG_MAP.decode(await response.bytes())

    async def list(self, page: int) -> list[Any]:
        """List all Pods of the namespace."""
        pods: list[Any] = []
        token = ""
        while True:
            answer = PODS.decode(await self._read(f"/pods?limit={page}&continue={quote(token)}"))
            pods += answer.items
            if not (token := answer.token):
                return pods

    async def _read(self, path: str) -> Any:
        response = await self._client.get(self._namespace + path).headers(_HEADERS).error_for_status().build().send()
        return await response.bytes()


@asynccontextmanager
async def connect(job: Job) -> AsyncIterator[Peer]:
    """Open a client. It shows a client certificate; other credentials are not for this bench."""
    access = await Access.load(job.kubeconfig)
    builder = ClientBuilder().gzip(False)
    if ca := access.config.tls.ca:
        builder = builder.add_root_certificate_pem(ca)
    if pair := access.proof.certificate:
        builder = builder.identity_pem(pair.certificate + b"\n" + pair.key)
    async with builder.build() as client:
        yield Peer(client, f"{access.config.server}/api/v1/namespaces/{job.namespace}")


def run(job: Job) -> Cost:
    """Do the job."""
    return run_async(job, connect)

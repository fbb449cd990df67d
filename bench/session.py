"""A plain aiohttp session with the server of a kubeconfig: nothing of Trimtab's in the way of a request."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import aiohttp

from trimtab.client.config.credentials import Proof
from trimtab.client.config.loading import load_config
from trimtab.client.config.model import Config

_HEADERS = {"Accept": "application/json", "Accept-Encoding": "identity", "User-Agent": "bench"}


@dataclass(frozen=True)
class Access:
    """Where the server is and what it wants to see."""

    config: Config
    proof: Proof

    @classmethod
    async def load(cls, kubeconfig: str) -> "Access":
        """Read a kubeconfig."""
        config = load_config(kubeconfig)
        return cls(config, await config.credentials.proof())


@asynccontextmanager
async def open_session(kubeconfig: str) -> AsyncIterator[tuple[aiohttp.ClientSession, str]]:
    """Give a session and the URL that every path follows."""
    access = await Access.load(kubeconfig)
    async with aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(ssl=access.config.tls.context(access.proof.certificate)),
        cookie_jar=aiohttp.DummyCookieJar(),
        timeout=aiohttp.ClientTimeout(total=None, sock_connect=30),
        headers={**_HEADERS, **access.proof.headers},
    ) as session:
        yield session, access.config.server

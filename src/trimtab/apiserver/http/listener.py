"""Where connections come in."""

from __future__ import annotations

import asyncio
import ssl

from trimtab.apiserver.http.protocol import Connection, Connections, Handle, Limits

HOST = "127.0.0.1"
_BACKLOG = 1024


class Listener:
    """Listens on loopback, with TLS where there is a context for it."""

    def __init__(self, handle: Handle, *, tls: ssl.SSLContext | None = None, limits: Limits | None = None) -> None:
        self._connections = Connections(handle, limits or Limits())
        self._tls = tls
        self._server: asyncio.Server | None = None

    async def start(self, port: int = 0) -> None:
        """Begin to listen; port 0 is any that is free."""
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(
            lambda: Connection(self._connections), HOST, port, ssl=self._tls, backlog=_BACKLOG
        )

    @property
    def port(self) -> int:
        """Where it listens."""
        assert self._server is not None
        return self._server.sockets[0].getsockname()[1]

    @property
    def url(self) -> str:
        """Its address."""
        return f"{'https' if self._tls else 'http'}://{HOST}:{self.port}"

    async def stop(self) -> None:
        """Listen no longer, and close what is open."""
        if self._server is not None:
            self._server.close()
            self._connections.close()
            self._server = None
        tasks = list(self._connections.tasks)
        if tasks:
            await asyncio.gather(*tasks, return_exceptions=True)

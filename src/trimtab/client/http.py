"""The Transport that goes over the network: HTTP/1.1 on asyncio."""

from __future__ import annotations

import asyncio
import platform
from collections import deque
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from importlib.metadata import version
from urllib.parse import urlsplit

from httptools import HttpParserError

from trimtab.client.config.credentials import Proof
from trimtab.client.config.errors import ConfigError
from trimtab.client.config.model import Config
from trimtab.client.connection import Answer, Connection
from trimtab.client.dialing import dial, proxy_authorization
from trimtab.client.failures import ProxyError, broken, unreachable
from trimtab.client.request import Request
from trimtab.client.transport import Closed, Response, Stream
from trimtab.errors import TrimtabError

_UNAUTHORIZED = 401
_USER_AGENT = f"trimtab/{version('trimtab')} ({platform.system().lower()}; Python {platform.python_version()})"
_CONNECT_SECONDS = 10.0
_IDLE_SECONDS = 50.0  # the API server hangs up after 90, many a load balancer after 60
_MOST_CONNECTIONS = 100  # for requests; each stream has one besides


class HttpTransport:
    """One server: a pool of connections, the one that was used last first."""

    def __init__(self, config: Config) -> None:
        self._config = config
        url = urlsplit(config.server)
        self._encrypted = url.scheme == "https"
        self._host = url.netloc.rpartition("@")[2]
        # A proxy that is to read the request wants the whole URL in it.
        self._prefix = (config.server if config.proxy and not self._encrypted else url.path).rstrip("/")
        self._slots = asyncio.Semaphore(_MOST_CONNECTIONS)
        self._idle: deque[Connection] = deque()
        self._open: set[Connection] = set()
        self._closed = False
        self._proof: Proof | None = None
        self._headers: dict[tuple[str, str, bool], str] = {}

    async def send(self, request: Request) -> Response:
        """Send, and wait for the whole answer."""
        async with self._slots:
            _, answer = await self._ask(request, whole=True)
        try:
            return Response(answer.status, answer.headers, answer.body)
        except HttpParserError as error:
            raise broken(request, self._config, error) from error

    @asynccontextmanager
    async def stream(self, request: Request) -> AsyncGenerator[Stream]:
        """Send, and hand out the answer as it arrives."""
        connection, answer = await self._ask(request, whole=False)
        try:
            yield _Stream(answer, request, self._config)
        finally:
            self._give_back(connection)

    async def close(self) -> None:
        """Close all connections. What is under way fails, and nothing more is sent."""
        self._closed = True
        self._idle.clear()
        connections = list(self._open)
        for connection in connections:
            connection.abort()
        await self._config.credentials.close()
        await asyncio.gather(*(connection.lost for connection in connections))

    async def _ask(self, request: Request, *, whole: bool) -> tuple[Connection, Answer]:
        credentials = self._config.credentials
        proof = await credentials.proof()
        connection, answer = await self._ask_as(proof, request, whole=whole)
        if answer.status != _UNAUTHORIZED:
            return connection, answer
        try:
            if not await credentials.rejected(proof):
                return connection, answer
        except BaseException:
            if not whole:  # else somebody else may have it by now
                connection.abort()
            raise
        if not whole:
            self._give_back(connection)
        return await self._ask_as(await credentials.proof(), request, whole=whole)

    async def _ask_as(self, proof: Proof, request: Request, *, whole: bool) -> tuple[Connection, Answer]:
        if self._closed:
            raise Closed(f"cannot {request}: the client is closed")
        data = self._encode(request, proof, whole=whole)
        context = self._config.tls.context(proof.certificate) if self._encrypted else None
        while connection := self._take_idle(context):
            try:
                return connection, await self._on(connection, request, data, whole=whole)
            except (OSError, HttpParserError) as error:
                # It may have been closed by the server while it was idle; what never reached it can go out again.
                if connection.answered or not request.idempotent:
                    raise broken(request, self._config, error) from error
        try:
            async with asyncio.timeout(_CONNECT_SECONDS):
                connection = await dial(self._config, context, lambda: Connection(context, self._forget))
        except (OSError, ValueError, ProxyError) as error:  # a ValueError is a host that cannot be one
            raise unreachable(request, self._config, error) from error
        self._open.add(connection)
        if self._closed:  # while it was dialed
            connection.abort()
            raise Closed(f"cannot {request}: the client is closed")
        try:
            return connection, await self._on(connection, request, data, whole=whole)
        except (OSError, HttpParserError) as error:
            raise broken(request, self._config, error) from error

    async def _on(self, connection: Connection, request: Request, data: bytes, *, whole: bool) -> Answer:
        if request.before_sending is not None:
            try:
                request.before_sending()
            except BaseException:
                self._give_back(connection)
                raise
        try:
            answer = await connection.ask(data, whole=whole)
        except BaseException:  # cancelled, perhaps: what is still to come must not be taken for another answer
            connection.abort()
            raise
        if whole:
            self._give_back(connection)
        return answer

    def _take_idle(self, context: object) -> Connection | None:
        """A connection that was opened with what would be shown now, and that the server will hardly have closed."""
        oldest = asyncio.get_running_loop().time() - _IDLE_SECONDS
        while self._idle:
            connection = self._idle.pop()
            fresh = connection.context is context and connection.idle_since >= oldest
            if fresh and connection.reusable and not connection.closing:
                return connection
            connection.abort()
        return None

    def _give_back(self, connection: Connection) -> None:
        if connection.reusable and not self._closed:
            connection.idle_since = asyncio.get_running_loop().time()
            self._idle.append(connection)
        else:
            connection.abort()

    def _forget(self, connection: Connection) -> None:
        self._open.discard(connection)
        if connection in self._idle:
            self._idle.remove(connection)

    def _encode(self, request: Request, proof: Proof, *, whole: bool) -> bytes:
        """The bytes of a request."""
        if proof is not self._proof:
            self._headers.clear()
            self._proof = proof
        kind = (request.accept, request.content_type, whole)
        headers = self._headers.get(kind)
        if headers is None:
            headers = self._headers[kind] = self._make_headers(proof, *kind)
        path = self._prefix + request.path
        if " " in path or not (path.isascii() and path.isprintable()):
            raise TrimtabError(f"cannot {request}: {path!r} is no path of a URL")
        body = request.body
        head = f"{request.method} {path} HTTP/1.1\r\n{headers}"
        if body is None:
            return f"{head}\r\n".encode()
        return f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body

    def _make_headers(self, proof: Proof, accept: str, content_type: str, whole: bool) -> str:
        headers = [("Host", self._host), ("User-Agent", _USER_AGENT), ("Accept", accept), *proof.headers.items()]
        if self._config.compress and whole:  # what is read as it comes is small and late, not large
            headers.append(("Accept-Encoding", "gzip"))
        if content_type:
            headers.append(("Content-Type", content_type))
        if self._config.impersonate is not None:
            headers += self._config.impersonate.headers
        for name, value in headers:
            if not value.isprintable():
                raise ConfigError(f"{self._config.source}: {name} has a character that no header can have")
        lines = "".join(f"{name}: {value}\r\n" for name, value in headers)
        if self._config.proxy and not self._encrypted:
            lines += proxy_authorization(urlsplit(self._config.proxy))
        return lines


class _Stream:
    """An answer under way."""

    def __init__(self, answer: Answer, request: Request, config: Config) -> None:
        self._answer = answer
        self._request = request
        self._config = config

    @property
    def status(self) -> int:
        return self._answer.status

    @property
    def headers(self) -> Mapping[str, str]:
        return self._answer.headers

    async def read(self) -> bytes:
        try:
            return await self._answer.read()
        except (OSError, HttpParserError) as error:
            raise broken(self._request, self._config, error) from error

    def rest(self, seconds: float) -> None:
        self._answer.rest(seconds)

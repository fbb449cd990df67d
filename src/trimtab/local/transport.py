"""The way in for our own client: its Transport, straight into the server's entry."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager

from trimtab.apiserver.faults import Handler
from trimtab.apiserver.messages import Answer, Source, Streaming, Torn, User
from trimtab.apiserver.messages import Request as Incoming
from trimtab.apiserver.messages import Response as Outgoing
from trimtab.apiserver.server import ADMIN
from trimtab.client.connection import Headers
from trimtab.client.request import Request
from trimtab.client.transport import Broken, Closed, Response, Stream


class LocalTransport:
    """Sends requests to a server in this process, as one of its users. Use it instead of HttpTransport."""

    def __init__(self, server: Handler, user: User = ADMIN, *, agent: str = "trimtab") -> None:
        self._server = server
        self._user = user
        self._agent = agent
        self._closed = False
        self._sources: set[Source] = set()

    async def send(self, request: Request) -> Response:
        """Send, and wait for the whole answer."""
        answer = await self._ask(request)
        if isinstance(answer, Outgoing):
            return Response(answer.status, _headers(answer), answer.body)
        body = b""
        try:
            while chunk := await answer.source.read():
                body += chunk
        except Torn as error:
            raise Broken(f"cannot {request}: the connection broke") from error
        return Response(answer.status, _headers(answer), body)

    @asynccontextmanager
    async def stream(self, request: Request) -> AsyncGenerator[Stream]:
        """Send, and hand out the answer as it arrives."""
        answer = await self._ask(request)
        if isinstance(answer, Outgoing):
            yield _Whole(answer)
            return
        self._sources.add(answer.source)
        try:
            yield _Going(request, answer)
        finally:
            self._sources.discard(answer.source)
            answer.source.close()

    async def close(self) -> None:
        """End what still goes on."""
        self._closed = True
        for source in list(self._sources):
            source.close()

    async def _ask(self, request: Request) -> Answer:
        if self._closed:
            raise Closed(f"cannot {request}: the client is closed")
        path, _, query = request.path.partition("?")
        headers = {"accept": request.accept, "user-agent": self._agent}
        if request.content_type:
            headers["content-type"] = request.content_type
        incoming = Incoming(request.method, path, query, headers, request.body or b"", self._user)
        if request.before_sending is not None:
            request.before_sending()
        try:
            return await self._server.handle(incoming)
        except Torn as error:
            raise Broken(f"cannot {request}: the connection broke") from error


class _Whole:
    def __init__(self, answer: Outgoing) -> None:
        self.status = answer.status
        self.headers: Mapping[str, str] = _headers(answer)
        self._body = answer.body

    async def read(self) -> bytes:
        body, self._body = self._body, b""
        return body

    def rest(self, seconds: float) -> None:
        """Nothing is to be collected."""


class _Going:
    def __init__(self, request: Request, answer: Streaming) -> None:
        self.status = answer.status
        self.headers: Mapping[str, str] = _headers(answer)
        self._request = request
        self._source = answer.source
        self._rest = 0.0

    async def read(self) -> bytes:
        if self._rest:
            seconds, self._rest = self._rest, 0.0
            await asyncio.sleep(seconds)
        try:
            return await self._source.read()
        except Torn as error:
            raise Broken(f"{self._request}: the connection broke") from error

    def rest(self, seconds: float) -> None:
        self._rest = seconds


def _headers(answer: Answer) -> Mapping[str, str]:
    made = {b"content-type": answer.content_type.encode()} if answer.content_type else {}
    for name, value in answer.headers:
        key, text = name.lower().encode(), value.encode()
        made[key] = made[key] + b", " + text if key in made else text
    return Headers(made)

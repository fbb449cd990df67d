"""One connection: bytes in, a request at a time to the server, bytes out.

Nobody on the other side can make it hold more than `Limits` says, nor wait longer: a connection that is too slow in
asking or in taking its answer is closed, whichever half of it is still open.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import re
import ssl
import zlib
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Final, TypeAlias, cast

import httptools
import msgspec

from trimtab.apiserver import statuses
from trimtab.apiserver.messages import CREDENTIAL, Answer, Request, Response, Source, Streaming, Torn, User

Handle: TypeAlias = Callable[[Request], Awaitable[Answer]]

_log = logging.getLogger("trimtab.apiserver")
_NO_CONTENT: Final = 204
_COMPRESSED_FROM: Final = 128 << 10
_REASONS: Final = {status.value: status.phrase for status in HTTPStatus}
_CONTINUE: Final = b"HTTP/1.1 100 Continue\r\n\r\n"
_ASKS: Final = re.compile(rb"[A-Z]+ /\S* HTTP/1\.[01]\r\n")  # whatever it is that it wants to do
_LINGERS: Final = 2.0  # seconds in which what still comes after a refusal is thrown away,
_THROWN_AWAY: Final = 32 << 20  # bytes: and no more of it
_PIECE: Final = 256 << 10  # bytes of an answer that are written at once
_LATE: Final = 0.5  # seconds
_HIGH_WATER: Final = 256 << 10


@dataclass(frozen=True, slots=True)
class Limits:
    """What a connection may take."""

    body: int = 3 << 20  # bytes
    headers: int = 64 << 10  # bytes
    asking: float = 30.0  # seconds from the first byte of a request to its last
    idle: float = 180.0  # seconds between requests
    taking: float = 60.0  # seconds in which nothing of an answer is taken
    waiting: int = 16  # requests that were sent before the answer to the first


class Connections:
    """All connections of a server, whose deadlines are looked at together."""

    def __init__(self, handle: Handle, limits: Limits) -> None:
        self.handle = handle
        self.limits = limits
        self.tasks: set[asyncio.Task[None]] = set()
        self._open: set[Connection] = set()
        self._timer: asyncio.TimerHandle | None = None
        self._due = 0.0

    def add(self, connection: Connection) -> None:
        """Look after this one."""
        self._open.add(connection)
        if self._timer is None:
            loop = asyncio.get_running_loop()
            self._due = loop.time() + 1
            self._timer = loop.call_at(self._due, self._look)

    def remove(self, connection: Connection) -> None:
        """It is closed."""
        self._open.discard(connection)

    def close(self) -> None:
        """Close all."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        for connection in list(self._open):
            connection.abort()
        for task in list(self.tasks):
            task.cancel()

    def _look(self) -> None:
        loop = asyncio.get_running_loop()
        now = loop.time()
        if now < self._due + _LATE:  # else it was us who were slow, and what was sent meanwhile is not read yet
            for connection in list(self._open):
                connection.look(now)
        self._due = now + 1
        self._timer = loop.call_at(self._due, self._look) if self._open else None


class Connection(asyncio.Protocol):
    """One connection."""

    def __init__(self, all_: Connections) -> None:
        self._all = all_
        self._limits = all_.limits
        self._loop = asyncio.get_running_loop()
        self._parser: Any = httptools.HttpRequestParser(self)
        self._transport: asyncio.Transport | None = None
        self._user: User | None = None
        self._waiting: deque[tuple[Request, bool]] = deque()
        self._busy = False
        self._source: Source | None = None
        self._drained: asyncio.Future[None] | None = None
        self._closing = False
        self._thrown_away = 0
        self._until = self._loop.time() + self._limits.asking  # when it has to have gone on
        self._reset()

    def _reset(self) -> None:
        self._url = b""
        self._headers: dict[str, str] = {}
        self._headers_size = 0
        self._in_headers = True
        self._body: list[bytes] = []
        self._body_size = 0

    # asyncio's calls

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """It is open."""
        self._transport = cast("asyncio.Transport", transport)
        self._transport.set_write_buffer_limits(high=_HIGH_WATER)
        self._user = _user_of(transport.get_extra_info("ssl_object"))
        self._all.add(self)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - asyncio's
        """It is closed."""
        self._transport = None
        self._all.remove(self)
        if self._source is not None:
            self._source.close()
        self.resume_writing()

    def data_received(self, data: bytes) -> None:
        """Something came."""
        if self._closing:  # the other side has not heard of its refusal yet
            self._thrown_away += len(data)
            if self._thrown_away > _THROWN_AWAY:
                self.abort()
            return
        try:
            self._parser.feed_data(data)
            if self._in_headers:
                self._count(len(data))
        except httptools.HttpParserUpgrade:
            self._refuse(statuses.bad_request("this server has nothing to upgrade to"))
        except _TooLarge as error:
            self._refuse(error.args[0])
        except httptools.HttpParserInvalidMethodError:
            asks = _ASKS.match(data)
            self._refuse(statuses.method_not_allowed() if asks else statuses.bad_request("no HTTP request"))
        except httptools.HttpParserError as error:
            context = error.__context__
            self._refuse(context.args[0] if isinstance(context, _TooLarge) else statuses.bad_request("no HTTP request"))

    def eof_received(self) -> bool:
        """The other side says no more, but may still listen."""
        return self._busy and self._source is None

    def pause_writing(self) -> None:
        """The other side is slow."""
        self._drained = self._loop.create_future()
        self._until = self._loop.time() + self._limits.taking

    def resume_writing(self) -> None:
        """It has caught up."""
        if self._drained is not None and not self._drained.done():
            self._drained.set_result(None)
        self._drained = None

    # The parser's calls

    def on_message_begin(self) -> None:
        """A request begins."""
        self._reset()
        if not self._busy:
            self._until = self._loop.time() + self._limits.asking

    def on_url(self, url: bytes) -> None:
        """A part of its address."""
        self._url += url

    def on_header(self, name: bytes, value: bytes) -> None:
        """A header."""
        key, text = name.decode("latin-1").lower(), value.decode("latin-1")
        known = self._headers.get(key)
        # groups to impersonate may have commas in them; no header has an end of line
        joint = "\n" if key.startswith("impersonate-") else ","
        self._headers[key] = f"{known}{joint}{text}" if known is not None else text

    def on_headers_complete(self) -> None:
        """All headers are there."""
        self._in_headers = False
        length = self._headers.get("content-length", "")
        if length.isdigit() and (len(length) > 12 or int(length) > self._limits.body):
            raise _TooLarge(statuses.too_large(self._limits.body))
        if self._headers.get("expect", "").lower() == "100-continue" and self._transport is not None:
            self._transport.write(_CONTINUE)

    def on_body(self, body: bytes) -> None:
        """A part of the body."""
        self._body_size += len(body)
        if self._body_size > self._limits.body:
            raise _TooLarge(statuses.too_large(self._limits.body))
        self._body.append(body)

    def on_message_complete(self) -> None:
        """The request is there."""
        path, _, query = self._url.decode("latin-1").partition("?")
        method = self._parser.get_method().decode("latin-1")
        request = Request(method, path, query, self._headers, b"".join(self._body), self._user)
        self._waiting.append((request, self._parser.should_keep_alive()))
        if not self._busy:
            self._next()
        elif len(self._waiting) > self._limits.waiting and self._transport is not None:
            self._transport.pause_reading()

    # What becomes of a request

    def look(self, now: float) -> None:
        """Close it where it is too slow."""
        if now > self._until and (not self._busy or self._drained is not None):
            self.abort()

    def abort(self) -> None:
        """Close it at once."""
        if self._transport is not None:
            self._transport.abort()

    def _count(self, size: int) -> None:
        self._headers_size += size
        if self._headers_size > self._limits.headers:
            raise _TooLarge(statuses.Refused("RequestEntityTooLarge", "the headers are too large", code=431))

    def _next(self) -> None:
        request, keeps = self._waiting.popleft()
        self._busy = True
        task = self._loop.create_task(self._answer(request, keeps))
        self._all.tasks.add(task)
        task.add_done_callback(self._all.tasks.discard)

    async def _answer(self, request: Request, keeps: bool) -> None:
        try:
            answer = await self._all.handle(request)
            if self._transport is None:
                if isinstance(answer, Streaming):
                    answer.source.close()
                return
            if isinstance(answer, Response):
                await self._write_whole(request, answer, keeps)
            else:
                await self._stream(answer)
            if self._drained is not None:
                await self._drained
        except Torn:
            self.abort()
            return
        except Exception:  # noqa: BLE001 - a fault of ours, amid an answer: nobody shall wait for the rest
            _log.exception("%s %s failed", request.method, request.path)
            self.abort()
            return
        self._busy = False
        self._go_on(keeps)

    def _go_on(self, keeps: bool) -> None:
        transport = self._transport
        if transport is None:
            return
        if self._closing:
            self._linger(transport)
            return
        if not keeps:
            transport.close()
            return
        self._until = self._loop.time() + self._limits.idle
        if self._waiting:
            self._next()
            transport.resume_reading()

    async def _write_whole(self, request: Request, answer: Response, keeps: bool) -> None:
        """Write in pieces, as fast as they are taken: asyncio's TLS copies all that is left, over and over."""
        rest = memoryview(self._write(request, answer, keeps))
        while rest and self._transport is not None:
            self._transport.write(rest[:_PIECE])
            rest = rest[_PIECE:]
            if self._drained is not None:
                await self._drained

    def _write(self, request: Request, answer: Response, keeps: bool) -> bytes:
        """Write the head, and the body unless it is large: then it is what is still to be written."""
        body, extra = answer.body, ""
        if len(body) > _COMPRESSED_FROM and "gzip" in request.header("accept-encoding"):
            packer = zlib.compressobj(1, wbits=31)
            body = packer.compress(body) + packer.flush()
            extra = "Content-Encoding: gzip\r\nVary: Accept-Encoding\r\n"
        if not keeps:
            extra += "Connection: close\r\n"
        length = f"Content-Length: {len(body)}\r\n" if answer.status != _NO_CONTENT else ""
        head = f"{_head(answer)}{extra}{length}\r\n".encode("latin-1", "replace")
        assert self._transport is not None
        if request.method == "HEAD":
            body = b""
        if len(body) > _PIECE:
            self._transport.write(head)
            return body
        self._transport.write(head + body)
        return b""

    async def _stream(self, answer: Streaming) -> None:
        transport, source = self._transport, answer.source
        assert transport is not None
        self._source = source
        try:
            head = f"{_head(answer)}Transfer-Encoding: chunked\r\n\r\n"
            transport.write(head.encode("latin-1", "replace"))
            while chunk := await source.read():
                if self._transport is None:
                    return
                transport.write(b"%x\r\n%b\r\n" % (len(chunk), chunk))
                if self._drained is not None:
                    await self._drained
            if self._transport is not None:
                transport.write(b"0\r\n\r\n")
        finally:
            self._source = None
            source.close()

    def _refuse(self, refused: statuses.Refused) -> None:
        """Say what is wrong with what came, and no more: what comes next cannot be told apart from it."""
        if self._transport is None or self._closing:
            return
        self._closing = True
        if self._busy:
            return  # the answer before comes first, and then nothing
        answer = Response(refused.code, msgspec.json.encode(refused.body()))
        self._write(Request("GET", "/"), answer, keeps=False)
        self._linger(self._transport)

    def _linger(self, transport: asyncio.Transport) -> None:
        """To close with something unread would take the answer back, so what still comes is thrown away for a while.

        With TLS there is no closing of one half: the other side hears in the answer that it is the last.
        """
        if transport.can_write_eof():
            transport.write_eof()
        self._until = self._loop.time() + _LINGERS


class _TooLarge(Exception):
    """Carries the refusal through the parser."""


def _head(answer: Answer) -> str:
    lines = [
        f"HTTP/1.1 {answer.status} {_REASONS.get(answer.status, 'Unknown')}",
    ]
    if answer.content_type:
        lines.append(f"Content-Type: {answer.content_type}")
    if not any(name == "Cache-Control" for name, _ in answer.headers):
        lines.append("Cache-Control: no-cache, private")
    lines += [f"{name}: {_clean(value)}" for name, value in answer.headers]
    return "\r\n".join(lines) + "\r\n"


def _clean(value: str) -> str:
    return value.replace("\r", " ").replace("\n", " ")


def _user_of(tls: ssl.SSLObject | None) -> User | None:
    """Whom a client certificate is for: its common name is the user, its organizations the groups."""
    certificate = tls.getpeercert() if tls is not None else None
    der = tls.getpeercert(binary_form=True) if tls is not None else None
    if not certificate or der is None:
        return None
    subject = cast("tuple[tuple[tuple[str, str], ...], ...]", certificate.get("subject", ()))
    named = [pair for part in subject for pair in part]
    name = next((value for key, value in reversed(named) if key == "commonName"), "")
    groups = [value for key, value in named if key == "organizationName"]
    identity = f"X509SHA256={hashlib.sha256(der).hexdigest()}"
    return User(name, (*groups, "system:authenticated"), "", {CREDENTIAL: [identity]}) if name else None

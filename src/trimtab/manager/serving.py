"""The HTTP server of a process: health and metrics, to whoever may reach its address.

It answers GET and HEAD, one request a connection, and everything about it is bounded: how many connections, how much is
read from one, and how long that may take.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from http import HTTPStatus
from typing import Final, TypeAlias
from urllib.parse import parse_qs, urlsplit

from trimtab.client.failures import reason
from trimtab.errors import TrimtabError

_log = logging.getLogger("trimtab.manager.http")

_MOST_CONNECTIONS: Final = 64
_LARGEST_HEAD: Final = 16 << 10
_HEAD_SECONDS: Final = 10.0
_ANSWER_SECONDS: Final = 30.0
TEXT: Final = "text/plain; charset=utf-8"


class ListenError(TrimtabError):
    """The address to listen at is none, or is taken; `why` says that alone, without what to do."""

    def __init__(self, text: str, why: str = "") -> None:
        super().__init__(text)
        self.why = why or text


@dataclass(frozen=True, slots=True)
class Address:
    """Where to listen. Port 0 is any that is free."""

    host: str
    port: int

    @classmethod
    def parse(cls, text: str) -> Address:
        """`127.0.0.1:8080`, `[::1]:8080`, `:8080` (all addresses) or `8080` (loopback)."""
        host, colon, port = text.rpartition(":")
        if not port.isdecimal() or int(port) > 0xFFFF or (":" in host and not host.startswith("[")):
            raise ListenError(f"{text!r} is no address to listen at: give host:port, such as 127.0.0.1:8080 or :8080")
        return cls(host.strip("[]") if colon else "127.0.0.1", int(port))

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


@dataclass(frozen=True, slots=True)
class Asked:
    """A request: its path, its query, and what may be answered."""

    path: str
    query: dict[str, list[str]]
    accept: str


@dataclass(frozen=True, slots=True)
class Said:
    """An answer."""

    status: int
    body: bytes
    content_type: str = TEXT


Answerer: TypeAlias = Callable[[Asked], Said | None]
"""Answers what it knows, and leaves the rest (None) to others."""


class HttpServer:
    """Asks the answerers in turn, in the event loop's thread."""

    def __init__(self, *answerers: Answerer) -> None:
        self.answerers = list(answerers)
        self._server: asyncio.Server | None = None
        self._connections: set[asyncio.Task[None]] = set()

    async def start(self, address: Address) -> Address:
        """Listen; the address with its port, which is a free one where 0 was asked for."""
        try:
            self._server = await asyncio.start_server(self._serve, address.host or None, address.port)
        except (OSError, OverflowError) as error:
            why = reason(error)
            raise ListenError(f"cannot listen at {address}: {why}: choose another address", why) from error
        port: int = self._server.sockets[0].getsockname()[1]
        return Address(address.host, port)

    async def stop(self) -> None:
        """Listen no longer; what is being answered is cut."""
        if self._server is not None:
            self._server.close()
        for connection in self._connections:
            connection.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._connections.add(task)
        try:
            if len(self._connections) <= _MOST_CONNECTIONS:
                await self._exchange(reader, writer)
        except (OSError, TimeoutError, asyncio.IncompleteReadError, asyncio.CancelledError):
            writer.transport.abort()  # whoever asked is gone, or too slow, or we are stopping
        finally:
            writer.close()
            with suppress(OSError, asyncio.CancelledError):
                await writer.wait_closed()
            self._connections.discard(task)

    async def _exchange(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        async with asyncio.timeout(_HEAD_SECONDS):
            try:
                head = await reader.readuntil(b"\r\n\r\n")
            except asyncio.LimitOverrunError:
                head = b""
        method, said = self._answer(head) if len(head) <= _LARGEST_HEAD else ("", _plain(431))
        status = HTTPStatus(said.status)
        lines = [
            f"HTTP/1.1 {status.value} {status.phrase}",
            f"Content-Type: {said.content_type}",
            f"Content-Length: {len(said.body)}",
            "X-Content-Type-Options: nosniff",
            "Cache-Control: no-store",
            "Connection: close",
        ]
        async with asyncio.timeout(_ANSWER_SECONDS):
            writer.write("\r\n".join(lines).encode() + b"\r\n\r\n" + (b"" if method == "HEAD" else said.body))
            await writer.drain()
            writer.write_eof()

    def _answer(self, head: bytes) -> tuple[str, Said]:
        first, *rest = head.decode("latin-1").split("\r\n")
        match first.split(" "):
            case [("GET" | "HEAD") as method, target, ("HTTP/1.1" | "HTTP/1.0")] if target.startswith("/"):
                url = urlsplit(target)
                headers = {name.strip().lower(): value.strip() for name, _, value in (h.partition(":") for h in rest)}
                try:
                    query = parse_qs(url.query, keep_blank_values=True, max_num_fields=50)
                except ValueError:
                    return method, _plain(400)
                return method, self._say(Asked(url.path, query, headers.get("accept", "")))
            case [_, _, ("HTTP/1.1" | "HTTP/1.0")]:
                return "", _plain(405)
            case _:
                return "", _plain(400)

    def _say(self, asked: Asked) -> Said:
        for answerer in self.answerers:
            try:
                said = answerer(asked)
            except Exception:  # noqa: BLE001  # whoever looks in from outside learns no more than that it failed
                _log.exception("cannot answer %s", asked.path)
                return _plain(500)
            if said is not None:
                return said
        return _plain(404)


def _plain(status: int) -> Said:
    return Said(status, f"{HTTPStatus(status).phrase.lower()}\n".encode())

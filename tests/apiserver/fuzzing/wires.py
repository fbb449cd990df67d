"""Requests over sockets, and clients that do not behave: slow, half-closed, cut off, or saying what is no HTTP."""

from __future__ import annotations

import asyncio
import logging
import random
import ssl
import time
from collections.abc import Awaitable, Callable
from typing import NamedTuple
from urllib.parse import quote

import msgspec
from tests.apiserver.fuzzing.dice import Source
from tests.apiserver.fuzzing.running import Finding, Log, Outcome, clear, prepared, wrong_with

from trimtab.apiserver.http import Limits, Listener
from trimtab.apiserver.keys import Keys
from trimtab.apiserver.messages import Request, Response
from trimtab.apiserver.server import ADMIN, Server

LIMITS = Limits(asking=3.0, idle=3.0, taking=3.0)
_AT_ONCE = 8
_PATIENCE = 20.0  # seconds for an answer, beside seven other requests
_A_SERVER_FOR = 500
_TOKEN = "authorization: Bearer t\r\n"
_ODD_HEADS = [
    b"\r\n\r\n\r\n",
    b"GET /api HTTP/9.9\r\n\r\n",
    b"GET http://x/api HTTP/1.1\r\n\r\n",
    b"GET /api HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
    b"GET /api HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nxx",
    b"POST /api HTTP/1.1\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    b"POST /api HTTP/1.1\r\nTransfer-Encoding: gzip, chunked\r\n\r\n",
    b"POST /api HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffffff\r\n",
    b"POST /api HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n-1\r\n",
    b"POST /api HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3;" + b"x" * 70_000 + b"\r\nabc\r\n",
    b"GET /api HTTP/1.1\r\nA\x00B: c\r\n\r\n",
    b"GET /api HTTP/1.1\r\n folded: x\r\n\r\n",
    b"GET /" + b"a" * 100_000 + b" HTTP/1.1\r\n\r\n",
    b"GET /api HTTP/1.1\r\n" + b"".join(b"h%d: v\r\n" % n for n in range(10_000)) + b"\r\n",
    b"GET /api HTTP/1.1\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n",
    b"CONNECT x:443 HTTP/1.1\r\n\r\n",
    b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    b"GET /api HTTP/1.1\r\nHost: \xff\xfe\r\n\r\n",
    b"OPTIONS * HTTP/1.1\r\n\r\n",
    b"GET  /api  HTTP/1.1\r\n\r\n",
    b"get /api http/1.1\r\n\r\n",
]


class Client(NamedTuple):
    """One connection."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter


class Wires:
    """Two ways in to one server, and clients of them."""

    def __init__(self, seed: int) -> None:
        self.source = Source(seed)
        self.dice = random.Random(seed)
        self.outcome = Outcome()
        self._keys = Keys.make()
        self._trusting = ssl.create_default_context()
        self._trusting.check_hostname, self._trusting.verify_mode = False, ssl.CERT_NONE
        self._server: Server | None = None
        self._ways: list[Listener] = []
        self._odd: list[Callable[[Client, bytes], Awaitable[None]]] = [
            self._cut_off,
            self._half_closed,
            self._slowly,
            self._not_read,
            self._something_else,
            self._many_at_once,
            self._broken,
        ]

    async def begin(self) -> Server:
        """Another server, on other ports."""
        await self.end()
        self._server = await prepared()
        self._server.identities.add_token("t", ADMIN)
        handle = self._server.handle
        self._ways = [Listener(handle, limits=LIMITS), Listener(handle, tls=self._keys.server_context(), limits=LIMITS)]
        for way in self._ways:
            await way.start()
        return self._server

    async def end(self) -> None:
        """Close all."""
        for way in self._ways:
            await way.stop()
        if self._server is not None:
            self._server.close()

    async def one(self, number: int) -> None:
        """One request, in one of the ways in which it can go wrong, or in the right one."""
        request = self.source.request()
        secure = self.dice.random() < 0.3
        odd = self.dice.choice(self._odd) if self.dice.random() < 0.25 else None
        self.outcome.asked += 1
        begun = time.monotonic()
        try:
            async with asyncio.timeout(_PATIENCE):
                reader, writer = await self._connect(secure=secure)
                try:
                    if odd is not None:
                        await odd(Client(reader, writer), written(request))
                    else:
                        writer.write(written(request))
                        answer = await read(reader, bodiless=request.method == "HEAD")
                        self.outcome.statuses[answer.status] = self.outcome.statuses.get(answer.status, 0) + 1
                        if wrong := wrong_with(answer, bodiless=request.method == "HEAD"):
                            self._note(number, request, wrong)
                finally:
                    writer.close()
        except ConnectionError:
            if odd is None:
                self._note(number, request, "the connection broke")
        except asyncio.IncompleteReadError as error:
            if odd is None:
                self._note(number, request, f"half an answer: {error.partial[:100]!r}")
        except TimeoutError:
            self._note(number, request, f"no answer in {_PATIENCE:.0f} s, {odd.__name__ if odd else 'plainly'}")
        self.outcome.longest = max(self.outcome.longest, time.monotonic() - begun)

    async def plain(self) -> None:
        """A plain request is answered, at either way in."""
        for secure in (False, True):
            async with asyncio.timeout(_PATIENCE):
                reader, writer = await self._connect(secure=secure)
                writer.write(f"GET /healthz HTTP/1.1\r\n{_TOKEN}\r\n".encode())
                answer = await read(reader)
                writer.close()
            if answer.body != b"ok":
                self._note(self.outcome.asked, Request("GET", "/healthz"), f"deaf: {answer}")

    async def _connect(self, *, secure: bool) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        port = self._ways[secure].port
        return await asyncio.open_connection("127.0.0.1", port, ssl=self._trusting if secure else None, limit=1 << 24)

    def _note(self, number: int, request: Request, what: str) -> None:
        self.outcome.findings.append(Finding(number, request, f"over a socket: {what}"))

    # Clients that do not behave. What they are told does not matter, as long as it ends.

    async def _cut_off(self, client: Client, text: bytes) -> None:
        client.writer.write(text[: self.dice.randrange(len(text))])
        if client.writer.can_write_eof():
            client.writer.write_eof()
        await _to_the_end(client.reader)

    async def _half_closed(self, client: Client, text: bytes) -> None:
        client.writer.write(text)
        if client.writer.can_write_eof():
            client.writer.write_eof()
        await _to_the_end(client.reader)

    async def _slowly(self, client: Client, text: bytes) -> None:
        step = max(1, len(text) // 50)
        for place in range(0, len(text), step):
            client.writer.write(text[place : place + step])
            await client.writer.drain()
            await asyncio.sleep(0)
        await read(client.reader, bodiless=text.startswith(b"HEAD "))

    async def _not_read(self, client: Client, text: bytes) -> None:
        for _ in range(3):
            client.writer.write(text)
        await asyncio.sleep(0)

    async def _something_else(self, client: Client, _: bytes) -> None:
        odd = self.dice.choice(_ODD_HEADS)
        client.writer.write(
            odd if self.dice.random() < 0.7 else self.dice.randbytes(self.dice.choice([3, 300, 100_000]))
        )
        await _to_the_end(client.reader)

    async def _many_at_once(self, client: Client, _: bytes) -> None:
        one = f"GET /version HTTP/1.1\r\n{_TOKEN}\r\n".encode()
        client.writer.write(one * 50 + self.dice.choice(_ODD_HEADS))
        for _ in range(50):
            assert (await read(client.reader)).status == 200

    async def _broken(self, client: Client, text: bytes) -> None:
        place = self.dice.randrange(len(text))
        client.writer.write(text[:place] + self.dice.randbytes(5) + text[place:])
        await _to_the_end(client.reader)


async def run(seed: int, count: int) -> Outcome:
    """Send so many requests, eight at a time, to servers with short patience."""
    wires, log, limit = Wires(seed), Log(), asyncio.Semaphore(_AT_ONCE)
    logging.getLogger().addHandler(log)

    async def one(number: int) -> None:
        async with limit:
            await wires.one(number)

    try:
        for begun in range(0, count, 100):
            if begun % _A_SERVER_FOR == 0:
                server = await wires.begin()
            await asyncio.gather(*(one(number) for number in range(begun, min(begun + 100, count))))
            await clear(server)
            await wires.plain()
            if logged := log.take():
                wires.outcome.findings.append(Finding(begun, Request("", ""), f"over a socket: logged {logged}"))
    finally:
        await wires.end()
        logging.getLogger().removeHandler(log)
    return wires.outcome


def written(request: Request) -> bytes:
    """The bytes of a request, as right as it can be written."""
    path = quote(request.path.encode("latin-1", "replace"), safe="/%:@!$&'()*+,;=~-._")
    query = quote(request.query.encode("latin-1", "replace"), safe="/%:@!$&'()*+,;=~-._?")
    lines = [f"{request.method} {path or '/'}?{query} HTTP/1.1", "host: x"]
    lines += [f"{name}: {_line(value)}" for name, value in request.headers.items()]
    if request.user is not None:
        lines.append("authorization: Bearer t")
    lines.append(f"content-length: {len(request.body)}")
    return "\r\n".join(lines).encode("latin-1", "replace") + b"\r\n\r\n" + request.body


def _line(value: str) -> str:
    return "".join(character if character >= " " and character != "\x7f" else " " for character in value)


async def read(reader: asyncio.StreamReader, *, bodiless: bool = False) -> Response:
    """One answer; of a watch, its head."""
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    found = {name.lower(): value for name, _, value in (line.partition(": ") for line in head[1:] if line)}
    status = int(head[0].split()[1])
    if status == 100:
        return await read(reader, bodiless=bodiless)
    size = int(found.get("content-length", "0"))
    body = await reader.readexactly(size) if "transfer-encoding" not in found and not bodiless else b""
    return Response(status, body, found.get("content-type", ""))


async def _to_the_end(reader: asyncio.StreamReader) -> None:
    """Everything that is said, until it is known that nothing more will be: what is said has to be HTTP."""
    try:
        answer = await read(reader)  # where it is one of HEAD, the end comes instead of a body
    except (asyncio.IncompleteReadError, asyncio.LimitOverrunError):
        return
    if answer.status >= 400 and answer.content_type == "application/json" and answer.body:
        assert msgspec.json.decode(answer.body)["kind"] == "Status"

"""Connections of every sort, byte by byte: whatever comes, the answer is a Status, and nobody holds the server up."""

from __future__ import annotations

import asyncio
import gzip
import ssl
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass

import msgspec
import pytest

from trimtab.apiserver.http import Limits, Listener
from trimtab.apiserver.keys import Keys
from trimtab.apiserver.server import ADMIN, Server

TOKEN = "Authorization: Bearer t\r\n"
CMS = "/api/v1/namespaces/default/configmaps"
LIMITS = Limits(asking=0.5, idle=0.5, taking=0.5)


@dataclass
class Wire:
    """One connection to a server."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    def send(self, text: str | bytes) -> None:
        self.writer.write(text.encode("latin-1") if isinstance(text, str) else text)

    def ask(self, method: str, path: str, body: bytes = b"", headers: str = TOKEN) -> None:
        length = f"Content-Length: {len(body)}\r\n" if body else ""
        self.send(f"{method} {path} HTTP/1.1\r\nHost: x\r\n{headers}{length}\r\n".encode() + body)

    async def answer(self) -> tuple[int, dict[str, str], bytes]:
        async with asyncio.timeout(10):
            head = (await self.reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
            headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in head[1:] if line)}
            body = await self.reader.readexactly(int(headers.get("content-length", "0")))
        return int(head[0].split()[1]), headers, body

    async def status(self) -> tuple[int, str]:
        code, _, body = await self.answer()
        return code, msgspec.json.decode(body).get("reason", "")

    async def end(self) -> bytes:
        """What still comes until the server closes."""
        async with asyncio.timeout(10):
            try:
                return await self.reader.read(-1)
            except ConnectionResetError:
                return b""


class Place:
    def __init__(self, listener: Listener) -> None:
        self.listener = listener
        self.wires: list[Wire] = []

    async def connect(self) -> Wire:
        self.wires.append(Wire(*await asyncio.open_connection("127.0.0.1", self.listener.port)))
        return self.wires[-1]


@pytest.fixture
async def place() -> AsyncIterator[Place]:
    server = Server()
    server.identities.add_token("t", ADMIN)
    listener = Listener(server.handle, limits=LIMITS)
    await listener.start()
    made = Place(listener)
    yield made
    for wire in made.wires:
        wire.writer.close()
    await listener.stop()


async def test_requests_follow_each_other_on_a_connection(place: Place) -> None:
    wire = await place.connect()
    wire.ask("POST", CMS, b'{"metadata":{"name":"a"}}')
    assert (await wire.answer())[0] == 201
    wire.ask("GET", f"{CMS}/a")
    wire.ask("DELETE", f"{CMS}/a")
    wire.ask("GET", f"{CMS}/a")  # sent before the answers to the two before
    assert [(await wire.answer())[0] for _ in range(3)] == [200, 200, 404]


async def test_a_request_comes_byte_by_byte(place: Place) -> None:
    wire = await place.connect()
    body = '{"metadata":{"name":"slow"}}'
    text = f"POST {CMS} HTTP/1.1\r\n{TOKEN}Content-Length: {len(body)}\r\n\r\n{body}"
    for char in text:
        wire.send(char)
        await wire.writer.drain()
    assert (await wire.answer())[0] == 201


@pytest.mark.parametrize("headers", ["", "Authorization: Bearer no\r\n", "Authorization: Basic dDp0\r\n"])
async def test_nobody_is_anonymous(place: Place, headers: str) -> None:
    wire = await place.connect()
    for path in ("/api", "/version", "/healthz", CMS, "/nope"):
        wire.ask("GET", path, headers=headers)
        assert await wire.status() == (401, "Unauthorized")


@pytest.mark.parametrize(
    "text", ["nonsense\r\n\r\n", "GET\r\n\r\n", "\x00\x01\x02", f"GET / HTTP/1.1\r\n{TOKEN}Content-Length: x\r\n\r\n"]
)
async def test_what_is_no_http_is_told_so(place: Place, text: str) -> None:
    wire = await place.connect()
    wire.send(text)
    assert await wire.status() == (400, "BadRequest")
    assert await wire.end() == b""


async def test_bodies_and_headers_have_a_limit(place: Place) -> None:
    announced = await place.connect()
    announced.send(f"POST {CMS} HTTP/1.1\r\n{TOKEN}Content-Length: 99999999\r\n\r\n")
    assert await announced.status() == (413, "RequestEntityTooLarge")
    chunked = await place.connect()
    chunked.send(f"POST {CMS} HTTP/1.1\r\n{TOKEN}Transfer-Encoding: chunked\r\n\r\n")
    for _ in range(4):
        chunked.send(b"100000\r\n" + b"x" * (1 << 20) + b"\r\n")
    assert await chunked.status() == (413, "RequestEntityTooLarge")
    headers = await place.connect()
    headers.send(f"GET / HTTP/1.1\r\nX: {'y' * 70_000}")
    assert (await headers.status())[0] == 431


@pytest.mark.parametrize("announced", [True, False])
async def test_who_still_sends_what_is_too_large_hears_so_over_tls(announced: bool) -> None:
    keys = Keys.make()
    server = Server()
    server.identities.add_token("t", ADMIN)
    listener = Listener(server.handle, tls=keys.server_context())
    await listener.start()
    wire = Wire(*await asyncio.open_connection("127.0.0.1", listener.port, ssl=_trusting_nobody()))
    size = 12 << 20
    length = f"Content-Length: {size}" if announced else "Transfer-Encoding: chunked"
    wire.send(f"POST {CMS} HTTP/1.1\r\n{TOKEN}{length}\r\n\r\n")
    for _ in range(size >> 20):  # and nothing is read before all is said
        wire.send(b"x" * (1 << 20) if announced else b"100000\r\n" + b"x" * (1 << 20) + b"\r\n")
        await wire.writer.drain()
    assert await wire.status() == (413, "RequestEntityTooLarge")
    wire.writer.close()
    await listener.stop()


def _trusting_nobody() -> ssl.SSLContext:
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context


async def test_who_never_stops_to_send_is_left(place: Place) -> None:
    wire = await place.connect()
    wire.send(f"POST {CMS} HTTP/1.1\r\n{TOKEN}Content-Length: 99999999999\r\n\r\n")
    assert await wire.status() == (413, "RequestEntityTooLarge")
    with pytest.raises(ConnectionError):
        await _send_on(wire, 200)


async def _send_on(wire: Wire, times: int) -> None:
    for _ in range(times):
        wire.send(b"x" * (1 << 20))
        await wire.writer.drain()


async def test_the_half_of_a_request_is_not_waited_for(place: Place) -> None:
    silent, half, idle = [await place.connect() for _ in range(3)]
    half.send(f"POST {CMS} HTTP/1.1\r\n{TOKEN}Content-Length: 10\r\n\r\n12")
    idle.ask("GET", "/healthz")
    assert (await idle.answer())[2] == b"ok"
    assert [await wire.end() for wire in (silent, half, idle)] == [b"", b"", b""]


async def test_nobody_is_closed_for_what_kept_the_server_busy(place: Place) -> None:
    wire = await place.connect()
    wire.ask("GET", "/healthz")
    await wire.answer()
    wire.ask("GET", "/healthz")
    time.sleep(2)  # noqa: ASYNC251 - that is a server that does nothing else for longer than a client may be idle
    assert (await wire.answer())[2] == b"ok"


async def test_who_closes_their_half_still_gets_the_answer(place: Place) -> None:
    wire = await place.connect()
    wire.ask("GET", "/healthz")
    wire.writer.write_eof()
    assert (await wire.answer())[2] == b"ok"


async def test_who_does_not_take_an_answer_is_left(place: Place) -> None:
    wire = await place.connect()
    for number in range(30):
        body = msgspec.json.encode({"metadata": {"name": f"big{number}"}, "data": {"x": "y" * 900_000}})
        wire.ask("POST", CMS, body)
        assert (await wire.answer())[0] == 201
    greedy = await place.connect()
    greedy.reader._limit = 1  # pyright: ignore - so that it stops to read
    for _ in range(3):
        greedy.ask("GET", CMS)
    connections = place.listener._connections
    async with asyncio.timeout(20):
        while len(connections._open) > 1 or wire.reader.at_eof():
            await asyncio.sleep(0.05)
            wire.ask("GET", "/healthz")
            assert (await wire.answer())[2] == b"ok"


async def test_large_answers_are_packed_for_who_takes_that(place: Place) -> None:
    wire = await place.connect()
    wire.ask("POST", CMS, msgspec.json.encode({"metadata": {"name": "a"}, "data": {"x": "y" * 200_000}}))
    await wire.answer()
    wire.ask("GET", f"{CMS}/a", headers=TOKEN + "Accept-Encoding: gzip\r\n")
    _, headers, body = await wire.answer()
    assert headers["content-encoding"] == "gzip"
    assert len(body) < 2000
    assert msgspec.json.decode(gzip.decompress(body))["data"]["x"][:1] == "y"
    wire.ask("HEAD", f"{CMS}/a")
    head = await wire.reader.readuntil(b"\r\n\r\n")
    wire.ask("GET", "/healthz")
    assert (head[:12], (await wire.answer())[2]) == (b"HTTP/1.1 405", b"ok")


async def test_a_watch_is_told_in_chunks_and_ends_in_good_order(place: Place) -> None:
    wire, writer = await place.connect(), await place.connect()
    wire.ask("GET", f"{CMS}?watch=1&timeoutSeconds=1")
    head = await wire.reader.readuntil(b"\r\n\r\n")
    assert b"Transfer-Encoding: chunked" in head
    writer.ask("POST", CMS, b'{"metadata":{"name":"a"}}')
    size = int(await wire.reader.readline(), 16)
    event = msgspec.json.decode(await wire.reader.readexactly(size))
    assert (event["type"], event["object"]["metadata"]["name"]) == ("ADDED", "a")
    rest = await wire.reader.readuntil(b"0\r\n\r\n")
    assert rest == b"\r\n0\r\n\r\n"
    wire.ask("GET", "/healthz")
    assert (await wire.answer())[2] == b"ok"

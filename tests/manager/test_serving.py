"""The HTTP server over real sockets: what it answers, and what it does not let others do to it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

import pytest

from trimtab.manager import serving
from trimtab.manager.serving import Address, Asked, HttpServer, ListenError, Said


def answer(asked: Asked) -> Said | None:
    if asked.path == "/broken":
        raise ZeroDivisionError("a secret")
    text = f"{asked.path} {asked.query} {asked.accept}"
    return Said(200, text.encode()) if asked.path.startswith("/here") else None


@asynccontextmanager
async def running() -> AsyncIterator[tuple[HttpServer, Address]]:
    server = HttpServer(answer)
    try:
        yield server, await server.start(Address("127.0.0.1", 0))
    finally:
        await server.stop()


async def exchange(address: Address, data: bytes) -> bytes:
    reader, writer = await asyncio.open_connection(address.host, address.port)
    writer.write(data)
    try:
        async with asyncio.timeout(10):
            return await reader.read()
    except ConnectionResetError:
        return b""
    finally:
        writer.close()
        with suppress(ConnectionError):
            await writer.wait_closed()


def get(path: str, method: str = "GET") -> bytes:
    return f"{method} {path} HTTP/1.1\r\nHost: x\r\nAccept: text/plain\r\n\r\n".encode()


async def test_it_answers_what_it_knows_and_nothing_else() -> None:
    async with running() as (_, address):
        head, _, body = (await exchange(address, get("/here?a=1&b"))).partition(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 200 OK\r\n")
        assert b"Connection: close" in head
        assert body == b"/here {'a': ['1'], 'b': ['']} text/plain"
        assert (await exchange(address, get("/here", "HEAD"))).endswith(b"\r\n\r\n")
        for data, status in (
            (get("/nowhere"), b"404 Not Found"),
            (get("/here", "POST"), b"405 Method Not Allowed"),
            (get("/broken"), b"500 Internal Server Error"),
            (b"nonsense\r\n\r\n", b"400 Bad Request"),
            (get("/here?" + "&".join("a" * 60)), b"400 Bad Request"),
            (b"GET /here HTTP/1.1\r\nA: " + b"x" * 17_000 + b"\r\n\r\n", b"431 Request Header Fields Too Large"),
        ):
            said = await exchange(address, data)
            assert said.startswith(b"HTTP/1.1 " + status), data
            assert b"secret" not in said


async def test_who_says_nothing_is_cut_and_so_are_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serving, "_HEAD_SECONDS", 0.05)
    async with running() as (_, address):
        assert await exchange(address, b"GET /here HT") == b""
    monkeypatch.setattr(serving, "_HEAD_SECONDS", 10)
    monkeypatch.setattr(serving, "_MOST_CONNECTIONS", 3)
    async with running() as (server, address):
        idle = [await asyncio.open_connection(address.host, address.port) for _ in range(3)]
        assert await exchange(address, b"GET") == b""
        await server.stop()  # which cuts them all
        for reader, writer in idle:
            with suppress(ConnectionResetError):
                assert await reader.read() == b""
            writer.close()


async def test_an_address_that_is_taken_is_one_line() -> None:
    async with running() as (_, address):
        with pytest.raises(ListenError, match=rf"^cannot listen at {address}: address already in use: choose another"):
            await HttpServer().start(address)


@pytest.mark.parametrize(
    ("text", "host", "port"),
    [("127.0.0.1:80", "127.0.0.1", 80), (":8080", "", 8080), ("8080", "127.0.0.1", 8080), ("[::1]:1", "::1", 1)],
)
def test_addresses(text: str, host: str, port: int) -> None:
    assert Address.parse(text) == Address(host, port)


@pytest.mark.parametrize("text", ["", "x", "host:", "::1:80", "127.0.0.1:99999"])
def test_what_is_no_address_is_one_line(text: str) -> None:
    with pytest.raises(ListenError, match="is no address to listen at"):
        Address.parse(text)

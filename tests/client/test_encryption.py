"""TLS as the transport speaks it, against servers that use asyncio's own."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any, cast

import pytest

from trimtab.client.config.model import Config
from trimtab.client.config.tls import TLS
from trimtab.client.encryption import Encryption
from trimtab.client.http import HttpTransport
from trimtab.client.request import Request
from trimtab.client.transport import Broken, Unreachable, Untrusted
from trimtab.pki import CertificateAuthority

Reader = asyncio.StreamReader
Writer = asyncio.StreamWriter
Script = Callable[[Reader, Writer], Awaitable[None]]

GET = Request("get", "GET", "/x", "x", idempotent=True)
UNTIL_THE_END = b"HTTP/1.1 200 OK\r\n\r\n"
STREAM = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"


@pytest.fixture(scope="module")
def authority() -> CertificateAuthority:
    return CertificateAuthority.create()


@pytest.fixture
def context(authority: CertificateAuthority, tmp_path: Path) -> ssl.SSLContext:
    certificate, key = authority.issue_server("127.0.0.1").write(tmp_path, "serving")
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    made.load_cert_chain(certificate, key)
    return made


@asynccontextmanager
async def talking_to(
    script: Script, authority: CertificateAuthority, context: ssl.SSLContext | None
) -> AsyncIterator[HttpTransport]:
    async def run(reader: Reader, writer: Writer) -> None:
        try:
            await script(reader, writer)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(run, "127.0.0.1", 0, ssl=context)
    port = server.sockets[0].getsockname()[1]
    transport = HttpTransport(Config(server=f"https://127.0.0.1:{port}", tls=TLS(ca=authority.certificate)))
    try:
        yield transport
    finally:
        await transport.close()
        server.close()


async def head(reader: Reader) -> bytes:
    return await reader.readuntil(b"\r\n\r\n")


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(data), data)


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
async def test_what_is_large_comes_whole_both_ways(
    authority: CertificateAuthority, context: ssl.SSLContext, version: ssl.TLSVersion
) -> None:
    context.minimum_version = context.maximum_version = version
    large = bytes(range(256)) * 12_000  # more than any buffer on the way

    async def echo(reader: Reader, writer: Writer) -> None:
        while True:
            await head(reader)
            body = await reader.readexactly(len(large))
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body) + body)

    async with talking_to(echo, authority, context) as transport:
        for _ in range(2):
            request = Request("create", "POST", "/x", "x", body=large)
            assert (await transport.send(request)).body == large


async def test_an_end_that_the_server_did_not_announce_is_no_end(
    authority: CertificateAuthority, context: ssl.SSLContext
) -> None:
    """Anybody on the way can end a TCP connection: what lasts until the end would be taken for whole."""

    async def announce(reader: Reader, writer: Writer) -> None:
        await head(reader)
        writer.write(UNTIL_THE_END + b"all of it")

    async def cut(reader: Reader, writer: Writer) -> None:
        await head(reader)
        writer.write(UNTIL_THE_END + b"half of")
        await writer.drain()
        writer.transport.abort()

    async with talking_to(announce, authority, context) as transport:
        assert (await transport.send(GET)).body == b"all of it"
    async with talking_to(cut, authority, context) as transport:
        with pytest.raises(Broken, match="the connection broke before the answer was whole"):
            await transport.send(GET)


async def test_a_reader_that_rests_reads_what_came_meanwhile_together(
    authority: CertificateAuthority, context: ssl.SSLContext
) -> None:
    resting, written, rested = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def script(reader: Reader, writer: Writer) -> None:
        await head(reader)
        writer.write(STREAM + chunk(b"0"))
        await resting.wait()
        for number in range(1, 6):
            writer.write(chunk(b"%d" % number))
            for _ in range(20):  # turns of the loop, in which a reader that does not rest would read it
                await asyncio.sleep(0)
        written.set()
        await rested.wait()
        writer.write(chunk(b"and on"))
        await reader.read()

    async with talking_to(script, authority, context) as transport, transport.stream(GET) as stream:
        assert await stream.read() == b"0"
        stream.rest(0.3)
        reading = asyncio.create_task(stream.read())
        resting.set()
        await written.wait()
        assert await reading == b"12345"
        rested.set()
        assert await stream.read() == b"and on"


async def test_a_server_that_hangs_up_or_does_not_speak_tls(
    authority: CertificateAuthority, context: ssl.SSLContext
) -> None:
    async def hang_up(reader: Reader, writer: Writer) -> None:
        await reader.read(1)

    async def talk_of_something_else(reader: Reader, writer: Writer) -> None:
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        await reader.read()

    async with talking_to(hang_up, authority, None) as transport:
        with pytest.raises(Unreachable, match=r"connection reset by peer|closed by the server"):
            await transport.send(GET)
    async with talking_to(talk_of_something_else, authority, None) as transport:
        with pytest.raises(Untrusted, match=r"the TLS handshake failed \(.*\): is this the https port"):
            await transport.send(GET)


async def test_a_server_of_another_authority_is_not_trusted_and_is_told_so(context: ssl.SSLContext) -> None:
    asked: list[bytes] = []

    async def script(reader: Reader, writer: Writer) -> None:
        asked.append(await head(reader))

    async with talking_to(script, CertificateAuthority.create(), context) as transport:
        with pytest.raises(Untrusted, match="its certificate is not trusted"):
            await transport.send(GET)
    assert asked == []


class _Asked:
    """TLS that has to answer what it read, as to a new key; asyncio's own cannot be told to ask for that."""

    def __init__(self, incoming: ssl.MemoryBIO, outgoing: ssl.MemoryBIO) -> None:
        self._incoming, self._outgoing = incoming, outgoing

    def do_handshake(self) -> None:
        """Is done."""

    def pending(self) -> int:
        return 0

    def read(self, count: int, into: memoryview) -> int:
        data = self._incoming.read(count)
        into[: len(data)] = data
        self._outgoing.write(b"answer to " + data)
        return len(data)

    @classmethod
    def wrap_bio(cls, incoming: ssl.MemoryBIO, outgoing: ssl.MemoryBIO, server_hostname: str) -> "_Asked":
        assert server_hostname == "example"
        return cls(incoming, outgoing)


class _Heard(asyncio.Protocol):
    def __init__(self) -> None:
        self.data: list[bytes] = []

    def data_received(self, data: bytes | memoryview) -> None:
        self.data.append(bytes(data))


class _Wire(asyncio.Transport):
    def __init__(self) -> None:
        super().__init__()
        self.sent: list[bytes] = []

    def write(self, data: Any) -> None:
        self.sent.append(bytes(data))


async def test_what_tls_has_to_answer_goes_out_at_once() -> None:
    heard, wire = _Heard(), _Wire()
    encryption = Encryption(heard, cast("ssl.SSLContext", _Asked), "example")
    encryption.connection_made(wire)
    encryption.data_received(b"ask")
    assert heard.data == [b"ask"]
    assert wire.sent == [b"answer to ask"]


async def test_what_came_in_several_records_is_delivered_as_one(
    authority: CertificateAuthority, context: ssl.SSLContext
) -> None:
    """Each delivery goes through the parser of HTTP and wakes who reads: that costs more than to read a record."""
    heard, wire = _Heard(), _Wire()
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    server = context.wrap_bio(incoming, outgoing, server_side=True)
    trusting = ssl.create_default_context(cadata=authority.certificate.decode())
    encryption = Encryption(heard, trusting, "127.0.0.1")
    encryption.connection_made(wire)
    while not encryption.ready.done():
        incoming.write(b"".join(wire.sent))
        wire.sent.clear()
        with suppress(ssl.SSLWantReadError):
            server.do_handshake()
        encryption.data_received(outgoing.read())
    incoming.write(b"".join(wire.sent))
    server.do_handshake()
    for record in (b"one ", b"two ", b"three"):
        server.write(record)
    encryption.data_received(outgoing.read())
    assert heard.data == [b"one two three"]

"""HttpTransport against scripted servers: each test says byte by byte what the server does."""

import asyncio
import gzip
import ssl
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import pytest

from trimtab.client.config.model import Config
from trimtab.client.config.tls import TLS
from trimtab.client.http import HttpTransport
from trimtab.client.request import Request
from trimtab.client.transport import Broken, Unreachable
from trimtab.testing.pki import CertificateAuthority

Reader = asyncio.StreamReader
Writer = asyncio.StreamWriter
Script = Callable[[Reader, Writer], Awaitable[None]]
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


def get(path: str = "/x", *, again: bool = True) -> Request:
    return Request("get", "GET", path, "x", again=again)


async def read_stream(transport: HttpTransport) -> bytes:
    async with transport.stream(get()) as stream:
        return b"".join([chunk async for chunk in stream.chunks()])


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(10):
        while not condition():  # noqa: ASYNC110  # what is waited for sets no event: it is inside the transport
            await asyncio.sleep(0.001)


async def head(reader: Reader) -> bytes:
    return await reader.readuntil(b"\r\n\r\n")


@asynccontextmanager
async def serving(script: Script, tls: ssl.SSLContext | None = None) -> AsyncIterator[int]:
    """A server on loopback; the script runs once for each connection."""

    async def run(reader: Reader, writer: Writer) -> None:
        try:
            await script(reader, writer)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(run, "127.0.0.1", 0, ssl=tls)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()


@asynccontextmanager
async def talking_to(script: Script, **config: object) -> AsyncIterator[HttpTransport]:
    async with serving(script) as port:
        transport = HttpTransport(Config(server=f"http://127.0.0.1:{port}", **config))  # type: ignore[arg-type]
        try:
            yield transport
        finally:
            await transport.close()


def answering(*answers: bytes) -> Script:
    """Each connection answers requests with these, one after the other, then hangs up."""

    async def script(reader: Reader, writer: Writer) -> None:
        for answer in answers:
            await head(reader)
            writer.write(answer)

    return script


@pytest.mark.parametrize(
    ("answer", "body"),
    [
        (OK, b"ok"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n", b"abcde"),
        (b"HTTP/1.1 100 Continue\r\n\r\n" + OK, b"ok"),
        (b"HTTP/1.1 200 OK\r\n\r\nuntil the end", b"until the end"),
        (b"HTTP/1.1 204 No Content\r\n\r\n", b""),
        (
            b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n%s"
            % (len(gzip.compress(b"hello" * 99)), gzip.compress(b"hello" * 99)),
            b"hello" * 99,
        ),
    ],
    ids=["length", "chunked", "interim", "until the end", "nothing", "gzip"],
)
async def test_every_way_to_frame_a_body(answer: bytes, body: bytes) -> None:
    async with talking_to(answering(answer)) as transport:
        assert (await transport.send(get())).body == body
    async with talking_to(answering(answer)) as transport, transport.stream(get()) as stream:
        assert b"".join([chunk async for chunk in stream.chunks()]) == body


async def test_answers_that_come_a_byte_at_a_time() -> None:
    async def script(reader: Reader, writer: Writer) -> None:
        await head(reader)
        for byte in b"HTTP/1.1 200 OK\r\nWarning: a\r\nwarning: b\r\nContent-Length: 2\r\n\r\nok":
            writer.write(bytes([byte]))
            await writer.drain()
            await asyncio.sleep(0)

    async with talking_to(script) as transport:
        response = await transport.send(get())
        assert (response.status, response.body, response.headers["WARNING"]) == (200, b"ok", "a, b")


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nok",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\nok",
        b"SSH-2.0-OpenSSH\r\n\r\n",
        b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 2\r\n\r\nok",
    ],
    ids=["nothing", "length cut", "chunk cut", "not http", "upgrade", "not gzip"],
)
async def test_what_is_not_a_whole_answer_is_broken(answer: bytes) -> None:
    async with talking_to(answering(answer)) as transport:
        with pytest.raises(Broken, match=r"^cannot get x: http://127\.0\.0\.1:\d+: "):
            await transport.send(get())
        with pytest.raises(Broken):
            await read_stream(transport)


async def test_connections_are_kept_and_shared_out() -> None:
    connections = 0

    async def script(reader: Reader, writer: Writer) -> None:
        nonlocal connections
        connections += 1
        while await head(reader):
            writer.write(OK)

    async with talking_to(script) as transport:
        for _ in range(3):
            await asyncio.gather(*(transport.send(get()) for _ in range(4)))
        assert connections == 4
        async with transport.stream(get()) as stream:
            assert [chunk async for chunk in stream.chunks()] == [b"ok"]
        assert connections == 4


@pytest.mark.parametrize(("again", "connections"), [(True, 2), (False, 1)])
async def test_a_connection_that_was_closed_while_idle(again: bool, connections: int) -> None:
    made = 0

    async def script(reader: Reader, writer: Writer) -> None:
        nonlocal made
        made += 1
        await head(reader)
        writer.write(OK)
        await head(reader)  # hang up on the second request

    async with talking_to(script) as transport:
        await transport.send(get())
        if again:
            assert (await transport.send(get())).body == b"ok"
        else:
            with pytest.raises(Broken):
                await transport.send(get(again=False))
        assert made == connections


async def test_a_connection_known_to_be_closed_is_not_used() -> None:
    async with talking_to(answering(OK)) as transport:
        for _ in range(3):
            assert (await transport.send(get(again=False))).body == b"ok"
            await until(lambda: not transport._open)


async def test_a_connection_that_was_idle_for_long_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    connections = 0

    async def script(reader: Reader, writer: Writer) -> None:
        nonlocal connections
        connections += 1
        while await head(reader):
            writer.write(OK)

    async with talking_to(script) as transport:
        await transport.send(get())
        monkeypatch.setattr("trimtab.client.http._IDLE_SECONDS", -1)
        await transport.send(get())
        assert connections == 2


async def test_a_cancelled_request_is_cut_off() -> None:
    asked, cut = asyncio.Event(), asyncio.Event()

    async def script(reader: Reader, writer: Writer) -> None:
        while (await head(reader)).startswith(b"GET /x"):
            writer.write(OK)
        asked.set()
        assert await reader.read() == b""
        cut.set()

    async with talking_to(script) as transport:
        await transport.send(get())
        slow = asyncio.create_task(transport.send(get("/slow")))
        await asked.wait()
        slow.cancel()
        with pytest.raises(asyncio.CancelledError):
            await slow
        await asyncio.wait_for(cut.wait(), 10)
        assert (await transport.send(get())).body == b"ok"


async def test_an_answer_that_nobody_asked_for_is_given_to_nobody() -> None:
    async def script(reader: Reader, writer: Writer) -> None:
        await head(reader)
        writer.write(OK + b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nwr")
        await head(reader)
        writer.write(b"ong")

    async with talking_to(script) as transport:
        assert [(await transport.send(get())).body for _ in range(2)] == [b"ok", b"ok"]


async def test_a_reader_that_is_behind_holds_the_server_back() -> None:
    sent = 0

    async def script(reader: Reader, writer: Writer) -> None:
        nonlocal sent
        await head(reader)
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 67108864\r\n\r\n")
        for _ in range(64):
            writer.write(b"x" * (1 << 20))
            await writer.drain()
            sent += 1

    async with talking_to(script) as transport, transport.stream(get()) as stream:
        before = -1
        while sent != before:  # until the server stands still
            before = sent
            await asyncio.sleep(0.05)
        assert sent < 40
        assert sum([len(chunk) async for chunk in stream.chunks()]) == 64 << 20


async def test_a_stream_that_is_left_is_cut() -> None:
    cut = asyncio.Event()

    async def script(reader: Reader, writer: Writer) -> None:
        await head(reader)
        writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n")
        assert await reader.read() == b""
        cut.set()

    async with talking_to(script) as transport:
        async with transport.stream(get()) as stream:
            async for chunk in stream.chunks():
                assert chunk == b"a"
                break
        await asyncio.wait_for(cut.wait(), 10)


@pytest.mark.parametrize("path", ["/a b", "/a\r\nX: y", "/ä"])
async def test_what_is_no_path_is_not_sent(path: str) -> None:
    async with talking_to(answering(OK)) as transport:
        with pytest.raises(ValueError, match=r"path|codec"):
            await transport.send(get(path))


# Proxies


async def pipe(reader: Reader, writer: Writer) -> None:
    try:
        while data := await reader.read(1 << 16):
            writer.write(data)
    except ConnectionError:
        pass
    finally:
        writer.close()


@pytest.mark.parametrize("proxy_tls", [False, True])
async def test_tls_through_a_proxy(proxy_tls: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    authority = CertificateAuthority.create()
    seen: list[bytes] = []

    async def proxy(reader: Reader, writer: Writer) -> None:
        request = await head(reader)
        seen.append(request)
        host, port = request.split()[1].decode().rsplit(":", 1)
        up_reader, up_writer = await asyncio.open_connection(host, int(port))
        writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
        await asyncio.gather(pipe(reader, up_writer), pipe(up_reader, writer))

    def server_context(folder: str) -> ssl.SSLContext:
        certificate, key = authority.issue_server("127.0.0.1").write(folder, "serving")
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, key)
        return context

    async with AsyncExitStack() as stack:
        context = server_context(Path(stack.enter_context(tempfile.TemporaryDirectory())))
        port = await stack.enter_async_context(serving(answering(OK, OK), context))
        proxy_port = await stack.enter_async_context(serving(proxy, context if proxy_tls else None))
        trusting = ssl.create_default_context(cadata=authority.certificate.decode())
        monkeypatch.setattr("trimtab.client.dialing.ssl.create_default_context", lambda: trusting)
        scheme = "https" if proxy_tls else "http"
        transport = HttpTransport(
            Config(
                server=f"https://127.0.0.1:{port}",
                tls=TLS(ca=authority.certificate),
                proxy=f"{scheme}://user:p%40ss@127.0.0.1:{proxy_port}",
            )
        )
        try:
            assert [(await transport.send(get())).body for _ in range(2)] == [b"ok", b"ok"]
        finally:
            await transport.close()
    assert len(seen) == 1
    assert b"Proxy-Authorization: Basic dXNlcjpwQHNz\r\n" in seen[0]


async def test_a_proxy_that_refuses_and_one_that_is_not_there() -> None:
    async with serving(answering(b"HTTP/1.1 407 Who are you\r\nContent-Length: 0\r\n\r\n")) as port:
        transport = HttpTransport(Config(server="https://example.invalid", proxy=f"http://127.0.0.1:{port}"))
        with pytest.raises(Unreachable, match=r"the proxy refuses to connect \(407 Who are you\)"):
            await transport.send(get())
        await transport.close()
    transport = HttpTransport(Config(server="https://example.invalid", proxy=f"http://127.0.0.1:{port}"))
    with pytest.raises(Unreachable, match=r"the proxy 127\.0\.0\.1:\d+ does not answer"):
        await transport.send(get())


async def test_a_proxy_reads_what_is_not_encrypted() -> None:
    seen: list[bytes] = []

    async def proxy(reader: Reader, writer: Writer) -> None:
        seen.append(await head(reader))
        writer.write(OK)

    async with serving(proxy) as port:
        transport = HttpTransport(Config(server="http://example.invalid:8001/base", proxy=f"http://127.0.0.1:{port}"))
        assert (await transport.send(get())).body == b"ok"
        await transport.close()
    assert seen[0].startswith(b"GET http://example.invalid:8001/base/x HTTP/1.1\r\nHost: example.invalid:8001\r\n")


async def test_more_requests_than_connections_wait_their_turn() -> None:
    at_once = most = 0

    async def script(reader: Reader, writer: Writer) -> None:
        nonlocal at_once, most
        while await head(reader):
            at_once += 1
            most = max(most, at_once)
            await asyncio.sleep(0)
            at_once -= 1
            writer.write(OK)

    async with talking_to(script) as transport:
        answers = await asyncio.gather(*(transport.send(get()) for _ in range(250)))
        assert len(answers) == 250
        assert most <= 100

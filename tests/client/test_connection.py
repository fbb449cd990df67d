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
from trimtab.client.transport import Broken, Closed, Stream, Unreachable
from trimtab.errors import TrimtabError
from trimtab.pki import CertificateAuthority

Reader = asyncio.StreamReader
Writer = asyncio.StreamWriter
Script = Callable[[Reader, Writer], Awaitable[None]]
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


def get(path: str = "/x", *, idempotent: bool = True) -> Request:
    return Request("get", "GET", path, "x", idempotent=idempotent)


async def read_all(stream: Stream) -> bytes:
    pieces: list[bytes] = []
    while piece := await stream.read():
        pieces.append(piece)
    return b"".join(pieces)


async def read_stream(transport: HttpTransport) -> bytes:
    async with transport.stream(get()) as stream:
        return await read_all(stream)


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
    ],
    ids=["length", "chunked", "interim", "until the end", "nothing"],
)
async def test_every_way_to_frame_a_body(answer: bytes, body: bytes) -> None:
    async with talking_to(answering(answer)) as transport:
        assert (await transport.send(get())).body == body
    async with talking_to(answering(answer)) as transport, transport.stream(get()) as stream:
        assert await read_all(stream) == body


def zipped(*members: bytes, status: int = 200) -> bytes:
    body = b"".join(gzip.compress(member) for member in members)
    return b"HTTP/1.1 %d X\r\nContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n%s" % (status, len(body), body)


async def test_gzip_of_one_member_or_several() -> None:
    async with talking_to(answering(zipped(b"hello" * 99), zipped(b"a", b"b"))) as transport:
        assert (await transport.send(get())).body == b"hello" * 99
        assert (await transport.send(get())).body == b"ab"


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (zipped(b"x" * (2 << 20), status=500), "larger than 1048576 bytes"),
        (b"HTTP/1.1 500 X\r\nContent-Length: 2000000\r\n\r\n" + b"x" * 2_000_000, "larger than 1048576 bytes"),
        (b"HTTP/1.1 200 OK\r\n" + b"X: %s\r\n" % (b"y" * 1000) * 300 + b"\r\n", "head is larger than"),
        (zipped(b"hello" * 99)[:-9].replace(b"Content-Length", b"X-Length"), "cut off"),
    ],
    ids=["an error that unpacks to much", "a large error", "a large head", "gzip cut off"],
)
async def test_what_comes_from_outside_has_limits(answer: bytes, says: str) -> None:
    async with talking_to(answering(answer)) as transport:
        with pytest.raises(Broken, match=says):
            await transport.send(get())


async def test_a_closed_transport_sends_nothing_more() -> None:
    """Also not what was under way when it was closed: it may not come back by a retry and leave a connection open."""
    asked = asyncio.Event()

    async def script(reader: Reader, writer: Writer) -> None:
        await head(reader)
        asked.set()
        await reader.read()

    async with talking_to(script) as transport:
        waiting = asyncio.create_task(transport.send(get()))
        await asked.wait()
        await transport.close()
        with pytest.raises(Broken):
            await waiting
        with pytest.raises(Closed, match="the client is closed"):
            await transport.send(get())
        assert not transport._open


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
            assert await read_all(stream) == b"ok"
        assert connections == 4


@pytest.mark.parametrize(("idempotent", "connections"), [(True, 2), (False, 1)])
async def test_a_connection_that_was_closed_while_idle(idempotent: bool, connections: int) -> None:
    made = 0

    async def script(reader: Reader, writer: Writer) -> None:
        nonlocal made
        made += 1
        await head(reader)
        writer.write(OK)
        await head(reader)  # hang up on the second request

    async with talking_to(script) as transport:
        await transport.send(get())
        if idempotent:
            assert (await transport.send(get())).body == b"ok"
        else:
            with pytest.raises(Broken):
                await transport.send(get(idempotent=False))
        assert made == connections


async def test_a_connection_known_to_be_closed_is_not_used() -> None:
    async with talking_to(answering(OK)) as transport:
        for _ in range(3):
            assert (await transport.send(get(idempotent=False))).body == b"ok"
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
        (connection,) = transport._open
        await until(lambda: connection._held)
        assert sent < 40
        assert len(await read_all(stream)) == 64 << 20


async def test_a_stream_that_is_left_is_cut() -> None:
    cut = asyncio.Event()

    async def script(reader: Reader, writer: Writer) -> None:
        await head(reader)
        writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n")
        assert await reader.read() == b""
        cut.set()

    async with talking_to(script) as transport:
        async with transport.stream(get()) as stream:
            assert await stream.read() == b"a"
        await asyncio.wait_for(cut.wait(), 10)


@pytest.mark.parametrize("path", ["/a b", "/a\r\nX: y", "/ä"])
async def test_what_is_no_path_is_not_sent(path: str) -> None:
    async with talking_to(answering(OK)) as transport:
        with pytest.raises(TrimtabError, match="is no path of a URL"):
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
async def test_tls_through_a_proxy(proxy_tls: bool) -> None:
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
        scheme = "https" if proxy_tls else "http"
        transport = HttpTransport(
            Config(
                server=f"https://127.0.0.1:{port}",
                tls=TLS(ca=authority.certificate),
                proxy=f"{scheme}://user:p%40ss@127.0.0.1:{proxy_port}",
                proxy_tls=TLS(ca=authority.certificate),
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


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (b"HTTP/1.1 200 OK\r\nX: " + b"x" * (64 << 10), "its answer has no end"),
        (b"HTTP/1.1 200 OK\r\nX: " + b"x" * (64 << 10) + b"\r\n\r\n", "its answer has no end"),
        (b"HTTP/1.1 200 OK\r\n\r\n\x16", "it goes on talking after its answer"),
        (b"SSH-2.0-OpenSSH\r\n\r\n", "it answers in no HTTP"),
        (b"HTTP/1.1 200 OK\r\n", "it hung up"),
    ],
    ids=["no end", "a late end", "more", "not http", "half"],
)
async def test_a_proxy_that_answers_oddly(answer: bytes, says: str) -> None:
    async with serving(answering(answer)) as port:
        transport = HttpTransport(Config(server="https://example.invalid", proxy=f"http://127.0.0.1:{port}"))
        with pytest.raises(Unreachable, match=rf"the proxy refuses to connect \({says}\)"):
            await transport.send(get())
        await transport.close()


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

"""The transport over real sockets, against servers that do exactly what a test wants, down to the byte."""

# ruff: noqa: ASYNC110, PT012 - what is waited for sets no event; a watch is begun and read in one go

import asyncio
import gc
import logging
import re
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any

import pytest

from trimtab.client import (
    Broken,
    Client,
    Config,
    ConfigError,
    Impersonate,
    MergePatch,
    Retry,
    Stalled,
    Unauthorized,
)
from trimtab.client.config.credentials import Credentials, Fixed, Proof, bearer
from trimtab.client.http import HttpTransport
from trimtab.client.request import Request
from trimtab.kube.core.v1 import ConfigMap
from trimtab.kube.dynamic import dynamic
from trimtab.kube.meta.v1 import ObjectMeta

CONFIG_MAP = dynamic("v1", "ConfigMap", plural="configmaps", namespaced=True)
OBJECT = b'{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a","resourceVersion":"5"}}'
EVENT = b'{"type":"ADDED","object":' + OBJECT + b"}\n"
QUICK = Retry(attempts=3, first=0.001)

Answer = Callable[["Exchange"], Awaitable[None]]


class Exchange:
    """One request as it came over the wire, and the way back."""

    def __init__(
        self, connection: int, head: str, body: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        self.connection = connection
        self.head = head
        self.body = body
        self.reader = reader
        self.writer = writer

    @property
    def line(self) -> str:
        return self.head.split("\r\n", 1)[0].removesuffix(" HTTP/1.1")

    @property
    def headers(self) -> dict[str, str]:
        return {k.lower(): v for k, v in (line.split(": ", 1) for line in self.head.split("\r\n")[1:] if line)}


class RawServer:
    """Follows a script, an answer a request: bytes to send, None to cut the connection, or a function to do it all."""

    def __init__(self, *script: bytes | Answer | None) -> None:
        self.script = list(script)
        self.exchanges: list[Exchange] = []
        self.connections = 0
        self.asked = asyncio.Event()
        self.ended = asyncio.Event()  # a connection was closed by the client
        self.url = ""

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        connection = self.connections
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode()
                length = re.search(r"(?i)content-length: (\d+)", head)
                body = await reader.readexactly(int(length[1])) if length else b""
                exchange = Exchange(connection, head, body, reader, writer)
                self.exchanges.append(exchange)
                self.asked.set()
                step = self.script.pop(0)
                if step is None:
                    break
                if isinstance(step, bytes):
                    writer.write(step)
                    await writer.drain()
                else:
                    await step(exchange)
        except (asyncio.IncompleteReadError, ConnectionError):
            self.ended.set()
        finally:
            writer.close()

    @property
    def lines(self) -> list[str]:
        return [exchange.line for exchange in self.exchanges]


@asynccontextmanager
async def serving(*script: bytes | Answer | None, tls: ssl.SSLContext | None = None) -> AsyncIterator[RawServer]:
    raw = RawServer(*script)
    server = await asyncio.start_server(raw.serve, "127.0.0.1", 0, ssl=tls)
    raw.url = f"http{'s' if tls else ''}://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        yield raw
    finally:
        server.close()
        gc.collect()  # what was left open says so now, and not in another test
        await asyncio.sleep(0)


def connect(raw: RawServer, *, timeout: float = 20, **options: Any) -> Client:
    return Client(Config(server=raw.url, **options), timeout=timeout, retry=QUICK)


def answer(body: bytes = OBJECT, status: str = "200 OK", *headers: str) -> bytes:
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", *headers]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


def chunked(*chunks: bytes, end: bool = True) -> bytes:
    head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Type: application/json\r\n\r\n"
    return head + b"".join(b"%x\r\n%s\r\n" % (len(c), c) for c in chunks) + (b"0\r\n\r\n" if end else b"")


def then_cut(data: bytes) -> Answer:
    async def act(exchange: Exchange) -> None:
        exchange.writer.write(data)
        await exchange.writer.drain()
        raise ConnectionAbortedError

    return act


def then_stall(data: bytes = b"") -> Answer:
    async def act(exchange: Exchange) -> None:
        exchange.writer.write(data)
        await exchange.reader.read()  # until the client gives up

    return act


# What is sent


async def test_what_is_looked_at_before_it_is_sent_is_looked_at_once_credentials_and_a_connection_are_there() -> None:
    ready: list[str] = []

    class Slow(Fixed):
        async def proof(self) -> Proof:
            ready.append("credentials")
            return await super().proof()

    def look() -> None:
        ready.append("look")
        if ready.count("look") > 1:
            raise RuntimeError("not any more")

    request = Request("get", "GET", "/version", "the version", before_sending=look)
    async with serving(answer(b"1"), answer(b"3")) as raw:
        transport = HttpTransport(Config(server=raw.url, credentials=Slow(Proof(bearer("x")))))
        assert (await transport.send(request)).body == b"1"
        with pytest.raises(RuntimeError, match="not any more"):
            await transport.send(request)
        assert ready == ["credentials", "look", "credentials", "look"]
        assert len(raw.exchanges) == 1
        plain = Request("get", "GET", "/version", "the version")
        assert (await transport.send(plain)).body == b"3"
        assert raw.connections == 1  # which was given back
        await transport.close()


async def test_a_request_as_it_goes_over_the_wire() -> None:
    whom = Impersonate(user="alice", groups=("a", "b"))
    credentials = Fixed(Proof(bearer("secret-token")))
    async with serving(answer(), answer()) as raw:
        config = Config(server=f"{raw.url}/k8s/clusters/c-1/", credentials=credentials, impersonate=whom)
        async with Client(config) as client:
            await client.get(ConfigMap, "a:b", namespace="shop")
            await client.patch(ConfigMap, "a", MergePatch({"data": {"x": "é"}}))
    get, patch = raw.exchanges
    assert get.line == "GET /k8s/clusters/c-1/api/v1/namespaces/shop/configmaps/a:b"
    assert get.body == b""
    headers = get.headers
    assert headers.pop("user-agent").startswith("trimtab/")
    assert headers == {
        "host": raw.url.removeprefix("http://"),
        "accept": "application/json",
        "accept-encoding": "gzip",
        "authorization": "Bearer secret-token",
        "impersonate-user": "alice",
        "impersonate-group": "b",  # the last of two
    }
    assert get.head.count("Impersonate-Group") == 2
    assert patch.line == "PATCH /k8s/clusters/c-1/api/v1/namespaces/default/configmaps/a?fieldManager=trimtab"
    assert patch.headers["content-type"] == "application/merge-patch+json"
    assert patch.body == '{"data":{"x":"é"}}'.encode()


async def test_uncompressed_where_that_is_wanted() -> None:
    async with serving(answer()) as raw, connect(raw, compress=False) as client:
        await client.get(ConfigMap, "a")
        assert "accept-encoding" not in raw.exchanges[0].headers


async def test_connections_are_used_again_and_streams_have_their_own() -> None:
    async with serving(*[answer()] * 5, then_stall(chunked(EVENT, end=False)), answer()) as raw, connect(raw) as client:
        for _ in range(5):
            await client.get(ConfigMap, "a")
        assert raw.connections == 1
        async with client.watch(ConfigMap) as events:
            await anext(events)
            await client.get(ConfigMap, "a")
            assert raw.connections == 2
        async with asyncio.timeout(10):
            await raw.ended.wait()  # leaving the watch ended its connection


async def test_a_large_body_is_sent_without_a_fuss() -> None:
    async with serving(answer()) as raw, connect(raw) as client:
        body = {"metadata": {"name": "a"}, "data": {"x": "y" * (5 << 20)}}
        await client.create(CONFIG_MAP(body))
        assert len(raw.exchanges[0].body) > 5 << 20


async def test_warnings_on_lines_of_their_own(caplog: pytest.LogCaptureFixture) -> None:
    warned = answer(OBJECT, "200 OK", 'Warning: 299 - "one"', 'Warning: 299 - "two"')
    async with serving(warned) as raw, connect(raw) as client:
        await client.get(ConfigMap, "a")
    said = [r.getMessage().rpartition(": ")[2] for r in caplog.records if r.levelno == logging.WARNING]
    assert said == ["one", "two"]


# Who is asking


class Wallet(Credentials):
    """Tokens in a row: each that is refused makes way for the next, until there is an error."""

    def __init__(self, *tokens: str, then: Exception | None = None) -> None:
        self.proofs = [Proof(bearer(token)) for token in tokens]
        self.then = then

    async def proof(self) -> Proof:
        return self.proofs[0]

    async def rejected(self, proof: Proof) -> bool:
        assert proof is self.proofs[0]
        if len(self.proofs) > 1:
            del self.proofs[0]
            return True
        if self.then:
            raise self.then
        return False


UNAUTHORIZED = answer(b"no", "401 Unauthorized")


async def test_a_401_is_tried_once_more_with_what_is_new() -> None:
    wallet = Wallet("old", "new", "newer")
    async with (
        serving(UNAUTHORIZED, answer(), UNAUTHORIZED, UNAUTHORIZED) as raw,
        connect(raw, credentials=wallet) as client,
    ):
        await client.get(ConfigMap, "a")
        assert [e.headers["authorization"] for e in raw.exchanges] == ["Bearer old", "Bearer new"]
        with pytest.raises(Unauthorized) as refused:
            await client.get(ConfigMap, "a")
        assert [e.headers["authorization"] for e in raw.exchanges[2:]] == ["Bearer new", "Bearer newer"]
    assert "newer" not in str(refused.value)


@pytest.mark.parametrize("method", ["get", "watch"])
async def test_a_401_without_anything_new_is_the_answer(method: str) -> None:
    for error in (None, ConfigError("the plugin says no")):
        async with serving(UNAUTHORIZED) as raw:
            async with connect(raw, credentials=Wallet("old", then=error)) as client:
                with pytest.raises(
                    ConfigError if error else Unauthorized, match="the plugin says no" if error else "no"
                ):
                    if method == "get":
                        await client.get(ConfigMap, "a")
                    else:
                        async with client.watch(ConfigMap):
                            pass
            assert len(raw.exchanges) == 1


@pytest.mark.parametrize("wallet", [Wallet("old", then=ConfigError("no")), Wallet("old", "new")])
async def test_a_watch_that_is_refused_leaves_no_connection(wallet: Wallet) -> None:
    refused = then_stall(chunked(b"no", end=False).replace(b"200 OK", b"401 Unauthorized"))
    async with serving(refused, chunked(EVENT)) as raw, connect(raw, credentials=wallet) as client:
        with suppress(ConfigError):
            async with client.watch(ConfigMap) as events:
                await anext(events)
        async with asyncio.timeout(20):
            await raw.ended.wait()


async def test_the_search_for_credentials_does_not_disturb_who_has_the_connection_now() -> None:
    class Slow(Wallet):
        async def rejected(self, proof: Proof) -> bool:
            asked.set()
            await answered.wait()
            return await super().rejected(proof)

    async def late(exchange: Exchange) -> None:
        answered.set()
        with pytest.raises(ConfigError):
            await first
        exchange.writer.write(answer())

    asked, answered = asyncio.Event(), asyncio.Event()
    async with (
        serving(UNAUTHORIZED, late) as raw,
        connect(raw, credentials=Slow("old", then=ConfigError("no"))) as client,
    ):
        first = asyncio.create_task(client.patch(ConfigMap, "a", MergePatch({})))
        await asked.wait()
        async with asyncio.timeout(20):
            await client.patch(ConfigMap, "a", MergePatch({}))
        assert raw.connections == 1


# What breaks


async def test_a_read_that_breaks_is_read_again() -> None:
    torn = answer()[:-20]
    async with serving(then_cut(torn), None, answer()) as raw, connect(raw) as client:
        assert (await client.get(ConfigMap, "a")).metadata.resource_version == "5"
        assert raw.connections == 3


@pytest.mark.parametrize("warm", [False, True], ids=["a new connection", "one that was used before"])
@pytest.mark.parametrize("verb", ["POST", "PATCH", "PUT", "DELETE"])
@pytest.mark.parametrize("torn", [None, answer()[:-20], answer()[:20]], ids=["no answer", "half a body", "half a head"])
async def test_a_write_that_breaks_is_not_sent_again(verb: str, torn: bytes | None, warm: bool) -> None:
    script = [answer()] if warm else []
    async with serving(*script, None if torn is None else then_cut(torn), answer(), answer()) as raw:
        async with connect(raw) as client:
            if warm:
                await client.get(ConfigMap, "a")
            obj = CONFIG_MAP({"metadata": {"name": "a", "resourceVersion": "5"}})
            writes: dict[str, Callable[[], Awaitable[Any]]] = {
                "POST": lambda: client.create(obj),
                "PATCH": lambda: client.patch(ConfigMap, "a", MergePatch({})),
                "PUT": lambda: client.replace(obj),
                "DELETE": lambda: client.delete(ConfigMap, "a"),
            }
            with pytest.raises(Broken, match=r"the connection broke before the answer was whole|closed"):
                await writes[verb]()
        assert [line.split()[0] for line in raw.lines] == ["GET"] * warm + [verb]


async def test_an_apply_that_breaks_is_sent_again() -> None:
    async with serving(None, answer()) as raw, connect(raw) as client:
        await client.apply(ConfigMap(metadata=ObjectMeta(name="a")))
        assert len(raw.exchanges) == 2


@pytest.mark.parametrize(
    ("stream", "says"),
    [
        (then_cut(chunked(EVENT, EVENT[:30], end=False)), "the connection broke before"),
        (then_cut(chunked(EVENT, end=False) + b"50\r\n" + EVENT[:30]), "the connection broke before"),
        (chunked(EVENT, EVENT[:-1]), "the connection broke in the middle of an event"),
    ],
    ids=["between chunks", "inside a chunk", "in good order"],
)
async def test_a_watch_that_breaks_gives_nothing_half(stream: bytes | Answer, says: str) -> None:
    async with serving(stream) as raw, connect(raw) as client:
        with pytest.raises(Broken, match=f"^cannot watch configmaps.*{says}"):
            async with client.watch(ConfigMap) as events:
                assert (await anext(events)).object.metadata.name == "a"
                await anext(events)
        assert events.resource_version == "5"
        assert len(raw.exchanges) == 1


@pytest.mark.parametrize("how", ["no answer", "half a head", "half a body"])
async def test_a_request_that_stalls_is_given_up(how: str) -> None:
    stall = then_stall({"no answer": b"", "half a head": answer()[:20], "half a body": answer()[:-20]}[how])
    async with serving(stall, answer()) as raw:
        async with connect(raw, timeout=0.1) as client:
            with pytest.raises(Stalled, match=r"cannot get configmaps default/a: no answer within 0.1 s"):
                await client.get(ConfigMap, "a")
            client._caller.timeout = 20
            await client.get(ConfigMap, "a")  # over another connection
        assert [e.connection for e in raw.exchanges] == [1, 2]


async def test_a_watch_that_falls_silent_is_given_up() -> None:
    async with serving(then_stall(chunked(EVENT, EVENT[:9], end=False))) as raw, connect(raw) as client:
        with pytest.raises(Stalled, match=r"cannot watch configmaps: nothing came for 0.5 s"):
            async with client.watch(ConfigMap, silence=0.5) as events:
                assert (await anext(events)).type == "ADDED"
                await anext(events)


async def test_a_log_that_is_not_followed_may_not_fall_silent() -> None:
    stalling = then_stall(chunked(b"one\n", end=False))
    async with asyncio.timeout(20), serving(stalling) as raw, connect(raw, timeout=0.5) as client:
        with pytest.raises(Stalled, match=r"cannot get pods/log default/a: nothing came for 0.5 s"):
            async with client.logs("a") as lines:
                assert await anext(lines) == "one"
                await anext(lines)


async def test_a_request_that_is_cancelled_spoils_nothing() -> None:
    async with serving(then_stall(answer()[:-20]), answer()) as raw, connect(raw) as client:
        task = asyncio.create_task(client.get(ConfigMap, "a"))
        await raw.asked.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert (await client.get(ConfigMap, "a")).metadata.name == "a"


async def test_closing_twice_and_before_use() -> None:
    transport = HttpTransport(Config(server="http://127.0.0.1:1"))
    await transport.close()
    await transport.close()
    async with serving(answer()) as raw:
        transport = HttpTransport(Config(server=raw.url))
        assert (await transport.send(Request("get", "GET", "/x", "/x"))).status == 200
        await transport.close()


async def test_what_is_sent_and_heard_may_be_in_any_language(caplog: pytest.LogCaptureFixture) -> None:
    warned = answer(OBJECT, "200 OK", 'Warning: 299 - "löschen"')
    async with serving(warned) as raw, connect(raw, impersonate=Impersonate(user="José")) as client:
        await client.get(ConfigMap, "a")
        assert raw.exchanges[0].headers["impersonate-user"] == "José"
    assert caplog.messages == ["the server warns about get configmaps default/a: löschen"]


async def test_who_comes_after_a_reader_that_was_behind_is_heard() -> None:
    async with serving(answer(b"x" * ((1 << 20) + 1)), answer()) as raw:
        transport = HttpTransport(Config(server=raw.url))
        request = Request("get", "GET", "/x", "/x")
        async with transport.stream(request) as stream, asyncio.timeout(20):
            while not stream._answer._ended:  # type: ignore[attr-defined]
                await asyncio.sleep(0)
        async with asyncio.timeout(20):
            assert (await transport.send(request)).body == OBJECT
        assert raw.connections == 1
        await transport.close()

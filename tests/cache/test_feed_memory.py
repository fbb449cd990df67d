"""What a list costs while it is read. Measured with tracemalloc, which counts what Python and msgspec ask for (not what
zstandard keeps for itself, so the Pods are too small to be compressed)."""

from __future__ import annotations

import asyncio
import gc
import tracemalloc
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any

import msgspec
import pytest
from tests.cache.feeding import feeding, server_with
from tests.cache.samples import EXPIRED, config_map, pod, virtual
from tests.cache.streams import Asked, OpenStream

from trimtab.client.request import Request
from trimtab.client.transport import Response
from trimtab.kube.core.v1 import Pod

PODS = 100_000
READ = 64 << 10  # as many bytes as a read from a connection gives


class VastServer:
    """Has so many Pods that it makes them while it sends them, so that it holds none."""

    def __init__(self, *, streams_state: bool) -> None:
        self.streams_state = streams_state
        self.lists = 0
        self.watch: OpenStream | None = None
        template = msgspec.json.encode(pod("p", labels={"app": "web"}, uid="u", resourceVersion="7"))
        self.item = template.replace(b'"name":"p"', b'"name":"p%06d"').replace(b'"uid":"u"', b'"uid":"u%06d"')

    def objects(self) -> Iterator[bytes]:
        return (self.item % (n, n) for n in range(PODS))

    def state(self) -> Iterator[bytes]:
        """A server's watch cache answers with all at once, whatever the limit is."""
        yield b'{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"9"},"items":['
        for n, item in enumerate(self.objects()):
            yield b"," + item if n else item
        yield b"]}\n"

    def stream_of_state(self) -> Iterator[bytes]:
        for item in self.objects():
            yield b'{"type":"ADDED","object":' + item + b"}\n"
        end = {"resourceVersion": "9", "annotations": {"k8s.io/initial-events-end": "true"}}
        body = {"type": "BOOKMARK", "object": {"kind": "Pod", "apiVersion": "v1", "metadata": end}}
        yield msgspec.json.encode(body) + b"\n"

    async def send(self, request: Request) -> Response:
        raise AssertionError(request)

    @asynccontextmanager
    async def stream(self, request: Request) -> AsyncIterator[Any]:
        asked = Asked.of(request, {"pods": Pod.resource})
        if asked.verb == "watch":
            self.watch = OpenStream(200, asked)
            yield self.watch
        elif asked.verb == "watchlist" and not self.streams_state:
            refusal = OpenStream(400, asked)
            refusal.say(b"{}", b"")
            yield refusal
        else:
            self.lists += 1
            pieces = self.state() if asked.verb == "list" else self.stream_of_state()
            yield Arriving(pieces, goes_on=asked.verb != "list")

    async def close(self) -> None:
        pass


class Arriving:
    def __init__(self, pieces: Iterator[bytes], *, goes_on: bool) -> None:
        self.status = 200
        self.headers: dict[str, str] = {}
        self._pieces = pieces
        self._goes_on = goes_on

    async def read(self) -> bytes:
        chunk = bytearray()
        for piece in self._pieces:
            chunk += piece
            if len(chunk) > READ:
                break
        if not chunk and self._goes_on:
            await asyncio.Event().wait()
        return bytes(chunk)

    def rest(self, seconds: float) -> None:
        pass


@pytest.mark.parametrize("streams_state", [True, False], ids=["streamed", "listed"])
@virtual
async def test_100_000_pods_take_at_most_1_3_times_what_they_need_at_rest(streams_state: bool) -> None:
    server = VastServer(streams_state=streams_state)
    gc.collect()
    tracemalloc.start()
    try:
        async with feeding(server) as fed:
            assert len(fed.store) == PODS
            fed.delivered.clear()  # ours, not the cache's
            gc.collect()
            at_rest, peak = tracemalloc.get_traced_memory()
            assert peak <= 1.3 * at_rest, f"{peak / at_rest:.2f} times"
            if server.watch is None:
                return
            # Reading it anew, of which nothing has changed, takes no second copy.
            tracemalloc.reset_peak()
            server.watch.refuse(EXPIRED)
            await asyncio.sleep(2)
            assert (server.lists, len(fed.store)) == (2, PODS)
            peak = tracemalloc.get_traced_memory()[1]
            assert peak <= 1.3 * at_rest, f"{peak / at_rest:.2f} times"
    finally:
        tracemalloc.stop()


@virtual
async def test_what_was_read_is_not_kept_while_nothing_comes() -> None:
    server = server_with("a")
    async with feeding(server):
        [stream] = server.watches
        tracemalloc.start()
        try:
            before = tracemalloc.get_traced_memory()[0]
            stream.tell("ADDED", config_map("no Pod", data={"text": "x" * (4 << 20)}, resourceVersion="9"))
            await asyncio.sleep(1)
            now, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        assert peak - before > 4 << 20
        assert now - before < 1 << 20

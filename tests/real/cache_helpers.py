"""What the tests of the cache have in common: a witness of what handlers are told, and ways to disturb a connection."""

# ruff: noqa: ASYNC110 - what is waited for happens in another process

import asyncio
import dataclasses
import time
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from typing import Any

from trimtab.cache import Cached, DeletedFinalStateUnknown, Informer, Registration
from trimtab.client import Client, Config, Response, Stream, load_config
from trimtab.client.http import HttpTransport
from trimtab.client.request import Request
from trimtab.kube.core.v1 import ConfigMap
from trimtab.kube.dynamic import Dynamic
from trimtab.kube.meta.v1 import ObjectMeta
from trimtab.kube.objects import Object
from trimtab.testing.control_plane import ControlPlane

CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


def config_map(name: str, data: str = "1", **labels: str) -> ConfigMap:
    return ConfigMap(metadata=ObjectMeta(name=name, labels=labels), data={"x": data})


async def until(condition: Callable[[], object], seconds: float = 30.0) -> None:
    """Look until it is so."""
    async with asyncio.timeout(seconds):
        while not condition():
            await asyncio.sleep(0.01)


async def truth(client: Client, kind: type[Object | Dynamic], **where: Any) -> dict[str, tuple[str, int]]:
    """What the server has: uid and version by key."""
    found: Any = await client.list(kind, **where)
    return {
        f"{o.metadata.namespace}/{o.metadata.name}".lstrip("/"): (o.metadata.uid, int(o.metadata.resource_version))
        for o in found
    }


def kept(informer: Informer[Any]) -> dict[str, tuple[str, int]]:
    """What the cache has, in the same form."""
    return {entry.key: (entry.uid, int(entry.resource_version)) for entry in informer.lister.entries()}


class Witness:
    """A handler that folds up what it is told, and notes what cannot be: `faults` stays empty."""

    def __init__(self, informer: Informer[Any]) -> None:
        self.state: dict[str, tuple[str, int]] = {}
        self.told: list[tuple[str, str]] = []
        self.initial: set[str] = set()
        self.faults: list[str] = []
        self._newest: dict[str, int] = {}  # by uid
        self.registration: Registration[Any] = informer.add_handler(
            on_add=self._add, on_update=self._update, on_delete=self._delete, name="witness"
        )

    def forget(self) -> None:
        """Begin a new page; what it knows stays."""
        self.told.clear()

    def _add(self, new: Cached[Any], initial: bool) -> None:
        self._note("add", new, new.key not in self.state)
        if initial:
            self.initial.add(new.key)
        self._keep(new)

    def _update(self, old: Cached[Any], new: Cached[Any]) -> None:
        expected = self.state.get(new.key) == (old.uid, int(old.resource_version)) and old.uid == new.uid
        self._note("update", new, expected)
        self._keep(new)

    def _delete(self, gone: Cached[Any] | DeletedFinalStateUnknown[Any]) -> None:
        if isinstance(gone, DeletedFinalStateUnknown):
            self._note("tombstone", gone.last, self.state.get(gone.key) == _mark(gone.last))
        else:
            uid, version = self.state.get(gone.key, ("", 0))
            self._note("delete", gone, uid == gone.uid and int(gone.resource_version) > version)
        self.state.pop(gone.key, None)

    def _note(self, what: str, entry: Cached[Any], expected: bool) -> None:
        self.told.append((what, entry.name))
        if not expected:
            self.faults.append(f"{what} of {entry!r}, where {self.state.get(entry.key)} was known")

    def _keep(self, new: Cached[Any]) -> None:
        if int(new.resource_version) <= self._newest.get(new.uid, 0):
            self.faults.append(f"{new!r} after version {self._newest[new.uid]}")
        self._newest[new.uid] = int(new.resource_version)
        self.state[new.key] = _mark(new)


def _mark(entry: Cached[Any]) -> tuple[str, int]:
    return entry.uid, int(entry.resource_version)


class Recording:
    """A transport that remembers what was asked, and may answer itself: `instead` gives its answer, or None."""

    def __init__(self, inner: HttpTransport, instead: Callable[[Request], Response | None] = lambda _: None) -> None:
        self.asked: list[Request] = []
        self.times: list[float] = []
        self.instead = instead
        self._inner = inner

    def paths(self, verb: str) -> list[str]:
        return [request.path for request in self.asked if request.verb == verb]

    async def send(self, request: Request) -> Response:
        return self._own(request) or await self._inner.send(request)

    def stream(self, request: Request) -> AbstractAsyncContextManager[Stream]:
        own = self._own(request)
        return self._inner.stream(request) if own is None else _answered(own)

    async def close(self) -> None:
        await self._inner.close()

    def _own(self, request: Request) -> Response | None:
        self.asked.append(request)
        self.times.append(time.monotonic())
        return self.instead(request)


class _Answered:
    def __init__(self, response: Response) -> None:
        self.status, self.headers, self._body = response.status, response.headers, response.body

    async def read(self) -> bytes:
        body, self._body = self._body, b""
        return body

    def rest(self, seconds: float) -> None:
        pass


@asynccontextmanager
async def _answered(response: Response) -> AsyncGenerator[Stream]:
    yield _Answered(response)


def no_streamed_state(request: Request) -> Response | None:
    """A server before WatchList: it does not know sendInitialEvents."""
    if "sendInitialEvents" not in request.path:
        return None
    body = b'{"kind":"Status","apiVersion":"v1","status":"Failure","message":"forbidden","reason":"Invalid","code":422}'
    return Response(422, {"Content-Type": "application/json"}, body)


class Proxy:
    """A TCP proxy on loopback in front of an API server. What it carries is TLS: it can only let through, or not.

    What is set here holds for what comes from the server.
    """

    def __init__(self, port: int) -> None:
        self.silent = False  # for connections that are there: bytes are swallowed, and nobody is told of an end
        self.deaf = False  # for new connections: they are accepted, and that is all
        self.cut_after: int | None = None  # bytes, after which the connection is cut; then it is None again
        self.cuts = 0
        self.delay = 0.0  # of every piece
        self.piece = 1 << 16  # bytes
        self.url = ""
        self._port = port
        self._open: set[asyncio.StreamWriter] = set()
        self._tasks: set[asyncio.Task[None]] = set()

    def cut(self) -> None:
        """Cut all connections."""
        for writer in self._open:
            writer.transport.abort()

    @asynccontextmanager
    async def running(self) -> AsyncIterator["Proxy"]:
        server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        self.url = f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        try:
            yield self
        finally:
            server.close()
            self.cut()
            await asyncio.gather(*self._tasks)
            await server.wait_closed()

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        self._open.add(writer)
        with suppress(OSError):
            if self.deaf:
                await reader.read(-1)
            else:
                await self._carry(reader, writer)
        writer.transport.abort()
        self._open.discard(writer)
        self._tasks.discard(task)

    async def _carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        from_server, to_server = await asyncio.open_connection("127.0.0.1", self._port)
        up = asyncio.create_task(self._upwards(reader, to_server))
        with suppress(OSError):
            while data := await from_server.read(self.piece):
                if self.silent:
                    break
                if self.delay:
                    await asyncio.sleep(self.delay)
                if self.cut_after is not None:
                    self.cut_after -= len(data)
                    if self.cut_after <= 0:
                        self.cut_after = None
                        self.cuts += 1
                        writer.write(data[: len(data) // 2])
                        await writer.drain()
                        break
                writer.write(data)
                await writer.drain()
        if not self.silent:
            writer.transport.abort()
        await up  # until the client gives up

    async def _upwards(self, reader: asyncio.StreamReader, to_server: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            while data := await reader.read(1 << 16):
                to_server.write(data)
        to_server.transport.abort()


class Split:
    """A transport that sends on one way and streams on another. `before_answer` may hold back an answer."""

    def __init__(self, sends: HttpTransport, streams: HttpTransport) -> None:
        self._sends, self._streams = sends, streams
        self.before_answer: Callable[[Request], Awaitable[None]] | None = None

    async def send(self, request: Request) -> Response:
        response = await self._sends.send(request)
        if self.before_answer is not None:
            await self.before_answer(request)
        return response

    def stream(self, request: Request) -> AbstractAsyncContextManager[Stream]:
        return self._streams.stream(request)

    async def close(self) -> None:
        await self._sends.close()
        await self._streams.close()


@asynccontextmanager
async def proxied(control_plane: ControlPlane) -> AsyncIterator[tuple[Proxy, Config, Config]]:
    """A proxy, and how to reach the server with and without it."""
    direct = load_config(control_plane.kubeconfig())
    async with Proxy(int(direct.server.rpartition(":")[2])).running() as proxy:
        yield proxy, dataclasses.replace(direct, server=proxy.url), direct


@asynccontextmanager
async def through_proxy(control_plane: ControlPlane, timeout: float = 60.0) -> AsyncIterator[tuple[Proxy, Client]]:
    """A proxy, and a client that goes through it."""
    async with proxied(control_plane) as (proxy, config, _), Client(config, timeout=timeout) as client:
        yield proxy, client


def definition(plural: str, kind: str, group: str, scope: str = "Namespaced") -> dict[str, Any]:
    """A CustomResourceDefinition, as JSON."""
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    names = {"plural": plural, "singular": kind.lower(), "kind": kind}
    version = {"name": "v1", "served": True, "storage": True, "schema": schema}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}"},
        "spec": {"group": group, "scope": scope, "names": names, "versions": [version]},
    }

"""The same work for every server, and what it took: its processes' CPU, the time, the memory."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from typing import Protocol

import aiohttp
import msgspec

from bench.harness import BenchError, Reading
from bench.loading import gather
from bench.population import Made

NAMESPACE = "bench"
_CONFIGS = f"/api/v1/namespaces/{NAMESPACE}/configmaps"
_PODS = f"/api/v1/namespaces/{NAMESPACE}/pods"
_IN_FLIGHT = 16
_WATCHERS = 10
_LISTS = 3
_MERGE = "application/merge-patch+json"


class Door(Protocol):
    """A way in to a server."""

    async def send(self, method: str, path: str, body: bytes = b"", content_type: str = "application/json") -> bytes:
        """Send a request, and give the body of its answer. Raises BenchError where it is refused."""
        ...

    def watch(self, path: str) -> AbstractAsyncContextManager[AsyncIterator[bytes]]:
        """Open a watch, and give what comes of it."""
        ...


@dataclass(frozen=True)
class HttpsDoor:
    """Over HTTPS, with a client that costs the server nothing of its own."""

    session: aiohttp.ClientSession
    url: str

    async def send(self, method: str, path: str, body: bytes = b"", content_type: str = "application/json") -> bytes:
        """Send a request."""
        headers = {"Content-Type": content_type}
        async with self.session.request(method, self.url + path, data=body or None, headers=headers) as answer:
            said = await answer.read()
        if answer.status >= 400:
            raise BenchError(f"{method} {path} was answered {answer.status}: {said[:300].decode(errors='replace')}")
        return said

    @asynccontextmanager
    async def watch(self, path: str) -> AsyncIterator[AsyncIterator[bytes]]:
        """Open a watch."""
        async with self.session.get(self.url + path) as answer:
            yield answer.content.iter_any()


@dataclass(frozen=True)
class Used:
    """What the processes of a server use: CPU in seconds so far, and memory in bytes now."""

    cpu: Callable[[], float]
    memory: Callable[[], int]
    version: str

    def reading(self, each: float, wall: float | None = None) -> Reading:
        """A measurement of this server."""
        return Reading(each=each, version=self.version, wall=wall, rss=self.memory())


async def writes(door: Door, used: Used, count: int) -> dict[str, Reading]:
    """Create so many small ConfigMaps, then change each while ten watch."""
    await door.send("POST", "/api/v1/namespaces", b'{"metadata":{"name":"bench"}}')
    answers: dict[str, Reading] = {}
    cpu, begun = used.cpu(), time.perf_counter()
    await gather((_create(door, number) for number in range(count)), _IN_FLIGHT)
    answers["create"] = used.reading((used.cpu() - cpu) / count * 1e6, time.perf_counter() - begun)
    cpu, begun = used.cpu(), time.perf_counter()
    await gather((_change(door, number, "alone") for number in range(count)), _IN_FLIGHT)
    answers["patch"] = used.reading((used.cpu() - cpu) / count * 1e6, time.perf_counter() - begun)
    cpu, begun = used.cpu(), time.perf_counter()
    async with asyncio.TaskGroup() as group:
        opened = [asyncio.Event() for _ in range(_WATCHERS)]
        for each in opened:
            group.create_task(_follow(door, count, each))
        await asyncio.gather(*(each.wait() for each in opened))
        await gather((_change(door, number, "watched") for number in range(count)), _IN_FLIGHT)
    answers["event"] = used.reading((used.cpu() - cpu) / (count * _WATCHERS) * 1e6, time.perf_counter() - begun)
    return answers


async def lists(door: Door, used: Used, pods: Iterable[Made]) -> dict[str, Reading]:
    """Create Pods, and list them all in one answer."""
    made = list(pods)
    await gather((_add(door, one) for one in made), _IN_FLIGHT)
    spent: list[tuple[float, float]] = []
    for _ in range(_LISTS):
        cpu, begun = used.cpu(), time.perf_counter()
        said = await door.send("GET", _PODS)
        spent.append((time.perf_counter() - begun, used.cpu() - cpu))
        if len(said) < 1000 * len(made):
            raise BenchError(f"a list of {len(made)} Pods has {len(said)} bytes only")
        del said
    wall, cpu = sorted(spent)[_LISTS // 2]
    return {
        "list": used.reading(wall / len(made) * 1e6, wall),
        "list cpu": used.reading(cpu / len(made) * 1e6, wall),
        "held": used.reading(used.memory() / 1e6),
    }


async def _create(door: Door, number: int) -> None:
    body = {"metadata": {"name": f"c{number}", "labels": {"app": "bench"}}, "data": {"key": f"value {number}"}}
    await door.send("POST", _CONFIGS, msgspec.json.encode(body))


async def _change(door: Door, number: int, text: str) -> None:
    await door.send("PATCH", f"{_CONFIGS}/c{number}", b'{"data":{"key":"%b"}}' % text.encode(), _MERGE)


async def _add(door: Door, made: Made) -> None:
    await door.send("POST", _PODS, msgspec.json.encode(made.manifest))
    if made.status is not None:
        await door.send("PATCH", f"{_PODS}/{made.name}/status", msgspec.json.encode({"status": made.status}), _MERGE)


async def _follow(door: Door, count: int, opened: asyncio.Event) -> None:
    version = msgspec.json.decode(await door.send("GET", f"{_CONFIGS}?limit=1"))["metadata"]["resourceVersion"]
    async with door.watch(f"{_CONFIGS}?watch=1&resourceVersion={version}") as told:
        opened.set()
        heard = 0
        async for piece in told:
            heard += piece.count(b"\n")
            if heard >= count:
                return
    raise BenchError(f"a watch ended after {heard} of {count} events")

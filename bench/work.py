"""The work of the client's scenarios, in the words that every peer written in Python understands.

What is measured is between `Meter.start` and `stop`; the first request, which opens a connection, is before that.
"""

import asyncio
import time
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from bench.cost import Cost, Meter
from bench.population import settings_name

_T = TypeVar("_T")


@dataclass(frozen=True)
class Job:
    """What one contestant is asked to do."""

    scenario: str  # patch, get or list
    kubeconfig: str
    namespace: str
    count: int  # requests to make, or objects that a list must give
    in_flight: int = 16
    objects: int = 100  # ConfigMaps that the requests go round
    page: int = 0  # objects in a page of a list; 0 lists all at once
    uvloop: bool = False


class AsyncPeer(Protocol):
    """A client for asyncio. Every answer is decoded before a method returns."""

    version: str

    async def get(self, name: str) -> object:
        """Get a ConfigMap."""
        ...

    async def patch(self, name: str, patch: dict[str, Any]) -> object:
        """Send it a merge patch."""
        ...

    async def list(self, page: int) -> list[Any]:
        """List all Pods of the namespace."""
        ...


class ThreadedPeer(Protocol):
    """A client that blocks, for use in threads; otherwise as an AsyncPeer."""

    version: str

    def get(self, name: str) -> object:
        """Get a ConfigMap."""
        ...

    def patch(self, name: str, patch: dict[str, Any]) -> object:
        """Send it a merge patch."""
        ...

    def list(self, page: int) -> list[Any]:
        """List all Pods of the namespace."""
        ...


def run_async(job: Job, connect: Callable[[Job], AbstractAsyncContextManager[AsyncPeer]]) -> Cost:
    """Do the job in an event loop, many coroutines at a time."""

    async def main() -> Cost:
        async with connect(job) as peer:
            await peer.get(settings_name(0))
            if job.scenario == "list":
                meter = Meter.start()
                kept = await peer.list(job.page)
                return meter.stop(len(kept), peer.version)
            revision = _revisions()
            ask: dict[str, Callable[[int], Coroutine[Any, Any, object]]] = {
                "get": lambda i: peer.get(settings_name(i % job.objects)),
                "patch": lambda i: peer.patch(settings_name(i % job.objects), revision(i)),
            }
            one = ask[job.scenario]
            numbers = iter(range(job.count))

            async def worker() -> None:
                for i in numbers:
                    await one(i)

            meter = Meter.start()
            await asyncio.gather(*(worker() for _ in range(job.in_flight)))
            return meter.stop(job.count, peer.version)

    return in_loop(main(), uvloop=job.uvloop)


def run_in_threads(job: Job, peer: ThreadedPeer) -> Cost:
    """Do the job in as many threads as requests may be in flight."""
    peer.get(settings_name(0))
    if job.scenario == "list":
        meter = Meter.start()
        kept = peer.list(job.page)
        return meter.stop(len(kept), peer.version)
    revision = _revisions()
    ask: dict[str, Callable[[int], object]] = {
        "get": lambda i: peer.get(settings_name(i % job.objects)),
        "patch": lambda i: peer.patch(settings_name(i % job.objects), revision(i)),
    }
    one = ask[job.scenario]

    def worker(number: int) -> None:
        for i in range(number, job.count, job.in_flight):
            one(i)

    with ThreadPoolExecutor(job.in_flight) as pool:
        meter = Meter.start()
        for done in [pool.submit(worker, number) for number in range(job.in_flight)]:
            done.result()
        return meter.stop(job.count, peer.version)


def _revisions() -> Callable[[int], dict[str, Any]]:
    """Patches that differ from those of other processes too: one that changes nothing is not written."""
    nonce = time.time_ns()
    return lambda i: {"data": {"revision": f"{nonce}-{i}"}}


def in_loop(work: Coroutine[Any, Any, _T], *, uvloop: bool) -> _T:
    """Run it in an event loop: asyncio's own, or that of uvloop."""
    factory: Callable[[], asyncio.AbstractEventLoop] | None = None
    if uvloop:
        from uvloop import new_event_loop as factory  # noqa: PLC0415 (only where it is asked for)

    with asyncio.Runner(loop_factory=factory) as runner:
        return runner.run(work)

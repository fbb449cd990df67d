"""The writer whose changes the contestants hear of: merge patches with the time in them, at a bounded rate."""

import asyncio
import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import islice

import aiohttp
import msgspec
from yarl import URL

from bench.harness import BenchError
from bench.informer.lines import STAMP
from bench.loading import gather
from bench.population import FIELD_MANAGER
from bench.session import open_session

_MERGE = {"Content-Type": "application/merge-patch+json"}


@dataclass(frozen=True)
class Writing:
    """How to write, the same for all contestants."""

    count: int
    in_flight: int
    rate: float  # a second, at most


def order(names: Sequence[str], count: int) -> list[str]:
    """Say which objects to change: at random, but each once before any twice.

    So no two changes of an object are so near that somebody would hear of the later one alone.
    """
    rng = random.Random(count)  # noqa: S311
    rounds = (name for _ in range(count) for name in rng.sample(names, len(names)))
    return list(islice(rounds, count))


def due(number: int, rate: float, since: float, now: float) -> float:
    """Say how long to wait with the n-th change."""
    return max(0.0, since + number / rate - now)


async def write(kubeconfig: str, collection: str, names: Sequence[str], writing: Writing) -> None:
    """Change objects of a collection, such as `/api/v1/namespaces/x/pods`."""
    async with open_session(kubeconfig) as (session, server):
        clock = asyncio.get_running_loop().time
        since = clock()

        async def change(number: int, name: str) -> None:
            await asyncio.sleep(due(number, writing.rate, since, clock()))
            await _patch(session, f"{server}{collection}/{name}", time.time)

        await gather((change(*one) for one in enumerate(order(names, writing.count))), writing.in_flight)


async def _patch(session: aiohttp.ClientSession, url: str, clock: Callable[[], float]) -> None:
    body = msgspec.json.encode({"metadata": {"annotations": {STAMP: f"{clock():.6f}"}}})
    target = URL(f"{url}?fieldManager={FIELD_MANAGER}", encoded=True)
    async with session.patch(target, data=body, headers=_MERGE) as response:
        if response.status >= 400:
            raise BenchError(f"a patch was answered {response.status}: {await response.text()}")
        await response.read()

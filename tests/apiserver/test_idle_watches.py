"""Ten thousand who watch and hear nothing cost a little memory, and nobody else any time."""

from __future__ import annotations

import asyncio
from pathlib import Path

import msgspec

from trimtab.apiserver.messages import Request, Streaming
from trimtab.apiserver.server import ADMIN, Server
from trimtab.apiserver.watching import WatchSource

IDLE = 10_000
MOST = 60 << 20  # bytes for all of them
QUIET, LOUD = "/api/v1/namespaces/quiet/configmaps", "/api/v1/namespaces/loud/configmaps"


def memory() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


async def create(server: Server, path: str, name: str) -> None:
    body = msgspec.json.encode({"metadata": {"name": name}})
    assert (await server.handle(Request("POST", path, "", {}, body, ADMIN))).status == 201


async def watch(server: Server, path: str) -> WatchSource:
    answer = await server.handle(Request("GET", path, "watch=1", {}, b"", ADMIN))
    assert isinstance(answer, Streaming)
    assert isinstance(answer.source, WatchSource)
    return answer.source


async def test_ten_thousand_idle_watches() -> None:
    server = Server()
    for name in ("quiet", "loud"):
        await create(server, "/api/v1/namespaces", name)
    before = memory()
    sources = [await watch(server, QUIET) for _ in range(IDLE)]
    reading = [asyncio.create_task(source.read()) for source in sources]
    await asyncio.sleep(0)
    assert memory() - before < MOST

    waiting = sources[0]._waiter
    await create(server, LOUD, "a")
    assert waiting is not None
    assert not waiting.done()  # it does not concern them, and they are not even woken
    server.store.compact(server.store.revision)
    await create(server, LOUD, "b")
    await create(server, QUIET, "c")  # and none of them has missed anything, nor been left behind by what is forgotten
    told = [msgspec.json.decode(line) for line in await asyncio.gather(*reading)]
    assert {(event["type"], event["object"]["metadata"]["name"]) for event in told} == {("ADDED", "c")}
    for source in sources:
        source.close()

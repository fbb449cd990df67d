"""20,000 updates while a handler sleeps."""

import asyncio
import base64
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from trimtab.cache import Cached, Informers
from trimtab.client import Client
from trimtab.kube.core.v1 import ConfigMap
from trimtab.testing.control_plane import ControlPlane

from .cache_helpers import Witness, config_map, until

OBJECTS = 40
EACH = 500


class Etcd:
    """Writes straight into etcd: through the API server 20,000 writes take half a minute, and what it tells its
    watchers of them is the same."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer

    @classmethod
    @asynccontextmanager
    async def connected(cls, control_plane: ControlPlane) -> AsyncIterator["Etcd"]:
        socket = control_plane._started.peer("etcd").address
        assert isinstance(socket, Path)
        reader, writer = await asyncio.open_unix_connection(socket)
        try:
            yield cls(reader, writer)
        finally:
            writer.transport.abort()

    async def get(self, key: str) -> bytes:
        answer = await self._ask("range", {"key": _base64(key.encode())})
        return base64.b64decode(answer["kvs"][0]["value"])

    async def put(self, key: str, value: bytes) -> None:
        await self._ask("put", {"key": _base64(key.encode()), "value": _base64(value)})

    async def _ask(self, what: str, body: dict[str, str]) -> Any:
        data = json.dumps(body).encode()
        head = f"POST /v3/kv/{what} HTTP/1.1\r\nHost: etcd\r\nContent-Length: {len(data)}\r\n\r\n"
        self._writer.write(head.encode() + data)
        answer = await self._reader.readuntil(b"\r\n\r\n")
        assert answer.startswith(b"HTTP/1.1 200 "), answer
        length = answer.lower().partition(b"content-length:")[2].partition(b"\r\n")[0]
        return json.loads(await self._reader.readexactly(int(length)))


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode()


def number(entry: Cached[ConfigMap]) -> int:
    return int(entry.read().data["x"].strip("#"))


async def test_a_handler_sleeps_through_20000_updates(client: Client, control_plane: ControlPlane) -> None:
    ns = client.namespace
    names = [f"c{n}" for n in range(OBJECTS)]
    await asyncio.gather(*(client.create(config_map(name, "#00000#")) for name in names))

    async def write(mine: list[str]) -> None:
        async with Etcd.connected(control_plane) as etcd:
            keys = [f"/registry/configmaps/{ns}/{name}" for name in mine]
            values = {key: await etcd.get(key) for key in keys}
            for count in range(1, EACH + 1):
                for key in keys:
                    await etcd.put(key, values[key].replace(b"#00000#", b"#%05d#" % count))

    async with Informers(client) as informers:
        informer = informers.informer(ConfigMap, namespaces=ns)
        awake, seen = asyncio.Event(), list[tuple[str, int]]()
        versions: list[int] = []

        async def doze(old: Cached[ConfigMap], new: Cached[ConfigMap]) -> None:
            await awake.wait()
            seen.append((new.key, int(old.resource_version)))
            versions.append(int(new.resource_version))

        sleeper = informer.add_handler(on_update=doze, name="sleeper")
        quick = Witness(informer)
        await informers.synced(30)
        await until(lambda: sleeper.has_synced)

        await asyncio.gather(*(write(names[n::4]) for n in range(4)))
        # The cache and the other handler have all of it, right after the last write; the sleeper has none.
        async with asyncio.timeout(5):
            await until(lambda: len(quick.told) == OBJECTS + OBJECTS * EACH)
        assert {number(entry) for entry in informer.lister.entries()} == {EACH}
        assert informer.lister.get("c0", namespace=ns).data == {"x": f"#{EACH:05}#"}
        assert quick.registration.backlog == 0
        assert sleeper.backlog == OBJECTS * EACH
        assert seen == []

        awake.set()
        await until(lambda: sleeper.backlog == 0)
        assert len(versions) == OBJECTS * EACH
        assert versions == sorted(set(versions))  # each once, in the order in which they were written
        newest: dict[str, int] = {}
        for (key, old), new in zip(seen, versions, strict=True):
            assert newest.setdefault(key, old) == old  # and none is left out
            newest[key] = new
        assert quick.faults == []
        assert informer.watches[0].pulse.loads == 1

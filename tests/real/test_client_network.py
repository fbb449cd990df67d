"""What a bad network does to a client of a real API server, TLS and all."""

# ruff: noqa: ASYNC110 - nothing tells when the server has come to know

import asyncio
import dataclasses
from collections.abc import AsyncIterator
from typing import Any

import pytest

from trimtab.client import BadRequest, Broken, Client, Config, MergePatch, Retry, Stalled, load_config
from trimtab.kube.core.v1 import ConfigMap
from trimtab.kube.meta.v1 import ObjectMeta
from trimtab.testing.control_plane import ControlPlane


class Relay:
    """Passes bytes on to the API server and back, until it is told to do worse."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.connections = 0
        self.budget: int | None = None  # bytes on the way back, then every connection is cut
        self.open = asyncio.Event()  # bytes on the way back wait for it
        self.open.set()
        self._writers: set[asyncio.StreamWriter] = set()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        there, back = await asyncio.open_connection("127.0.0.1", self.port)
        self._writers |= {writer, back}
        try:
            async with asyncio.TaskGroup() as both:
                both.create_task(self._pass(reader, back, spend=False))
                both.create_task(self._pass(there, writer, spend=True))
        except* ConnectionError:
            self._writers -= {writer, back}
        finally:
            for one in (writer, back):
                one.transport.abort()

    async def _pass(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, spend: bool) -> None:
        while data := await reader.read(1 << 16):
            if spend:
                await self.open.wait()
                data = self._allowed(data)
            writer.write(data)
            await writer.drain()
            if self.budget == 0:
                await asyncio.sleep(0)  # so that the last bytes leave
                self.cut()
        raise ConnectionAbortedError

    def _allowed(self, data: bytes) -> bytes:
        if self.budget is None:
            return data
        data = data[: self.budget]
        self.budget -= len(data)
        return data

    def cut(self) -> None:
        self.budget = None
        for writer in self._writers:
            writer.transport.abort()


@pytest.fixture
def config(control_plane: ControlPlane) -> Config:
    return load_config(control_plane.kubeconfig())


@pytest.fixture
async def relay(control_plane: ControlPlane) -> AsyncIterator[Relay]:
    relay = Relay(int(control_plane.url.rpartition(":")[2]))
    server = await asyncio.start_server(relay.serve, "127.0.0.1", 0)
    relay.url = f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}"  # type: ignore[attr-defined]
    yield relay
    server.close()
    relay.cut()


@pytest.fixture
async def direct(config: Config, real_namespace: str) -> AsyncIterator[Client]:
    """A client with a good network."""
    async with Client(config, namespace=real_namespace) as client:
        yield client


@pytest.fixture
async def client(config: Config, relay: Any, real_namespace: str) -> AsyncIterator[Client]:
    retry = Retry(first=0.001)
    async with Client(dataclasses.replace(config, server=relay.url), namespace=real_namespace, retry=retry) as client:
        yield client


def config_map(name: str, **data: str) -> ConfigMap:
    return ConfigMap(metadata=ObjectMeta(name=name), data=data)


async def test_a_watch_that_is_cut_goes_on_where_it_was(client: Client, direct: Client, relay: Relay) -> None:
    ns = client.namespace
    made = await direct.create(config_map("a", x="1"))
    seen: list[str] = []
    async with client.watch(ConfigMap, namespace=ns, resource_version=made.metadata.resource_version) as events:
        await direct.patch(ConfigMap, "a", MergePatch({"data": {"x": "2"}}))
        seen.append((await anext(events)).object.data["x"])
        relay.budget = 300  # of more than 10 KB
        await direct.patch(ConfigMap, "a", MergePatch({"data": {"x": "3" * 10_000}}))
        with pytest.raises(Broken, match="cannot watch configmaps"):
            await anext(events)
    async with client.watch(ConfigMap, namespace=ns, resource_version=events.resource_version) as events:
        seen.append((await anext(events)).object.data["x"])
    assert seen == ["2", "3" * 10_000]


async def test_a_watch_behind_a_dead_middlebox_is_noticed(client: Client, direct: Client, relay: Relay) -> None:
    ns = client.namespace
    made = await direct.create(config_map("a", x="1"))
    version = made.metadata.resource_version
    async with client.watch(ConfigMap, namespace=ns, resource_version=version, silence=1) as events:
        await direct.patch(ConfigMap, "a", MergePatch({"data": {"x": "2"}}))
        await anext(events)
        relay.open.clear()
        await direct.patch(ConfigMap, "a", MergePatch({"data": {"x": "3"}}))
        with pytest.raises(Stalled, match=r"nothing came for 1 s"):
            await anext(events)
    relay.open.set()
    async with client.watch(ConfigMap, namespace=ns, resource_version=events.resource_version) as events:
        assert (await anext(events)).object.data == {"x": "3"}


async def test_a_get_that_is_cut_is_tried_again(client: Client, direct: Client, relay: Relay) -> None:
    await direct.create(config_map("a", x="y" * 100_000))  # less than what the server would compress
    relay.budget = 50_000
    assert len((await client.get(ConfigMap, "a")).data["x"]) == 100_000
    assert relay.connections == 2


async def test_a_create_that_is_cut_is_not(client: Client, direct: Client, relay: Relay) -> None:
    await client.version()  # the connection is there
    relay.budget = 1
    with pytest.raises(
        Broken, match=f"cannot create configmaps in {client.namespace}: https://.*: the connection broke"
    ):
        await client.create(ConfigMap(metadata=ObjectMeta(generate_name="made-")))
    assert len(await direct.list(ConfigMap, namespace=client.namespace)) == 1


async def test_a_delete_that_is_cut_does_not_reach_a_successor(client: Client, direct: Client, relay: Relay) -> None:
    """Sent twice, it would delete the object that somebody else has made in the meantime."""
    await direct.create(config_map("a"))
    await client.version()
    relay.open.clear()
    deletion = asyncio.create_task(client.delete(ConfigMap, "a"))
    async with asyncio.timeout(20):
        while await direct.list(ConfigMap, namespace=client.namespace):
            await asyncio.sleep(0)
    await direct.create(config_map("a"))
    relay.cut()
    relay.open.set()
    with pytest.raises(Broken):
        await deletion
    assert [o.metadata.name for o in await direct.list(ConfigMap, namespace=client.namespace)] == ["a"]


async def test_http_to_the_port_of_https(config: Config) -> None:
    plain = dataclasses.replace(config, server=config.server.replace("https:", "http:"))
    async with Client(plain) as client:
        with pytest.raises(BadRequest, match=r"cannot get /version: .* Client sent an HTTP request to an HTTPS server"):
            await client.version()

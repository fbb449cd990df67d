"""The API server is killed under load, forgets what it had, pages its lists; the cache agrees with it all the same."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import AbstractAsyncContextManager

import pytest

from trimtab.cache import Informers
from trimtab.client import (
    ApiError,
    Client,
    HttpTransport,
    MergePatch,
    Retry,
    Stream,
    TransportError,
    load_config,
)
from trimtab.client.request import Request
from trimtab.kube.core.v1 import ConfigMap, Secret
from trimtab.kube.meta.v1 import ObjectMeta
from trimtab.testing.control_plane import ControlPlane

from .cache_helpers import (
    Recording,
    Witness,
    config_map,
    kept,
    no_streamed_state,
    through_proxy,
    truth,
    until,
)

PATIENT = Retry(attempts=1000, first=0.05, longest=0.2)
GONE = None


@pytest.fixture(scope="module")
def breakable(control_plane: ControlPlane) -> Iterator[ControlPlane]:
    """A control plane of this module's own, that keeps Secrets in etcd alone: so their lists come in pages."""
    with ControlPlane(control_plane.version, flags={"kube-apiserver": ["--watch-cache-sizes=secrets#0"]}) as own:
        yield own


@pytest.fixture
def namespace(breakable: ControlPlane) -> Iterator[str]:
    with breakable.namespace() as name:
        yield name


@pytest.fixture
async def client(breakable: ControlPlane, namespace: str) -> AsyncIterator[Client]:
    async with Client(load_config(breakable.kubeconfig()), namespace=namespace, retry=PATIENT) as client:
        yield client


class Writer:
    """Creates, changes and deletes objects of its own all the time, and remembers what the server acknowledged."""

    def __init__(self, client: Client, number: int) -> None:
        self.acknowledged: dict[str, int | None] = {}  # the version by name; None for what is gone
        self.writes = 0
        self.failures = 0
        self._client = client
        self._number = number

    async def run(self, stop: asyncio.Event) -> None:
        number = 0
        while not stop.is_set():
            number += 1
            name = f"w{self._number}-{number - 1}"
            if self.acknowledged.get(name, 0) is not GONE:  # else it is made anew
                name = f"w{self._number}-{number}"
            try:
                await self._live(name, number)
            except (ApiError, TransportError):
                self.failures += 1
                self.acknowledged.pop(name, None)  # it was done, or it was not: nobody knows
                await asyncio.sleep(0.01)

    async def _live(self, name: str, number: int) -> None:
        self._note(name, (await self._client.create(config_map(name))).metadata)
        for value in range(number % 4):
            patch = MergePatch({"data": {"x": f"new-{value}"}})
            self._note(name, (await self._client.patch(ConfigMap, name, patch)).metadata)
        if number % 5 != 4:
            await self._client.delete(ConfigMap, name)
            self._note(name, GONE)

    def _note(self, name: str, metadata: ObjectMeta | None) -> None:
        self.writes += 1
        self.acknowledged[name] = int(metadata.resource_version) if metadata else None


async def test_the_server_is_killed_under_load(client: Client, breakable: ControlPlane) -> None:
    ns = client.namespace
    async with through_proxy(breakable) as (proxy, behind), Informers(behind, random=lambda: 0.0) as informers:
        informer = informers.informer(ConfigMap, namespaces=ns)
        witness = Witness(informer)
        pulse = informer.watches[0].pulse
        await informers.synced(30)
        stop = asyncio.Event()
        writers = [Writer(client, number) for number in range(4)]

        async def more_is_written() -> None:
            before = [writer.writes for writer in writers]
            await until(lambda: all(w.writes > writes + 15 for w, writes in zip(writers, before, strict=True)))

        async def more_is_seen() -> None:
            told = len(witness.told)
            await until(lambda: len(witness.told) > told + 50)

        async with asyncio.TaskGroup() as work:
            for writer in writers:
                work.create_task(writer.run(stop))
            await more_is_seen()
            await asyncio.to_thread(breakable.kill, "kube-apiserver")
            await asyncio.to_thread(breakable.restart, "kube-apiserver")
            await more_is_seen()

            # And once more, after the informer was cut off for a while, so that its version is surely forgotten.
            loads, proxy.deaf = pulse.loads, True
            proxy.cut()
            await more_is_written()
            await asyncio.to_thread(breakable.kill, "kube-apiserver")
            await asyncio.to_thread(breakable.compact)
            await asyncio.to_thread(breakable.restart, "kube-apiserver")
            proxy.deaf = False
            proxy.cut()
            await more_is_seen()
            assert pulse.loads > loads  # it was told anew while the writers went on
            stop.set()
        last = await client.create(config_map("last"))
        await until(lambda: f"{ns}/last" in witness.state)

        there = await truth(client, ConfigMap, namespace=ns)
        assert kept(informer) == there
        assert witness.state == there
        assert witness.faults == []
        assert there[f"{ns}/last"] == (last.metadata.uid, int(last.metadata.resource_version))
        for name, version in [item for writer in writers for item in writer.acknowledged.items()]:
            assert there.get(f"{ns}/{name}", ("", None))[1] == version, name
        assert any(writer.failures for writer in writers)
        assert {what for what, _ in witness.told} >= {"add", "update", "delete", "tombstone"}
        assert informers.health()[0].problem == ""


async def test_what_happened_while_the_watch_stalled_is_forgotten(client: Client, breakable: ControlPlane) -> None:
    ns = client.namespace
    for name in ("gone", "again", "changed", "same"):
        await client.create(config_map(name))
    async with through_proxy(breakable) as (proxy, behind), Informers(behind, random=lambda: 0.0) as informers:
        informer = informers.informer(ConfigMap, namespaces=ns)
        witness = Witness(informer)
        await informers.synced(30)
        before = witness.state.copy()
        witness.forget()

        proxy.silent = True
        await client.delete(ConfigMap, "gone")
        await client.delete(ConfigMap, "again")
        again = await client.create(config_map("again"))
        for value in ("2", "3"):
            await client.patch(ConfigMap, "changed", MergePatch({"data": {"x": value}}))
        await client.create(config_map("new"))
        await client.create(config_map("never"))
        await client.delete(ConfigMap, "never")
        await asyncio.to_thread(breakable.kill, "kube-apiserver")
        await asyncio.to_thread(breakable.compact)
        await asyncio.to_thread(breakable.restart, "kube-apiserver")
        assert witness.told == []
        assert kept(informer) == before  # as old as the last word of the server, and still there to be read

        proxy.silent = False
        proxy.cut()
        there = await truth(client, ConfigMap, namespace=ns)
        await until(lambda: witness.state == there)
        assert kept(informer) == there
        assert witness.faults == []
        assert sorted(witness.told) == [
            ("add", "again"),
            ("add", "new"),
            ("tombstone", "again"),
            ("tombstone", "gone"),
            ("update", "changed"),
        ]
        assert witness.told.index(("tombstone", "again")) < witness.told.index(("add", "again"))
        assert there[f"{ns}/again"][0] == again.metadata.uid != before[f"{ns}/again"][0]
        assert informer.watches[0].pulse.loads == 2


async def test_the_server_is_restarted_and_nothing_happened(client: Client, breakable: ControlPlane) -> None:
    """What was in the way is in the way no longer, though nobody says so."""
    await client.create(config_map("a"))
    async with Informers(client, random=lambda: 0.0) as informers:
        informer = informers.informer(ConfigMap, namespaces=client.namespace)
        witness = Witness(informer)
        await informers.synced(30)
        await until(lambda: witness.told == [("add", "a")])
        await asyncio.to_thread(breakable.kill, "kube-apiserver")
        await until(lambda: "connection refused" in informers.health()[0].problem)
        assert informer.lister.get("a", namespace=client.namespace) is not None  # reads go on
        await asyncio.to_thread(breakable.restart, "kube-apiserver")
        await until(lambda: informers.health()[0].problem == "", 15)
        await client.create(config_map("b"))
        await until(lambda: ("add", "b") in witness.told)
        assert witness.told == [("add", "a"), ("add", "b")]


def secret(number: int) -> Secret:
    return Secret(metadata=ObjectMeta(name=f"s{number:04}"), data={"x": b"1"})


async def make_secrets(client: Client) -> None:
    for start in range(0, 600, 50):
        await asyncio.gather(*(client.create(secret(n)) for n in range(start, start + 50)))


async def test_the_server_forgets_between_two_pages(client: Client, breakable: ControlPlane) -> None:
    ns = client.namespace
    await make_secrets(client)
    forget = asyncio.Event()

    class Forgetful(Recording):
        """Before the second page of a list, what the first is of is forgotten."""

        def stream(self, request: Request) -> AbstractAsyncContextManager[Stream]:
            if "continue=" in request.path and not forget.is_set():
                forget.set()
                breakable.request("DELETE", f"/api/v1/namespaces/{ns}/secrets/s0001")  # it is in the first page
                breakable.request("DELETE", f"/api/v1/namespaces/{ns}/secrets/s0599")
                breakable.compact()
            return super().stream(request)

    transport = Forgetful(HttpTransport(load_config(breakable.kubeconfig())), no_streamed_state)
    async with Client(transport) as reader, Informers(reader, random=lambda: 0.0) as informers:
        informer = informers.informer(Secret, namespaces=ns)
        witness = Witness(informer)
        await informers.synced(30)
        assert forget.is_set()
        lists = transport.paths("list")
        assert ["limit=500" in path for path in lists] == [True, True, False]
        assert ["continue=" in path for path in lists] == [False, True, False]
        there = await truth(client, Secret, namespace=ns)
        await until(lambda: witness.state == there)
        assert len(there) == 598
        assert kept(informer) == there
        await client.delete(Secret, "s0002")
        await until(lambda: ("delete", "s0002") in witness.told)
        assert witness.faults == []


async def test_a_list_in_two_pages(client: Client, breakable: ControlPlane) -> None:
    await make_secrets(client)
    transport = Recording(HttpTransport(load_config(breakable.kubeconfig())), no_streamed_state)
    async with Client(transport) as reader, Informers(reader, random=lambda: 0.0) as informers:
        informer = informers.informer(Secret, namespaces=client.namespace)
        witness = Witness(informer)
        await informers.synced(30)
        first, second = (path.partition("?")[2] for path in transport.paths("list"))
        assert first == "resourceVersion=0&limit=500"
        assert second.startswith("limit=500&continue=")
        there = await truth(client, Secret, namespace=client.namespace)
        assert (len(there), kept(informer)) == (600, there)
        await until(lambda: witness.state == there)
        assert len(witness.initial) == 600


async def test_the_state_is_streamed_from_etcd(client: Client, breakable: ControlPlane) -> None:
    """Where the server keeps no cache of a kind."""
    await client.create(secret(1))
    transport = Recording(HttpTransport(load_config(breakable.kubeconfig())))
    async with Client(transport) as reader, Informers(reader, random=lambda: 0.0) as informers:
        informer = informers.informer(Secret, namespaces=client.namespace)
        witness = Witness(informer)
        await informers.synced(30)
        await client.create(secret(2))
        await client.delete(Secret, "s0001")
        await until(lambda: ("delete", "s0001") in witness.told)
        assert kept(informer) == await truth(client, Secret, namespace=client.namespace)
        assert witness.told == [("add", "s0001"), ("add", "s0002"), ("delete", "s0001")]
        assert [request.verb for request in transport.asked] == ["watch"]

"""Read your writes: what was written shows in the cache as soon as the write has returned."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from trimtab.cache import Informer, Informers
from trimtab.client import Client, HttpTransport, MergePatch
from trimtab.client.request import Request
from trimtab.kube.core.v1 import ConfigMap
from trimtab.kube.meta.v1 import ObjectMeta
from trimtab.testing.control_plane import ControlPlane

from .cache_helpers import Proxy, Split, Witness, config_map, kept, proxied, truth, until

FINALIZER = "trimtab.dev/wait"


@pytest.fixture
async def informers(client: Client) -> AsyncIterator[Informers]:
    async with Informers(client, random=lambda: 0.0) as informers:
        yield informers


class Reading:
    """Writes, and reads what it wrote at once."""

    def __init__(self, writer: Client, informer: Informer[ConfigMap]) -> None:
        self.writer = writer
        self.lister = informer.lister
        self.overlay = informer.watches[0].overlay
        self.ahead = 0  # how many reads the watch had not made true yet
        self.writes = 0

    def expect(self, name: str, written: ConfigMap | None) -> None:
        self.writes += 1
        self.ahead += len(self.overlay) > 0
        read = self.lister.get(name, namespace=self.writer.namespace)
        if written is None:
            assert read is None
        else:
            assert read is not None
            assert read.metadata.resource_version == written.metadata.resource_version
            written.metadata.managed_fields = []  # which the cache does not keep
            assert read == written
        listed = [o.metadata.name for o in self.lister.list(namespace=self.writer.namespace)]
        assert listed.count(name) == (written is not None)

    async def live(self, name: str) -> None:
        """Ten writes."""
        writer = self.writer
        self.expect(name, await writer.create(config_map(name, step="1")))
        self.expect(name, await writer.patch(ConfigMap, name, MergePatch({"data": {"x": "2"}})))
        applied = ConfigMap(metadata=ObjectMeta(name=name), data={"y": "3"})
        self.expect(name, await writer.apply(applied))
        self.expect(name, await writer.apply(applied))  # which changes nothing
        await writer.delete(ConfigMap, name)
        self.expect(name, None)
        again = config_map(name)
        again.metadata.finalizers = [FINALIZER]
        self.expect(name, made := await writer.create(again))
        left = await writer.delete(made)
        assert left is not None  # the finalizer keeps it, and readers see that it is to go
        self.expect(name, left)
        self.expect(name, await writer.patch(ConfigMap, name, MergePatch({"data": {"x": "4"}})))

        def release(obj: ConfigMap) -> None:
            obj.metadata.finalizers = []

        await writer.modify(ConfigMap, name, release)
        self.expect(name, None)
        self.expect(name, await writer.create(config_map(name)))


async def test_200_writes_are_read_at_once(client: Client, informers: Informers) -> None:
    informer = informers.informer(ConfigMap, namespaces=client.namespace)
    witness = Witness(informer)
    await informers.synced(30)
    writer = informers.client
    reading = Reading(writer, informer)
    for number in range(4):
        await reading.live(f"alone-{number}")
    # Side by side, so that the watch of one shows while another writes.
    await asyncio.gather(*(reading.live(f"many-{number}") for number in range(16)))
    assert reading.writes == 200
    assert reading.ahead > 0  # else the watch was always first, and this shows nothing
    await until(lambda: len(reading.overlay) == 0, 10)
    assert reading.overlay.forgotten == 0
    there = await truth(client, ConfigMap, namespace=client.namespace)
    assert len(there) == 20
    assert kept(informer) == there
    await until(lambda: witness.state == there)
    assert witness.faults == []


class Lagging:
    """Informers whose watches can be silenced, while writes reach the server."""

    def __init__(self, proxy: Proxy, transport: Split, informers: Informers) -> None:
        self.proxy = proxy
        self.transport = transport
        self.informers = informers
        self.writer = informers.client

    def catch_up(self) -> None:
        self.proxy.silent = False
        self.proxy.cut()


@pytest.fixture
async def lagging(control_plane: ControlPlane, real_namespace: str) -> AsyncIterator[Lagging]:
    async with proxied(control_plane) as (proxy, behind, direct):
        transport = Split(HttpTransport(direct), HttpTransport(behind))
        async with (
            Client(transport, namespace=real_namespace) as client,
            Informers(client, random=lambda: 0.0) as informers,
        ):
            yield Lagging(proxy, transport, informers)


async def test_while_the_watch_lags(client: Client, lagging: Lagging) -> None:
    ns, writer = client.namespace, lagging.writer
    for name in ("a", "b", "c", "d"):
        await client.create(config_map(name, tier="x"))
    informer = lagging.informers.informer(ConfigMap, namespaces=ns)
    selected = lagging.informers.informer(ConfigMap, namespaces=ns, labels="tier=x")
    await lagging.informers.synced(30)

    lagging.proxy.silent = True
    await writer.delete(ConfigMap, "a")
    await writer.delete(ConfigMap, "b")
    again = await writer.create(config_map("b", "again"))
    await writer.patch(ConfigMap, "c", MergePatch({"metadata": {"labels": {"tier": "y"}}}))
    await writer.create(config_map("e", tier="x"))
    await writer.create(config_map("f", tier="x"))
    await writer.delete(ConfigMap, "f")  # the watch has shown none of it
    await writer.patch(ConfigMap, "d", MergePatch({"data": {"x": "dry"}}), dry_run=True)

    def names(which: Informer[ConfigMap], **how: str) -> list[str]:
        return sorted(o.metadata.name for o in which.lister.list(**how))

    assert names(informer) == ["b", "c", "d", "e"]
    assert names(selected) == ["d", "e"]
    assert names(informer, labels="tier=y") == ["c"]
    assert informer.lister.get("b", namespace=ns).metadata.uid == again.metadata.uid
    assert informer.lister.get("d", namespace=ns).data == {"x": "1"}
    assert selected.lister.get("b", namespace=ns) is None
    assert selected.lister.get("c", namespace=ns) is None

    lagging.catch_up()
    await client.create(config_map("last", tier="x"))
    await until(lambda: all("last" in names(which) for which in (informer, selected)))
    assert [len(which.watches[0].overlay) for which in (informer, selected)] == [0, 0]
    assert kept(informer) == await truth(client, ConfigMap, namespace=ns)
    assert kept(selected) == await truth(client, ConfigMap, namespace=ns, labels="tier=x")


@pytest.mark.parametrize("last", ["patch", "delete"])
async def test_an_answer_that_comes_late_changes_nothing(client: Client, lagging: Lagging, last: str) -> None:
    """Two write the same object, and the answer to the first comes after the answer to the second."""
    writer, ns = lagging.writer, client.namespace
    await client.create(config_map("a"))
    informer = lagging.informers.informer(ConfigMap, namespaces=ns)
    await lagging.informers.synced(30)
    lagging.proxy.silent = True
    done, go_on = asyncio.Event(), asyncio.Event()

    async def hold_back(request: Request) -> None:
        if b"late" in (request.body or b""):
            done.set()
            await go_on.wait()

    lagging.transport.before_answer = hold_back
    late = asyncio.create_task(writer.patch(ConfigMap, "a", MergePatch({"data": {"x": "late"}})))
    await done.wait()
    if last == "delete":
        await writer.delete(ConfigMap, "a")
    else:
        await writer.patch(ConfigMap, "a", MergePatch({"data": {"x": "newest"}}))
    go_on.set()
    await late
    found = informer.lister.get("a", namespace=ns)
    assert (found and found.data) == (None if last == "delete" else {"x": "newest"})

    lagging.catch_up()
    await client.create(config_map("b"))
    await until(lambda: f"{ns}/b" in kept(informer))
    assert kept(informer) == await truth(client, ConfigMap, namespace=ns)
    assert len(informer.watches[0].overlay) == 0

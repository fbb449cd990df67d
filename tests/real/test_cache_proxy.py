"""The network between an informer and its server goes silent, breaks in the middle of an event, and is slow."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from trimtab.cache import Informer, Informers
from trimtab.client import Client, MergePatch
from trimtab.kube.core.v1 import ConfigMap
from trimtab.testing.control_plane import ControlPlane

from .cache_helpers import Proxy, Witness, config_map, kept, through_proxy, truth, until

IMPATIENT = 0.6  # seconds: silence after which the watch is cut
LARGE = "x" * 200_000  # an event that takes many records of TLS


class Setting:
    """An informer behind a proxy, and what it is told."""

    def __init__(self, client: Client, proxy: Proxy, informers: Informers, informer: Informer[ConfigMap]) -> None:
        self.client = client
        self.proxy = proxy
        self.informers = informers
        self.informer = informer
        self.pulse = informer.watches[0].pulse
        self.witness = Witness(informer)

    async def write(self, name: str, data: str) -> None:
        await self.client.patch(ConfigMap, name, MergePatch({"data": {"x": data}}))

    async def agree(self) -> None:
        """Wait until the cache has what the server has. Nothing was told twice, or in a wrong order."""
        there = await truth(self.client, ConfigMap, namespace=self.client.namespace)
        await until(lambda: self.witness.state == there)
        assert kept(self.informer) == there
        assert self.witness.faults == []


@pytest.fixture
async def setting(client: Client, control_plane: ControlPlane) -> AsyncIterator[Setting]:
    """`client` goes to the server directly, the informer through the proxy."""
    async with through_proxy(control_plane, timeout=IMPATIENT) as (proxy, behind):
        for name in ("a", "b"):
            await client.create(config_map(name))
        async with Informers(behind, random=lambda: 0.0, silence=IMPATIENT) as informers:
            yield Setting(client, proxy, informers, informers.informer(ConfigMap, namespaces=client.namespace))


async def test_a_connection_goes_silent(setting: Setting) -> None:
    client, proxy = setting.client, setting.proxy
    await setting.informers.synced(30)
    await client.create(config_map("c"))
    await setting.agree()
    setting.witness.forget()

    proxy.silent = True  # the connection stays open
    await client.delete(ConfigMap, "a")
    await client.delete(ConfigMap, "b")
    await client.create(config_map("b"))  # another one under the same name
    await setting.write("c", "2")
    proxy.deaf = True  # nor does anybody answer who is asked anew
    await until(lambda: setting.pulse.stalls >= 2)
    assert setting.witness.told == []
    [health] = setting.informers.health()
    assert health.heard is not None
    assert health.heard > IMPATIENT

    proxy.silent = proxy.deaf = False
    proxy.cut()
    await setting.agree()
    # It went on where it had stopped: deletions were seen, not concluded from a new list.
    assert setting.witness.told == [("delete", "a"), ("delete", "b"), ("add", "b"), ("update", "c")]
    assert setting.pulse.loads == 1
    [health] = setting.informers.health()
    assert (health.problem, (health.heard or 0.0) < IMPATIENT) == ("", True)


async def test_cut_in_the_middle_of_an_event(setting: Setting) -> None:
    client, proxy = setting.client, setting.proxy
    await setting.informers.synced(30)
    await setting.agree()
    setting.witness.forget()
    for number in range(4):
        cuts = proxy.cuts
        proxy.cut_after = 60_000 + 40_000 * number
        await setting.write("a", f"{number}{LARGE}")
        await until(lambda before=cuts: proxy.cuts > before)
        await client.create(config_map(f"new-{number}"))  # while there is no watch
        await setting.agree()
    await client.delete(ConfigMap, "b")
    await setting.agree()
    updates = [("update", "a"), ("add", "new-0"), ("update", "a"), ("add", "new-1")]
    updates += [("update", "a"), ("add", "new-2"), ("update", "a"), ("add", "new-3")]
    assert setting.witness.told == [*updates, ("delete", "b")]
    assert (setting.pulse.loads, setting.pulse.skipped) == (1, 0)


async def test_cut_in_the_middle_of_the_first_state(client: Client, control_plane: ControlPlane) -> None:
    await asyncio.gather(*(client.create(config_map(f"c{n}", f"{n}{LARGE}")) for n in range(10)))
    async with through_proxy(control_plane) as (proxy, behind), Informers(behind, random=lambda: 0.0) as informers:
        setting = Setting(client, proxy, informers, informers.informer(ConfigMap, namespaces=client.namespace))
        proxy.cut_after = 1_000_000  # half of it
        await until(lambda: proxy.cuts == 1)
        proxy.cut_after = 1_000_000  # the next way to ask for it is not spared either
        await until(lambda: proxy.cuts == 2)
        assert setting.witness.told == []
        assert not setting.informer.has_synced
        await client.delete(ConfigMap, "c0")  # it was in what came of the state: that must not count
        await informers.synced(30)
        await setting.agree()
        assert sorted(setting.witness.told) == [("add", f"c{n}") for n in range(1, 10)]
        assert len(setting.witness.initial) == 9


async def test_slow_and_in_small_pieces_is_not_silent(setting: Setting) -> None:
    client, proxy = setting.client, setting.proxy
    await setting.informers.synced(30)
    await setting.agree()
    setting.witness.forget()
    proxy.delay, proxy.piece = 0.02, 1500
    async with asyncio.timeout(30):
        await setting.write("b", "x" * 60_000)  # takes longer than the silence that is allowed
        for number in range(10):
            await setting.write("a", str(number))
        await client.delete(ConfigMap, "a")
        await setting.agree()
    assert setting.witness.told == [("update", "b"), *[("update", "a")] * 10, ("delete", "a")]
    assert (setting.pulse.stalls, setting.pulse.loads) == (0, 1)

"""Each fault of the seam, as our own client meets it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

import pytest

from trimtab.apiserver import statuses
from trimtab.apiserver.faults import Act, Break, Delay, Moment, Race, Refuse, Seam, Show, Stall, Tear
from trimtab.apiserver.messages import Request
from trimtab.apiserver.server import ADMIN, Server
from trimtab.cache import Informers
from trimtab.client import Client, Conflict, Expired, Retry, ServiceUnavailable, TransportError
from trimtab.kube import dynamic
from trimtab.kube.core.v1 import ConfigMap
from trimtab.kube.meta.v1 import ObjectMeta
from trimtab.local import LocalTransport

CMS = "/api/v1/namespaces/default/configmaps"
LOOSE = dynamic("v1", "ConfigMap")


class Once:
    """A plan for the first moment that is meant."""

    def __init__(self, meant: Callable[[Moment], bool], *acts: Act) -> None:
        self._meant = meant
        self._acts: Sequence[Act] = acts

    def at(self, moment: Moment) -> Sequence[Act]:
        if not self._acts or not self._meant(moment):
            return ()
        acts, self._acts = self._acts, ()
        return acts


def when(point: str, method: str = "") -> Callable[[Moment], bool]:
    return lambda moment: moment.point == point and method in ("", moment.request.method)


def config_map(name: str) -> ConfigMap:
    return ConfigMap(metadata=ObjectMeta(name=name))


def client(server: Server, plan: Once, slept: list[float] | None = None) -> Client:
    async def sleep(seconds: float) -> None:
        (slept if slept is not None else []).append(seconds)

    return Client(LocalTransport(Seam(server, plan, sleep=sleep)), retry=Retry(attempts=1))


def names(server: Server) -> list[str]:
    return [record.key.partition("/")[2] for record in server.store.scan("configmaps")]


@pytest.mark.parametrize(("point", "kept"), [("arrived", []), ("answered", ["a"])])
async def test_a_connection_breaks_before_or_after_what_was_asked_for(point: str, kept: list[str]) -> None:
    server = Server()
    async with client(server, Once(when(point, "POST"), Break())) as broken:
        with pytest.raises(TransportError):
            await broken.create(config_map("a"))
    assert names(server) == kept


async def test_a_request_is_delayed_and_refused_without_being_carried_out() -> None:
    server, slept = Server(), list[float]()
    refused = Refuse(statuses.unavailable("the server is starting"))
    async with client(server, Once(when("arrived", "POST"), Delay(3), refused), slept) as late:
        with pytest.raises(ServiceUnavailable, match="starting"):
            await late.create(config_map("a"))
    assert (names(server), slept) == ([], [3])


async def test_another_client_is_faster() -> None:
    server = Server()
    other = Request("PUT", f"{CMS}/a", "", {}, b'{"metadata":{"name":"a"},"data":{"by":"other"}}', ADMIN)
    async with client(server, Once(when("arrived", "PUT"), Race(other))) as raced:
        mine = await raced.create(LOOSE({"metadata": {"name": "a"}}))
        with pytest.raises(Conflict):
            await raced.replace(mine)
        assert (await raced.get(ConfigMap, "a")).data == {"by": "other"}


async def test_an_older_state_is_shown() -> None:
    server = Server()
    async with client(server, Once(lambda _: False)) as honest:
        first = await honest.create(config_map("a"))
        await honest.create(config_map("b"))
    show = Show(int(first.metadata.resource_version))
    async with client(server, Once(when("arrived", "GET"), show)) as lagging:
        listed = await lagging.list(ConfigMap)
        assert [each.metadata.name for each in listed] == ["a"]
        assert listed.resource_version == first.metadata.resource_version
        assert len(await lagging.list(ConfigMap)) == 2


@pytest.mark.parametrize("act", [Tear(0), Tear(40), Break()])
async def test_a_watch_is_torn(act: Act) -> None:
    server = Server()
    async with client(server, Once(when("told"), act)) as torn:
        await torn.create(config_map("a"))
        with pytest.raises(TransportError):
            async with torn.watch(ConfigMap) as events:
                await anext(aiter(events))


async def test_a_watch_ends_with_an_error() -> None:
    server = Server()
    async with client(server, Once(when("told"), Refuse(statuses.expired("too old")))) as refused:
        await refused.create(config_map("a"))
        with pytest.raises(Expired):
            async with refused.watch(ConfigMap) as events:
                await anext(aiter(events))


@pytest.mark.parametrize("act", [Tear(40), Stall(), Refuse(statuses.expired("too old"))])
async def test_informers_get_over_it(act: Act) -> None:
    server = Server()
    async with client(server, Once(when("told"), act)) as faulty, Informers(faulty, silence=0.05) as informers:
        await faulty.create(config_map("a"))
        informer = informers.informer(ConfigMap)
        seen: asyncio.Queue[str] = asyncio.Queue()
        informer.add_handler(on_add=lambda obj, _: seen.put_nowait(obj.metadata.name))
        async with asyncio.timeout(20):
            assert await seen.get() == "a"

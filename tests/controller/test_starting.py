"""When workers begin: not before all that they read was read, and never in silence."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from tests.cache.informing import informing
from tests.cache.samples import config_map, pod, status, virtual
from tests.controller.apiserver import ApiServer
from tests.controller.working import controllers_of, running, working

from trimtab.cache import NotSynced
from trimtab.controller import App, Context, DeclarationError, Finalizer
from trimtab.errors import TrimtabError
from trimtab.kube.core.v1 import ConfigMap, Namespace, Pod, Secret

FORBIDDEN = status(403, "Forbidden", message='secrets is forbidden: User "bob" cannot list resource "secrets"')


def noting(app: App, **options: Any) -> list[str]:
    seen: list[str] = []

    @app.controller(ConfigMap, name="noting", **options)
    async def noting(cm: ConfigMap, ctx: Context) -> None:
        seen.append(ctx.name)

    return seen


@virtual
async def test_no_worker_begins_before_every_kind_that_it_reads_was_read() -> None:
    app, server = App("app"), ApiServer(ConfigMap, Pod)
    seen = noting(app, reads=[Pod])
    server.put(config_map("a"))
    server.next["watchlist"].extend([0.0, 40.0])  # the second kind that is asked for waits
    async with informing(server) as informers:
        controllers = controllers_of(app, informers)
        controllers.start()
        task = asyncio.create_task(controllers.run())
        await asyncio.sleep(30)
        assert seen == []
        await asyncio.sleep(30)
        assert seen == ["a"]
        controllers.stop()
        await task


@virtual
async def test_what_cannot_be_read_ends_the_wait_with_an_error_that_names_kind_and_reason() -> None:
    app, server = App("app"), ApiServer(ConfigMap, Secret)
    seen = noting(app, reads=[Secret])
    server.put(config_map("a"))

    def refuse(plural: str) -> None:
        inner = server._refusal

        async def refusal(asked: Any) -> Any:
            return FORBIDDEN if asked.plural == plural else await inner(asked)

        server._refusal = refusal  # type: ignore[method-assign]

    refuse("secrets")
    async with informing(server) as informers:
        controllers = controllers_of(app, informers)
        controllers.start()
        began = asyncio.get_running_loop().time()
        with pytest.raises(
            NotSynced, match=r"app app cannot begin: not read within 120 s: secrets .*User .bob. cannot"
        ):
            await controllers.run()
        assert asyncio.get_running_loop().time() - began == pytest.approx(120)
        assert seen == []


@virtual
async def test_workers_wait_until_handlers_were_told_of_what_was_there() -> None:
    app, server = App("app"), ApiServer(ConfigMap)
    seen = noting(app)
    for number in range(500):
        server.put(config_map(f"cm-{number}"))
    async with informing(server) as informers:
        controllers = controllers_of(app, informers)
        controllers.start()
        await informers.synced()
        waiting = asyncio.create_task(controllers.synced())
        await asyncio.sleep(0)
        assert not waiting.done()
        await waiting
        assert len(controllers.queues["noting"]) == 500
        assert seen == []  # nobody ran it yet


@virtual
async def test_keys_gather_while_somebody_else_leads() -> None:
    app, server = App("app"), ApiServer(ConfigMap)
    seen = noting(app)
    server.put(config_map("a"))
    async with informing(server) as informers:
        controllers = controllers_of(app, informers)
        controllers.start()
        await controllers.synced()
        await asyncio.sleep(1000)
        server.put(config_map("b"))
        await asyncio.sleep(1)
        task = asyncio.create_task(controllers.run())
        await asyncio.sleep(0.1)
        assert seen == ["b", "a"]
        controllers.stop()
        await task


@virtual
async def test_namespaces_are_for_kinds_that_live_in_one() -> None:
    app, server = App("app"), ApiServer(ConfigMap, Namespace, Pod)
    seen = noting(app, reads=[Namespace])
    server.put(config_map("a", "one"))
    server.put(config_map("b", "two"))
    server.put(config_map("c", "three"))
    async with working(app, server, namespaces=["one", "two"]):
        assert sorted(seen) == ["a", "b"]
        assert len(server.watches) == 3


@virtual
async def test_what_is_stopped_follows_nothing_any_more_once_it_is_closed() -> None:
    app, server = App("app"), ApiServer(ConfigMap)
    noting(app)
    async with running(app, server) as (controllers, task):
        controllers.stop()
        await task
        controllers.close()
        await asyncio.sleep(1)
        assert server.watches == []


@virtual
async def test_who_is_stopped_while_waiting_does_not_wait_any_longer() -> None:
    app, server = App("app"), ApiServer(ConfigMap)
    seen = noting(app)
    server.put(config_map("a"))
    server.always["watchlist"] = FORBIDDEN
    for stopped_first in (False, True):
        async with informing(server) as informers:
            controllers = controllers_of(app, informers)
            controllers.start()
            if stopped_first:
                controllers.stop(10)
            task = asyncio.create_task(controllers.run())
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            began = asyncio.get_running_loop().time()
            controllers.stop(10)
            await task
            assert asyncio.get_running_loop().time() == began
            assert seen == []


@virtual
async def test_an_app_that_cannot_run_says_so() -> None:
    async with informing(ApiServer(ConfigMap)) as informers:
        with pytest.raises(TrimtabError, match="app empty has no controllers"):
            controllers_of(App("empty"), informers).start()
        app = App("app")
        noting(app)
        controllers = controllers_of(app, informers)
        controllers.start()
        with pytest.raises(TrimtabError, match="started already"):
            controllers.start()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"workers": 0}, "workers=0 has to be more than zero"),
        ({"timeout": -1.0}, "timeout=-1.0 has to be"),
        ({"name": "No Name"}, "'No Name' is no name of a controller"),
        ({"reads": ["pods"]}, "'pods' is no kind: give a class such as Pod"),
    ],
)
def test_a_declaration_that_cannot_be_is_refused_where_it_stands(options: dict[str, Any], words: str) -> None:
    async def reconcile(cm: ConfigMap, ctx: Context) -> None: ...

    with pytest.raises(DeclarationError) as raised:
        App("app").controller(ConfigMap, **options)(reconcile)
    assert words in str(raised.value)


def test_names_that_cannot_be_are_refused() -> None:
    with pytest.raises(DeclarationError, match="is no name of an app"):
        App("Pod Restarter")
    with pytest.raises(DeclarationError, match=r"put a domain of yours before it"):
        Finalizer("bucket", print)
    assert pod("a")

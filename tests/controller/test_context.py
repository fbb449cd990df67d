"""What a reconciler is given: reads, writes, and what it may not do."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest
from tests.cache.informing import informing
from tests.cache.samples import config_map, pod, virtual
from tests.controller.apiserver import ApiServer, of_kind
from tests.controller.working import Events, controllers_of, working

from trimtab.client import MergePatch
from trimtab.controller import App, Context, Controllers, Missing, Undeclared, current_context
from trimtab.controller.context import Context as TheContext
from trimtab.controller.declaration import DeclarationError
from trimtab.controller.options import Options
from trimtab.errors import TrimtabError
from trimtab.kube.apps.v1 import Deployment
from trimtab.kube.base import Struct
from trimtab.kube.core.v1 import ConfigMap, Node, Pod, PodSpec, Secret
from trimtab.kube.dynamic import Dynamic, dynamic
from trimtab.kube.frozen import FrozenError
from trimtab.kube.meta.v1 import ObjectMeta

Widget = dynamic("example.com/v1", "Widget", plural="widgets", namespaced=True)


def once(function: Any, *kinds: type[Any], kind: type[Any] = ConfigMap, **options: Any) -> tuple[App, list[Any]]:
    """An app that calls a function for the object `a`; what it returned, or raised, is kept."""
    app, results = App("app"), []

    @app.controller(kind, name="once", reads=kinds, where=lambda o: o.metadata.name == "a", **options)
    async def reconcile(obj: Any, ctx: Context) -> None:
        try:
            results.append(await function(obj, ctx))
        except Exception as error:  # noqa: BLE001  # it is what the test asks for
            results.append(error)

    return app, results


@virtual
async def test_reads_come_from_the_cache_and_find_looks_in_the_objects_namespace() -> None:
    async def read(cm: ConfigMap, ctx: Context) -> Any:
        class Phase(Struct):
            metadata: ObjectMeta

        assert ctx.find(Pod, "p") == ctx.get(Pod, "p")
        assert ctx.find(Pod, "q") is None
        assert ctx.get(Pod, "q", namespace="other").metadata.name == "q"
        assert ctx.get(Node, "n").metadata.name == "n"
        assert ctx.find(Pod, "p", view=Phase).metadata.name == "p"  # type: ignore[union-attr]
        assert sorted(p.metadata.name for p in ctx.list(Pod)) == ["p", "q"]
        assert [p.metadata.name for p in ctx.list(Pod, namespace="default", labels="app=web")] == ["p"]
        assert [e.key for e in ctx.entries(Pod, labels="app=web")] == ["default/p"]
        with pytest.raises(Missing, match="there is no Pod default/q"):
            ctx.get(Pod, "q")
        with pytest.raises(FrozenError):
            cm.data["x"] = "1"
        return "read"

    app, results = once(read, Pod, Node)
    server = ApiServer(ConfigMap, Pod, Node)
    server.put(config_map("a"))
    server.put(pod("p", labels={"app": "web"}))
    server.put(pod("q", "other"))
    server.put(of_kind("v1", "Node", "n", ""))
    async with working(app, server):
        assert results == ["read"]
        assert len(server.requests) == 3  # one watch for each kind


@virtual
async def test_what_was_not_declared_is_an_error_that_says_which_line_to_add() -> None:
    async def read(cm: ConfigMap, ctx: Context) -> None:
        ctx.list(Secret)

    async def write(cm: ConfigMap, ctx: Context) -> None:
        await ctx.apply(Secret(metadata=ObjectMeta(name="s")))

    async def own(cm: ConfigMap, ctx: Context) -> None:
        await ctx.own(Pod(metadata=ObjectMeta(name="p"), spec=PodSpec(containers=[])))

    for function, line in [(read, "reads=[Secret]"), (write, "writes=[Secret]"), (own, "owns=[Pod]")]:
        app, results = once(function, Pod)
        server = ApiServer(ConfigMap, Pod)
        server.put(config_map("a"))
        async with working(app, server):
            assert isinstance(results[0], Undeclared)
            assert str(results[0]).endswith(f"which it does not declare: add {line} to its @app.controller(...)")
            assert server.writes == []


@virtual
async def test_a_write_shows_in_the_next_read_and_is_of_a_stable_field_manager() -> None:
    async def write(cm: ConfigMap, ctx: Context) -> Any:
        await ctx.create(ConfigMap(metadata=ObjectMeta(name="b"), data={"x": "1"}))
        assert ctx.get(ConfigMap, "b").data == {"x": "1"}
        await ctx.patch(ConfigMap, "b", MergePatch({"data": {"x": "2"}}))
        assert ctx.get(ConfigMap, "b").data == {"x": "2"}

        def change(obj: ConfigMap) -> None:
            obj.data["y"] = "3"

        assert (await ctx.modify(ConfigMap, "b", change)).data == {"x": "2", "y": "3"}
        await ctx.modify(ConfigMap, "b", change)  # which changes nothing
        assert ctx.get(ConfigMap, "b").data == {"x": "2", "y": "3"}
        assert await ctx.delete(ctx.get(ConfigMap, "b")) is None
        assert ctx.find(ConfigMap, "b") is None
        return await ctx.delete(ConfigMap, "b")  # it is gone: as good

    app, results = once(write)
    server = ApiServer(ConfigMap)
    server.put(config_map("a"))
    async with working(app, server):
        assert results == [None]
        assert [asked.verb for asked in server.writes] == ["create", "patch", "patch", "delete", "delete"]
        assert {asked.query.get("fieldManager") for asked in server.writes[:3]} == {"app/once"}


@virtual
async def test_deleting_what_was_read_leaves_a_namesake_alone() -> None:
    async def delete(cm: ConfigMap, ctx: Context) -> Any:
        read = ctx.get(Pod, "p")
        server.delete("default/p")
        server.put(pod("p"))
        return await ctx.delete(read)

    app, results = once(delete, Pod)
    server = ApiServer(ConfigMap, Pod)
    server.put(config_map("a"))
    server.put(pod("p"))
    async with working(app, server):
        assert results == [None]
        assert server.get("pods", "default/p") is not None


@virtual
async def test_a_change_that_raced_with_another_is_made_on_what_is_there() -> None:
    async def write(cm: ConfigMap, ctx: Context) -> Any:
        server.before_write = race

        def change(obj: ConfigMap) -> None:
            obj.data["mine"] = "1"

        await ctx.modify(ConfigMap, "a", change)

    def race(_: Any) -> None:
        server.before_write = lambda _: None
        server.put(config_map("a", data={"theirs": "1"}))

    app, _ = once(write)
    server = ApiServer(ConfigMap)
    server.put(config_map("a"))
    async with working(app, server):
        assert server.get("configmaps", "default/a")["data"] == {"mine": "1", "theirs": "1"}


@virtual
async def test_a_status_is_set_by_the_names_of_its_class() -> None:
    async def report(d: Deployment, ctx: Context) -> None:
        await ctx.patch_status(ready_replicas=2, observed_generation=7)
        await ctx.set_condition("Available", "False", reason="Waiting", message="for a Pod")

    app, results = once(report, kind=Deployment)
    server = ApiServer(Deployment)
    was = {"replicas": 3, "readyReplicas": 1}
    server.put(of_kind("apps/v1", "Deployment", "a", spec={"replicas": 3}, status=was, metadata={"generation": 2}))
    async with working(app, server):
        assert results == [None, None]  # once more for its own write
        status = dict(server.get("deployments", "default/a")["status"])
        [condition] = status.pop("conditions")
        assert status == {"replicas": 3, "readyReplicas": 2, "observedGeneration": 7}
        assert (condition["type"], condition["status"], condition["reason"]) == ("Available", "False", "Waiting")
        assert server.get("deployments", "default/a")["spec"] == {"replicas": 3}
        assert {asked.name for asked in server.writes} == {"a/status"}


@pytest.mark.parametrize("kind", [Widget, dynamic("example.com/v1", "Widget")], ids=["declared", "discovered"])
@virtual
async def test_a_dynamic_object_is_reconciled_and_reported_like_any(kind: type[Dynamic]) -> None:
    async def report(w: Dynamic, ctx: Context) -> None:
        await ctx.apply(kind({"metadata": {"name": "b"}, "spec": {"size": 1}}))
        await ctx.patch_status(ready=w.get("spec", "size"))
        await ctx.set_condition("Ready", "True", reason="Fine")

    app, results = once(report, kind=kind)
    server = ApiServer(Widget)
    server.put(of_kind("example.com/v1", "Widget", "a", spec={"size": 3}, metadata={"generation": 4}))
    async with working(app, server):
        status = dict(server.get("widgets", "default/a")["status"])
        [condition] = status.pop("conditions")
        assert status == {"ready": 3}
        assert set(results) == {None}
        assert [asked.name for asked in server.writes] == ["b", "a/status", "a/status"]
        assert (condition["type"], condition["observedGeneration"]) == ("Ready", 4)
        before = len(server.writes)
        server.put({**server.get("widgets", "default/a"), "data": "1"})
        await asyncio.sleep(1)
        assert len(server.writes) == before


@virtual
async def test_mistakes_in_a_status_are_named() -> None:
    async def misspelt(d: Deployment, ctx: Context) -> None:
        await ctx.patch_status(ready_replica=2)

    async def none(cm: ConfigMap, ctx: Context) -> None:
        await ctx.patch_status(ready=2)

    for function, kind, words in [
        (misspelt, Deployment, "no field 'ready_replica'; did you mean 'ready_replicas'?"),
        (none, ConfigMap, "a ConfigMap has no status"),
    ]:
        app, results = once(function, kind=kind)
        server = ApiServer(ConfigMap, Deployment)
        server.put(of_kind(kind.resource.api_version, kind.resource.kind, "a"))
        async with working(app, server):
            assert isinstance(results[0], DeclarationError)
            assert words in str(results[0])


@virtual
async def test_events_and_options() -> None:
    async def tell(cm: ConfigMap, ctx: Context) -> Any:
        ctx.event("Normal", "Seen", "it is there")
        return ctx.option(limit)

    app, results = once(tell)
    limit = app.option("limit", "How many.", default=3, parse=int)
    events, server = Events(), ApiServer(ConfigMap)
    server.put(config_map("a"))
    async with working(app, server, events=events, options=Options({limit: 5})):
        assert events.told == [("a", "Normal", "Seen", "it is there")]
        assert results == [5]


async def until(condition: Callable[[], Any]) -> None:
    async with asyncio.timeout(20):
        while not condition():  # noqa: ASYNC110  # what is waited for happens in a thread
            await asyncio.sleep(0.01)


async def in_threads(app: App, server: ApiServer, done: Any) -> None:
    """Real threads, so real time: until `done()`."""
    async with informing(server) as informers:
        controllers = controllers_of(app, informers)
        controllers.start()
        task = asyncio.create_task(controllers.run())
        await until(lambda: done(controllers))
        controllers.stop()
        await task


async def test_a_plain_function_runs_in_a_thread_with_the_same_context() -> None:
    app, results, server = App("app"), [], ApiServer(ConfigMap, Pod)

    @app.controller(ConfigMap, reads=[Pod], writes=[Secret], where=lambda cm: cm.metadata.name == "a", workers=2)
    def plain(cm: ConfigMap, ctx: Context) -> None:
        assert threading.current_thread() is not threading.main_thread()
        pods = [p.metadata.name for p in ctx.list(Pod)]
        made = ctx.wait(ctx.apply(ConfigMap(metadata=ObjectMeta(name="b"), data={"pods": ",".join(pods)})))
        found = ctx.get(ConfigMap, "b")
        ctx.event("Normal", "Made", "in a thread")
        ctx.log.info("said in a thread")
        assert ctx.once(lambda _: threading.current_thread()) is threading.main_thread()
        results.append((made.data, found.data, type(ctx) is TheContext))

    server.put(config_map("a"))
    server.put(pod("p"))
    await in_threads(app, server, lambda _: results)
    assert results == [({"pods": "p"}, {"pods": "p"}, True)]


async def test_a_plain_function_that_takes_too_long_is_counted_and_told_of_while_it_runs(
    caplog: pytest.LogCaptureFixture,
) -> None:
    app, server, end, calls = App("app"), ApiServer(ConfigMap), threading.Event(), list[str]()

    @app.controller(ConfigMap, timeout=0.1, workers=2)
    def plain(cm: ConfigMap, ctx: Context) -> None:
        calls.append(ctx.key)
        end.wait(20)

    def told(controllers: Controllers) -> bool:
        if "takes longer than 0.1 s, and goes on: its thread cannot be stopped" not in caplog.text:
            return False
        assert (controllers.numbers["plain"].timeouts, calls, end.is_set()) == (1, ["default/a"], False)
        end.set()
        return True

    server.put(config_map("a"))
    await in_threads(app, server, told)
    assert caplog.text.count("goes on") == 1


async def test_a_plain_function_that_takes_too_long_can_do_no_more_and_keeps_its_key_until_it_ends() -> None:
    app, server, log = App("app"), ApiServer(ConfigMap), []

    @app.controller(ConfigMap, timeout=0.1, workers=2)
    def plain(cm: ConfigMap, ctx: Context) -> None:
        log.append("begin")
        if len(log) > 1:
            return
        time.sleep(0.5)  # in a thread
        try:
            ctx.list(ConfigMap)
        except TimeoutError as error:
            log.append(str(error))
        log.append("end")

    server.put(config_map("a"))
    await in_threads(app, server, lambda controllers: controllers.numbers["plain"].results["success"])
    assert log == [
        "begin",
        "this reconcile took too long and was given up: nothing more is read or written for it",
        "end",
        "begin",
    ]


@virtual
async def test_whatever_a_reconcile_runs_can_say_for_which() -> None:
    async def helper() -> Any:
        return current_context()

    async def reconcile(cm: ConfigMap, ctx: Context) -> Any:
        async with asyncio.TaskGroup() as group:
            task = group.create_task(helper())
        return task.result() is ctx and await helper() is ctx and ctx.log_fields()

    app, results = once(reconcile)
    server = ApiServer(ConfigMap)
    server.put(config_map("a"))
    async with working(app, server):
        fields = {"controller": "once", "kind": "ConfigMap", "key": "default/a"}
        assert results == [{**fields, "reconcile_id": results[0]["reconcile_id"]}]
        assert current_context() is None


@virtual
async def test_waiting_where_one_can_await_is_an_error() -> None:
    async def wait(cm: ConfigMap, ctx: Context) -> None:
        ctx.wait(ctx.delete(ConfigMap, "b"))

    app, results = once(wait)
    server = ApiServer(ConfigMap)
    server.put(config_map("a"))
    async with working(app, server):
        assert isinstance(results[0], TrimtabError)
        assert "here, await" in str(results[0])

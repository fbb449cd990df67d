"""The way in: whom a change concerns, why, and how much it hurries."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any

import pytest
from tests.cache.samples import Obj, config_map, merged, pod, virtual
from tests.controller.apiserver import ApiServer, of_kind
from tests.controller.working import working

from trimtab.controller import App, Context, changed, everyone, from_entry, generation_changed, named_by, selected_by
from trimtab.controller.mappings import KeyMapping
from trimtab.kube.apps.v1 import Deployment
from trimtab.kube.core.v1 import ConfigMap, Node, Pod, Secret


def looking(app: App, kind: type[Any] = ConfigMap, **options: Any) -> list[str]:
    """What is looked at, and why."""
    looks: list[str] = []

    @app.controller(kind, name="looking", **options)
    async def looking(obj: Any, ctx: Context) -> None:
        looks.append(f"{ctx.key} <- {ctx.causes}")

    return looks


def owned(name: str, owner: str, api_version: str = "apps/v1", *, controller: bool = True) -> Obj:
    reference = {"apiVersion": api_version, "kind": "Deployment", "name": owner, "uid": f"uid-of-{owner}"}
    return pod(name, ownerReferences=[{**reference, "controller": controller}])


async def new(looks: list[str]) -> list[str]:
    """What came since this was asked last."""
    await asyncio.sleep(1)
    found, looks[:] = list(looks), []
    return found


@virtual
async def test_an_owned_object_brings_its_controller_by_group_and_kind_whatever_the_version() -> None:
    app, server = App("app"), ApiServer(Deployment, Pod)
    looks = looking(app, Deployment, owns=[Pod])
    for name in ("web", "old", "db"):
        server.put(of_kind("apps/v1", "Deployment", name))
    async with working(app, server):
        assert len(await new(looks)) == 3
        server.put(owned("a", "web"))
        assert await new(looks) == ["default/web <- Pod default/a: created"]
        server.put(owned("b", "old", "apps/v1beta1"))
        assert await new(looks) == ["default/old <- Pod default/b: created"]
        server.put(owned("c", "web", "example.com/v1"))  # a Deployment of another group
        server.put(owned("d", "web", controller=False))
        server.put(pod("e"))
        assert await new(looks) == []
        server.put(owned("a", "db"))  # it changed hands: both are looked at
        assert await new(looks) == ["default/web <- Pod default/a: metadata", "default/db <- Pod default/a: metadata"]
        server.delete("default/a")
        assert await new(looks) == ["default/db <- Pod default/a: deleted"]


@virtual
async def test_causes_say_what_changed() -> None:
    app, server = App("app"), ApiServer(Pod)
    looks = looking(app, Pod)
    server.put(pod("a"))
    async with working(app, server):
        assert await new(looks) == ["default/a <- Pod default/a: initial"]
        for change, what in [
            ({"spec": {"nodeName": "n1"}}, "spec"),
            ({"status": {"phase": "Running"}}, "status"),
            ({"metadata": {"labels": {"a": "b"}}}, "labels"),
            ({"metadata": {"annotations": {"a": "b"}}}, "annotations"),
            ({"metadata": {"finalizers": ["example.com/wait"]}}, "metadata"),
            ({"spec": {"nodeName": "n2"}, "metadata": {"labels": {"a": "c"}}}, "spec, labels"),
            ({"spec": {"nodeName": "n3"}, "metadata": {"deletionTimestamp": "2025-01-01T00:00:00Z"}}, "spec, metadata"),
            ({"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}}, "metadata"),
        ]:
            server.put(merged(server.get("pods", "default/a"), change))
            assert await new(looks) == [f"default/a <- Pod default/a: {what}"]
        server.delete("default/a")
        assert await new(looks) == []  # there is nothing to look at, and no `gone`


@virtual
async def test_causes_of_a_key_that_waits_are_merged() -> None:
    app, server = App("app"), ApiServer(ConfigMap)
    looks: list[str] = []

    @app.controller(ConfigMap)
    async def slow(cm: ConfigMap, ctx: Context) -> None:
        looks.append(str(ctx.causes))
        await asyncio.sleep(10)

    server.put(config_map("a"))
    async with working(app, server):
        server.put(config_map("a", data={"x": "1"}))
        server.put(config_map("a", data={"x": "1"}, labels={"l": "1"}))
        await asyncio.sleep(30)
        assert looks == ["ConfigMap default/a: initial", "ConfigMap default/a: spec, labels"]


@virtual
async def test_a_resync_looks_at_everything_again_and_lets_changes_go_first() -> None:
    app, server, order, begun = App("app"), ApiServer(ConfigMap), [], asyncio.Event()

    @app.controller(ConfigMap, resync=100, where=generation_changed)
    async def slow(cm: ConfigMap, ctx: Context) -> None:
        order.append(f"{ctx.name} {' '.join(w for cause in ctx.causes for w in cause.what)}")
        begun.set()
        await asyncio.sleep(1)

    for name in "abc":
        server.put(config_map(name))
    async with working(app, server):
        await asyncio.sleep(10)
        order.clear()
        begun.clear()
        await begun.wait()
        server.put(config_map("new"))
        await asyncio.sleep(10)
        assert order == ["a resync", "new created", "b resync", "c resync"]


def by_label(secret: Secret) -> Iterable[str]:
    return [f"{secret.metadata.namespace}/{secret.metadata.labels['for']}"] if secret.metadata.labels else []


@pytest.mark.parametrize(
    "mapping", [by_label, from_entry(lambda e: [f"{e.namespace}/{e.labels['for']}"] if e.labels else None)]
)
@virtual
async def test_a_mapping_is_asked_of_the_old_and_the_new_object(mapping: KeyMapping) -> None:
    app, server = App("app"), ApiServer(ConfigMap, Secret)
    looks = looking(app, watches={Secret: mapping})
    for name in "ab":
        server.put(config_map(name))
    async with working(app, server):
        await new(looks)
        server.put(of_kind("v1", "Secret", "s", metadata={"labels": {"for": "a"}}))
        assert await new(looks) == ["default/a <- Secret default/s: created"]
        server.put(of_kind("v1", "Secret", "s", metadata={"labels": {"for": "b"}}))
        assert await new(looks) == ["default/a <- Secret default/s: labels", "default/b <- Secret default/s: labels"]
        server.delete("default/s", "secrets")
        assert await new(looks) == ["default/b <- Secret default/s: deleted"]


@virtual
async def test_a_mapping_may_return_objects_one_key_or_nothing_and_what_makes_no_sense_is_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    answers: dict[str, Any] = {"none": None, "one": "default/a", "object": None, "wrong": "a", "number": [7]}
    app, server = App("app"), ApiServer(ConfigMap, Secret)

    def mapping(secret: Secret) -> Any:
        return secret if secret.metadata.name == "object" else answers[secret.metadata.name]

    looks = looking(app, watches={Secret: mapping})
    for name in ("a", "object"):
        server.put(config_map(name))
    async with working(app, server):
        await new(looks)
        for name in answers:
            server.put(of_kind("v1", "Secret", name))
        assert [look.split()[0] for look in await new(looks)] == ["default/a", "default/object"]
        assert "a ConfigMap lives in a namespace: return namespace/name" in caplog.text
        assert "a mapping returned 7: return keys" in caplog.text


@virtual
async def test_objects_are_brought_by_what_they_name() -> None:
    app, server = App("app"), ApiServer(Pod, Secret, Node)
    names = named_by(lambda p: [s.name for s in p.spec.image_pull_secrets])
    looks = looking(app, Pod, watches={Secret: names, Node: named_by(lambda p: [p.spec.node_name or ""])})

    def using(name: str, secret: str, node: str, namespace: str = "default") -> Obj:
        return merged(pod(name, namespace), {"spec": {"imagePullSecrets": [{"name": secret}], "nodeName": node}})

    server.put(using("a", "s", "n"))
    server.put(using("b", "other", "n"))
    server.put(using("c", "s", "m", "elsewhere"))
    server.put(using("d", "default/s", "m", "elsewhere"))
    server.put(of_kind("v1", "Node", "n", ""))
    async with working(app, server):
        await new(looks)
        server.put(of_kind("v1", "Secret", "s"))
        assert sorted(k.split()[0] for k in await new(looks)) == ["default/a", "elsewhere/d"]
        server.put(using("b", "s", "n"))
        await new(looks)
        server.delete("default/s", "secrets")
        assert sorted(k.split()[0] for k in await new(looks)) == ["default/a", "default/b", "elsewhere/d"]
        server.put(of_kind("v1", "Node", "n", "", spec={"unschedulable": True}))
        assert sorted(k.split()[0] for k in await new(looks)) == ["default/a", "default/b"]


@virtual
async def test_where_lets_through_what_it_wants_and_what_it_no_longer_wants_is_not_looked_at() -> None:
    app, server = App("app"), ApiServer(Pod)
    looks = looking(app, Pod, where=lambda p: p.spec.node_name == "n")
    server.put(pod("a"))
    async with working(app, server):
        assert await new(looks) == []
        server.put(merged(server.get("pods", "default/a"), {"spec": {"nodeName": "n"}}))
        assert await new(looks) == ["default/a <- Pod default/a: spec"]
        server.put(merged(server.get("pods", "default/a"), {"spec": {"nodeName": "m"}}))
        server.put(merged(server.get("pods", "default/a"), {"status": {"phase": "Failed"}}))
        assert await new(looks) == []


@virtual
async def test_a_predicate_that_raises_loses_no_object(caplog: pytest.LogCaptureFixture) -> None:
    app, server, broken = App("app"), ApiServer(Pod), True

    def where(p: Pod) -> bool:
        if broken:
            raise KeyError("oops")
        return True

    looks = looking(app, Pod, where=where)
    async with working(app, server):
        server.put(pod("a"))
        await asyncio.sleep(1)
        assert looks == []
        assert "key='default/a'" in caplog.text
        broken = False
        await asyncio.sleep(60)
        assert len(looks) == 1


@virtual
async def test_changes_of_ones_own_are_not_filtered() -> None:
    app, server = App("app"), ApiServer(ConfigMap)
    looks: list[str] = []

    @app.controller(ConfigMap, where=changed(lambda cm: dict(cm.data)))
    async def writes(cm: ConfigMap, ctx: Context) -> None:
        looks.append(dict(cm.data)["n"])
        if cm.data["n"] < "3":

            def more(obj: ConfigMap) -> None:
                obj.data["n"] = str(int(obj.data["n"]) + 1)

            await ctx.modify(ConfigMap, ctx.name, more)

    server.put(config_map("a", data={"n": "1"}))
    async with working(app, server):
        assert looks[-1] == "3"
        assert looks[0] == "1"


@virtual
async def test_an_object_brings_those_who_select_it_and_whom_it_left() -> None:
    app, server = App("app"), ApiServer(Deployment, Pod)

    def selecting(name: str, selector: Obj, namespace: str = "default") -> Obj:
        return of_kind("apps/v1", "Deployment", name, namespace, spec={"selector": selector})

    looks = looking(app, Deployment, watches={Pod: selected_by(lambda d: d.spec.selector, orphans=True)})
    server.put(selecting("equal", {"matchLabels": {"app": "web", "tier": "front"}}))
    server.put(selecting("among", {"matchExpressions": [{"key": "app", "operator": "In", "values": ["web", "db"]}]}))
    server.put(selecting("broken", {"matchExpressions": [{"key": "app", "operator": "Like", "values": ["web"]}]}))
    server.put(selecting("elsewhere", {"matchLabels": {"app": "web"}}, "other"))
    async with working(app, server):
        await new(looks)
        server.put(pod("a", labels={"app": "web", "tier": "front"}))
        assert [look.split()[0] for look in await new(looks)] == ["default/among", "default/equal"]
        server.put(pod("a", labels={"app": "db", "tier": "front"}))
        assert {look.split()[0] for look in await new(looks)} == {"default/among", "default/equal"}
        server.put(owned("a", "web") | {"metadata": {**owned("a", "web")["metadata"], "labels": {"app": "db"}}})
        assert [look.split()[0] for look in await new(looks)] == ["default/among"]  # it lost it
        server.put(owned("b", "web") | {"metadata": {**owned("b", "web")["metadata"], "labels": {"app": "db"}}})
        assert await new(looks) == []


@virtual
async def test_changes_of_what_it_owns_are_gathered_and_its_own_are_not() -> None:
    app, server = App("app"), ApiServer(Deployment, Pod)
    looks = looking(app, Deployment, owns=[Pod], gather=0.2)
    server.put(of_kind("apps/v1", "Deployment", "web"))
    async with working(app, server):
        await new(looks)
        for name in ("a", "b", "c"):
            server.put(owned(name, "web"))
            await asyncio.sleep(0.05)
        assert looks == []
        await asyncio.sleep(0.1)
        assert len(looks) == 1
        await new(looks)
        server.put(owned("d", "web"))
        server.put(of_kind("apps/v1", "Deployment", "web", metadata={"annotations": {"a": "b"}}))
        await asyncio.sleep(0.05)
        assert len(await new(looks)) == 1


@virtual
async def test_its_own_status_is_gathered_too_where_nothing_else_changed() -> None:
    app, server = App("app"), ApiServer(Deployment, Pod)
    looks = looking(app, Deployment, owns=[Pod], gather=0.2)

    def web(replicas: int, **spec: Any) -> None:
        server.put(of_kind("apps/v1", "Deployment", "web", status={"replicas": replicas}, spec=spec))

    web(0)
    async with working(app, server):
        await new(looks)
        for replicas in range(1, 4):
            web(replicas)
            await asyncio.sleep(0.05)
        assert looks == []
        assert await new(looks) == ["default/web <- Deployment default/web: status"]
        web(4, paused=True)
        await asyncio.sleep(0.05)
        assert looks == ["default/web <- Deployment default/web: spec, status"]


@virtual
async def test_who_takes_long_to_look_gathers_for_longer() -> None:
    app, server, looks = App("app"), ApiServer(Deployment, Pod), list[float]()
    loop = asyncio.get_running_loop()

    @app.controller(Deployment, owns=[Pod], gather=0.1)
    async def look(deployment: Deployment, ctx: Context) -> None:
        looks.append(loop.time())
        await asyncio.sleep(0.25)

    server.put(of_kind("apps/v1", "Deployment", "web"))
    async with working(app, server):
        await asyncio.sleep(1)
        looks.clear()
        started = loop.time()
        for number in range(40):
            server.put(owned(f"p{number}", "web"))
            await asyncio.sleep(0.1)
        await asyncio.sleep(3)
        assert 0.9 <= looks[0] - started <= 1.1, "four times as long as the last look took"
        assert len(looks) <= 5


@virtual
async def test_a_change_may_concern_everyone() -> None:
    app, server = App("app"), ApiServer(Deployment, Node)
    looks = looking(app, Deployment, watches={Node: everyone()})
    server.put(of_kind("apps/v1", "Deployment", "web"))
    server.put(of_kind("apps/v1", "Deployment", "db", "other"))
    async with working(app, server):
        await new(looks)
        server.put(of_kind("v1", "Node", "n1", ""))
        assert [look.split()[0] for look in await new(looks)] == ["default/web", "other/db"]

"""`ctx.own`: all that an object should own, and nothing else."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from tests.cache.samples import Obj, config_map, merged, pod, virtual
from tests.controller.apiserver import ApiServer, of_kind
from tests.controller.working import working

from trimtab.client import Client
from trimtab.controller import App, Context
from trimtab.errors import TrimtabError
from trimtab.kube.core.v1 import ConfigMap, Namespace, Pod, PodSpec, Secret, Service
from trimtab.kube.meta.v1 import ObjectMeta, OwnerReference


def pods(*names: str, **metadata: Any) -> list[Pod]:
    return [Pod(metadata=ObjectMeta(name=name, **metadata), spec=PodSpec(containers=[])) for name in names]


def named(server: ApiServer, plural: str = "pods") -> list[str]:
    return sorted(key.rpartition("/")[2] for key in server.current[plural])


class Owning:
    """A controller that owns Pods as the data of its ConfigMap say; `errors` are what `own` raised."""

    def __init__(self, app: App, name: str = "own", prefix: str = "") -> None:
        self.errors: list[Exception] = []

        @app.controller(ConfigMap, name=name, owns=[Pod, Secret], where=lambda cm: cm.metadata.name == "owner")
        async def own(cm: ConfigMap, ctx: Context) -> None:
            try:
                await ctx.own(*pods(*(prefix + each for each in sorted(cm.data))))
            except TrimtabError as error:
                self.errors.append(error)


def owner(*names: str) -> Obj:
    return config_map("owner", data=dict.fromkeys(names, "1"))


async def change(server: ApiServer, *names: str) -> None:
    server.put({**server.get("configmaps", "default/owner"), "data": dict.fromkeys(names, "1")})
    await asyncio.sleep(1)


@virtual
async def test_what_is_named_is_there_and_what_is_no_longer_named_goes() -> None:
    app, server = App("app"), ApiServer(ConfigMap, Pod, Secret)
    Owning(app)
    server.put(owner("a", "b"))
    server.put(pod("stranger"))
    async with working(app, server):
        assert named(server) == ["a", "b", "stranger"]
        [reference] = server.get("pods", "default/a")["metadata"]["ownerReferences"]
        assert (reference["kind"], reference["name"], reference["controller"]) == ("ConfigMap", "owner", True)
        await change(server, "b", "c")
        assert named(server) == ["b", "c", "stranger"]
        await change(server)
        assert named(server) == ["stranger"]
        assert [asked.verb for asked in server.writes] == ["patch", "patch", "patch", "delete", "delete", "delete"]


@virtual
async def test_a_namesake_that_another_owns_is_an_error_and_nothing_is_written() -> None:
    app, server = App("app"), ApiServer(ConfigMap, Pod, Secret)
    owning = Owning(app)
    reference = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": "other", "controller": True}
    server.put(pod("b", ownerReferences=[reference]))
    server.put(owner("a", "b"))
    async with working(app, server):
        assert "cannot own <Pod default/b>: ReplicaSet web does: give it another name" in str(owning.errors[0])
        assert server.writes == []


@virtual
async def test_what_another_controller_of_the_same_owner_made_stays() -> None:
    app, server = App("app"), ApiServer(ConfigMap, Pod, Secret)
    Owning(app, "one")
    Owning(app, "two", prefix="two-")
    server.put(owner("a"))
    async with working(app, server):
        assert named(server) == ["a", "two-a"]
        await change(server, "b")
        assert named(server) == ["b", "two-b"]
        asked = len(server.asked_for("get"))
        await change(server, "b", "c")
        assert named(server) == ["b", "c", "two-b", "two-c"]
        await change(server, "b", "c", "d")
        assert len(server.asked_for("get")) <= asked + 6  # once for each that is somebody else's


@virtual
async def test_what_is_on_its_way_out_is_not_deleted_again() -> None:
    app, server = App("app"), ApiServer(ConfigMap, Pod, Secret)
    Owning(app)
    server.put(owner("a"))
    async with working(app, server):
        held = merged(server.get("pods", "default/a"), {"metadata": {"finalizers": ["example.com/wait"]}})
        server.put(held)
        await change(server)
        await change(server)
        await change(server, "b")
        assert [asked.name for asked in server.writes if asked.verb == "delete"] == ["a"]


@virtual
async def test_what_an_object_owns_is_as_it_says_whoever_else_set_it() -> None:
    app, server = App("app"), ApiServer(ConfigMap, Pod, Secret)
    Owning(app)
    async with Client(server, field_manager="somebody") as somebody:
        [theirs] = pods("a", labels={"app": "theirs"})
        theirs.metadata.owner_references = [OwnerReference(api_version="v1", kind="Node", name="n", uid="n")]
        await somebody.apply(theirs, namespace="default")
    server.put(owner("a"))
    async with working(app, server):
        assert server.get("pods", "default/a")["metadata"]["ownerReferences"][0]["kind"] == "ConfigMap"
        assert server.get("pods", "default/a")["metadata"]["labels"] == {"app": "theirs"}


@virtual
async def test_after_a_restart_what_is_no_longer_named_goes_too() -> None:
    app, server = App("app"), ApiServer(ConfigMap, Pod, Secret)
    Owning(app)
    server.put(owner("a", "b"))
    async with working(app, server):
        pass
    await change(server, "b")
    assert named(server) == ["a", "b"]
    async with working(app, server):
        assert named(server) == ["b"]


@virtual
async def test_an_owner_that_is_being_deleted_gets_nothing_new() -> None:
    app, server = App("app"), ApiServer(ConfigMap, Pod, Secret)
    Owning(app)
    leaving = {"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z", "finalizers": ["example.com/wait"]}}
    server.put(merged(owner("a"), leaving))
    async with working(app, server):
        assert named(server) == []


@pytest.mark.parametrize(
    ("wanted", "words"),
    [
        ([*pods("a"), *pods("a")], "named twice"),
        (pods("a", namespace="other"), "not in its namespace: put it into 'default'"),
        ([Namespace(metadata=ObjectMeta(name="n"))], "is in a namespace and cannot own"),
        ([Service(metadata=ObjectMeta(name="s"))], "add owns=[Service]"),
    ],
)
@virtual
async def test_what_cannot_be_owned_is_refused_before_anything_is_written(wanted: list[Any], words: str) -> None:
    app, server, errors = App("app"), ApiServer(ConfigMap, Pod, Namespace), []

    @app.controller(ConfigMap, owns=[Pod, Namespace])
    async def own(cm: ConfigMap, ctx: Context) -> None:
        try:
            await ctx.own(*wanted)
        except Exception as error:  # noqa: BLE001  # it is what the test asks for
            errors.append(str(error))

    server.put(config_map("owner"))
    async with working(app, server):
        assert words in errors[0]
        assert server.writes == []


@virtual
async def test_owning_in_two_parts_is_refused() -> None:
    app, server, errors = App("app"), ApiServer(ConfigMap, Pod), []

    @app.controller(ConfigMap, owns=[Pod])
    async def own(cm: ConfigMap, ctx: Context) -> None:
        await ctx.own(*pods("a"))
        try:
            await ctx.own(*pods("b"))
        except TrimtabError as error:
            errors.append(str(error))

    server.put(config_map("owner"))
    async with working(app, server):
        assert errors
        assert "would remove what the first applied" in errors[0]


@virtual
async def test_what_was_given_is_not_changed() -> None:
    app, server, given = App("app"), ApiServer(Namespace, Pod, ConfigMap), pods("a")

    @app.controller(ConfigMap, owns=[Pod])
    async def own(cm: ConfigMap, ctx: Context) -> None:
        await ctx.own(*given)

    server.put(of_kind("v1", "ConfigMap", "owner"))
    async with working(app, server):
        assert named(server) == ["a"]
        assert given[0].metadata == ObjectMeta(name="a")

"""A settled controller is silent: what would change nothing makes no request, and whatever is not so is made so."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from tests.cache.samples import Obj, config_map, merged, virtual
from tests.controller.apiserver import ApiServer, of_kind
from tests.controller.working import working

from trimtab.controller import App, Context
from trimtab.kube.apps.v1 import Deployment, DeploymentSpec
from trimtab.kube.core.v1 import (
    ConfigMap,
    Container,
    ContainerPort,
    PodSpec,
    PodTemplateSpec,
    ResourceRequirements,
    Service,
    ServicePort,
    ServiceSpec,
)
from trimtab.kube.meta.v1 import LabelSelector, ObjectMeta

HOUR = 3600.0


def deployment(name: str, image: str = "nginx", **labels: str) -> Deployment:
    limits = ResourceRequirements(limits={"cpu": "1000m", "memory": "1Gi"})
    container = Container(name="web", image=image, resources=limits, ports=[ContainerPort(container_port=80)])
    template = PodTemplateSpec(metadata=ObjectMeta(labels={"app": name}), spec=PodSpec(containers=[container]))
    spec = DeploymentSpec(selector=LabelSelector(match_labels={"app": name}), template=template, replicas=2)
    return Deployment(metadata=ObjectMeta(name=name, labels=labels), spec=spec)


def service(name: str) -> Service:
    spec = ServiceSpec(ports=[ServicePort(port=80)], selector={"app": name})
    return Service(metadata=ObjectMeta(name=name), spec=spec)


def as_a_server_does(obj: Obj) -> None:
    """Quantities in their own form, defaults in the items of lists."""
    for container in obj.get("spec", {}).get("template", {}).get("spec", {}).get("containers", ()):
        container["terminationMessagePath"] = "/dev/termination-log"
        if container.get("resources", {}).get("limits"):
            container["resources"]["limits"]["cpu"] = "1"
        for port in container.get("ports", ()):
            port["protocol"] = "TCP"
    for port in obj.get("spec", {}).get("ports", ()):
        port.setdefault("protocol", "TCP")
        port.setdefault("targetPort", port["port"])


def site(app: App) -> list[str]:
    """A controller that owns a Deployment and a Service, applies a ConfigMap and reports in the annotations of none."""
    looked: list[str] = []

    @app.controller(ConfigMap, where=lambda cm: cm.metadata.name == "site", owns=[Deployment, Service], resync=300)
    async def site(cm: ConfigMap, ctx: Context) -> None:
        looked.append(ctx.key)
        await ctx.own(deployment("web", cm.data["image"]), service("web"))
        await ctx.apply(ConfigMap(metadata=ObjectMeta(name="said"), data={"text": "hello"}))

    return looked


def serving() -> ApiServer:
    server = ApiServer(ConfigMap, Deployment, Service)
    server.admit = as_a_server_does
    server.put(config_map("site", data={"image": "nginx"}))
    return server


@virtual
async def test_an_hour_of_resyncs_makes_no_request_once_all_is_as_it_should_be() -> None:
    app, server = App("app"), serving()
    looked = site(app)
    async with working(app, server):
        assert sorted(server.written()) == ["patch configmaps/said", "patch deployments/web", "patch services/web"]
        before = len(server.writes)
        looks = len(looked)
        await asyncio.sleep(HOUR)
        assert len(looked) - looks >= 10
        assert server.writes[before:] == []
        assert not [asked for asked in server.requests if asked.request.verb == "get"]


@virtual
async def test_what_others_add_or_change_beside_our_fields_makes_no_request() -> None:
    app, server = App("app"), serving()
    site(app)
    async with working(app, server):
        before = len(server.writes)
        web = server.get("deployments", "default/web")
        server.put(merged(web, {"metadata": {"labels": {"theirs": "1"}}, "status": {"replicas": 2}}))
        await asyncio.sleep(1)
        server.put(merged(server.get("deployments", "default/web"), {"spec": {"paused": True}}))
        await asyncio.sleep(1)
        assert server.writes[before:] == []


@virtual
async def test_a_field_of_ours_that_somebody_changes_is_set_again_once() -> None:
    app, server = App("app"), serving()
    site(app)
    async with working(app, server):
        before = len(server.writes)
        server.put(merged(server.get("deployments", "default/web"), {"spec": {"replicas": 9}}))
        await asyncio.sleep(HOUR)
        assert [asked.name for asked in server.writes[before:]] == ["web"]
        assert server.get("deployments", "default/web")["spec"]["replicas"] == 2


@virtual
async def test_a_port_of_ours_that_somebody_changes_among_others_is_set_again() -> None:
    app, server = App("app"), serving()
    site(app)
    async with working(app, server):
        before = len(server.writes)
        spec = server.get("services", "default/web")["spec"]
        theirs = {"port": 99, "protocol": "TCP", "targetPort": 99}
        server.put(merged(server.get("services", "default/web"), {"spec": {"ports": [*spec["ports"], theirs]}}))
        await asyncio.sleep(1)
        assert server.writes[before:] == []  # theirs is not ours
        server.put(merged(server.get("services", "default/web"), {"spec": {"ports": [theirs]}}))
        await asyncio.sleep(1)
        assert [asked.plural for asked in server.writes[before:]] == ["services"]


@virtual
async def test_a_field_that_is_dropped_is_released_though_all_that_is_left_is_so_already() -> None:
    app, server = App("app"), ApiServer(ConfigMap)

    @app.controller(ConfigMap, where=lambda cm: cm.metadata.name == "site")
    async def site(cm: ConfigMap, ctx: Context) -> None:
        await ctx.apply(ConfigMap(metadata=ObjectMeta(name="said"), data=dict(cm.data)))

    server.put(config_map("site", data={"a": "1", "b": "2"}))
    async with working(app, server):
        assert server.get("configmaps", "default/said")["data"] == {"a": "1", "b": "2"}
        changed = server.get("configmaps", "default/site")
        server.put({**changed, "data": {"a": "1"}})
        await asyncio.sleep(1)
        assert server.get("configmaps", "default/said")["data"] == {"a": "1"}


@virtual
async def test_what_was_deleted_is_made_again_and_a_namesake_is_not_taken_for_it() -> None:
    app, server = App("app"), serving()
    site(app)
    async with working(app, server):
        before = len(server.writes)
        server.delete("default/web", "services")
        await asyncio.sleep(1)
        assert [asked.plural for asked in server.writes[before:]] == ["services"]
        mine = server.get("deployments", "default/web")
        server.delete("default/web", "deployments")
        server.put(of_kind("apps/v1", "Deployment", "web", spec=mine["spec"]))  # the same, by somebody else
        await asyncio.sleep(1)
        assert server.get("deployments", "default/web")["metadata"]["ownerReferences"]


def remembered(controllers: Any) -> int:
    return sum(len(reconciler._around.writer.applied) for _, reconciler in controllers._reconcilers)


@virtual
async def test_what_is_gone_is_not_remembered() -> None:
    app, server = App("app"), serving()
    site(app)
    async with working(app, server) as controllers:
        assert remembered(controllers) == 3
        server.delete("default/site", "configmaps")
        await asyncio.sleep(1)
        for plural in ("services", "deployments"):
            server.delete("default/web", plural)
        server.delete("default/said", "configmaps")
        await asyncio.sleep(1)
        assert remembered(controllers) == 0


@virtual
async def test_what_a_controller_deletes_is_not_remembered() -> None:
    app, server = App("app"), ApiServer(ConfigMap, Service)

    @app.controller(ConfigMap, reads=[Service])
    async def fickle(cm: ConfigMap, ctx: Context) -> None:
        await ctx.apply(service("web"))
        await ctx.delete(Service, "web")

    server.put(config_map("a"))
    async with working(app, server) as controllers:
        assert len(server.writes) == 2
        assert remembered(controllers) == 0


@virtual
async def test_a_status_that_was_so_before_we_came_makes_no_request() -> None:
    app, server = App("app"), ApiServer(Deployment)

    @app.controller(Deployment)
    async def report(d: Deployment, ctx: Context) -> None:
        await ctx.patch_status(replicas=3, collision_count=None)

    server.put(of_kind("apps/v1", "Deployment", "web", status={"replicas": 3, "observedGeneration": 1}))
    async with working(app, server):
        assert server.writes == []


@virtual
async def test_a_status_is_not_written_to_a_namesake(caplog: pytest.LogCaptureFixture) -> None:
    for seen in (False, True):
        app, server = App("app"), ApiServer(Deployment)

        @app.controller(Deployment)
        async def report(d: Deployment, ctx: Context, server: ApiServer = server, seen: bool = seen) -> None:
            if d.metadata.uid == "uid-1":
                server.delete(ctx.key, "deployments")
                server.put(of_kind("apps/v1", "Deployment", "web"))
                if seen:
                    await asyncio.sleep(1)
                await ctx.patch_status(replicas=3)

        server.put(of_kind("apps/v1", "Deployment", "web"))
        async with working(app, server):
            await asyncio.sleep(10)
            assert "status" not in server.get("deployments", "default/web")
            assert len(server.writes) == (0 if seen else 1)  # which was refused


@virtual
async def test_statuses_that_are_so_make_no_request_in_whatever_form_the_server_keeps_them() -> None:
    app, server = App("app"), ApiServer(Deployment)
    wanted: dict[str, Any] = {"replicas": 3, "collision_count": None}

    def normal(obj: Obj) -> None:
        for name, value in obj.get("status", {}).items():
            if value == 3:
                obj["status"][name] = 4  # a server that keeps another value than it was told

    server.admit = normal

    @app.controller(Deployment, resync=300)
    async def report(d: Deployment, ctx: Context) -> None:
        await ctx.patch_status(**wanted)
        await ctx.patch_status(updated_replicas=3)  # in another way: neither forgets the other
        await ctx.set_condition("Available", "True", reason="Fine")

    server.put(of_kind("apps/v1", "Deployment", "web", status={"observedGeneration": 1, "collisionCount": 5}))
    async with working(app, server):
        assert len(server.writes) == 3
        status = dict(server.get("deployments", "default/web")["status"])
        assert status.pop("conditions")[0]["type"] == "Available"
        assert status == {"observedGeneration": 1, "replicas": 4, "updatedReplicas": 4}
        await asyncio.sleep(HOUR)
        assert len(server.writes) == 3
        wanted["replicas"] = 5
        await asyncio.sleep(600)
        assert len(server.writes) == 4

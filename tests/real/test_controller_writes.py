"""What controllers write, as a real API server takes it: settled is silent, finalizers hold, owners are owners."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from trimtab.cache import Informers, NotSynced
from trimtab.client import Client, MergePatch, NotFound, load_config
from trimtab.controller import App, Context, Controllers, Finalizer, annotated
from trimtab.kube import Quantity, find_condition
from trimtab.kube.apps.v1 import Deployment, DeploymentSpec, StatefulSet, StatefulSetSpec
from trimtab.kube.core.v1 import (
    ConfigMap,
    Container,
    ContainerPort,
    EnvVar,
    PersistentVolumeClaim,
    PersistentVolumeClaimSpec,
    PodSpec,
    PodTemplateSpec,
    Probe,
    ResourceRequirements,
    Service,
    ServicePort,
    ServiceSpec,
    TCPSocketAction,
    VolumeResourceRequirements,
)
from trimtab.kube.meta.v1 import LabelSelector, ObjectMeta
from trimtab.testing.control_plane import ControlPlane

from .cache_helpers import config_map, truth, until
from .controller_helpers import at_work

OURS = "example.com/bucket"


def template(image: str) -> PodTemplateSpec:
    """As people write it: quantities in any form, ports without a protocol, probes without times."""
    container = Container(
        name="web",
        image=image,
        env=[EnvVar(name="EMPTY", value=""), EnvVar(name="A", value="1")],
        ports=[ContainerPort(container_port=80), ContainerPort(container_port=53, protocol="UDP")],
        resources=ResourceRequirements(limits={"cpu": "1000m", "memory": "1024Mi"}, requests={"cpu": 0.5}),
        readiness_probe=Probe(tcp_socket=TCPSocketAction(port=80)),
    )
    return PodTemplateSpec(metadata=ObjectMeta(labels={"app": "web"}), spec=PodSpec(containers=[container]))


def wanted(name: str, image: str) -> list[Any]:
    selector, meta = LabelSelector(match_labels={"app": "web"}), ObjectMeta(name=name, labels={"of": name, image: "1"})
    storage = VolumeResourceRequirements(requests={"storage": "1024Mi"})
    claim = PersistentVolumeClaim(
        metadata=ObjectMeta(name="data"),
        spec=PersistentVolumeClaimSpec(access_modes=["ReadWriteOnce"], resources=storage),
    )
    ports = [ServicePort(name="http", port=80), ServicePort(name="dns", port=53, protocol="UDP")]
    return [
        Service(metadata=meta, spec=ServiceSpec(ports=ports, selector={"app": "web"})),
        Deployment(metadata=meta, spec=DeploymentSpec(selector=selector, template=template(image), replicas=2)),
        StatefulSet(
            metadata=meta,
            spec=StatefulSetSpec(
                selector=selector, template=template(image), service_name=name, volume_claim_templates=[claim]
            ),
        ),
    ]


def site(app: App, resync: float = 0.1) -> list[str]:
    """A controller that owns one of each; it reports in the status of its Deployment."""
    looks: list[str] = []

    @app.controller(ConfigMap, where=annotated("site"), owns=[Service, Deployment, StatefulSet], resync=resync)
    async def site(cm: ConfigMap, ctx: Context) -> None:
        looks.append(ctx.key)
        await ctx.own(*wanted(cm.metadata.name, cm.data["image"])[: int(cm.data.get("parts", "3"))])

    @app.controller(Deployment, resync=resync)
    async def report(d: Deployment, ctx: Context) -> None:
        looks.append(ctx.key)
        await ctx.patch_status(observed_generation=d.metadata.generation, replicas=2)
        await ctx.set_condition("Available", "True", reason="Fine", message="it is")

    return looks


async def a_site(client: Client, **data: str) -> None:
    meta = ObjectMeta(name="web", annotations={"site": ""})
    await client.apply(ConfigMap(metadata=meta, data=data), force=True)


async def test_a_settled_controller_is_silent_through_resyncs_and_mends_what_others_change(
    client: Client, control_plane: ControlPlane
) -> None:
    app = App("sites")
    looks = site(app)
    await a_site(client, image="nginx")
    async with at_work(app, control_plane, client.namespace) as controllers:
        await until(lambda: len(looks) > 30)
        assert sorted(controllers.writes()) == [
            f"patch {client.namespace}/deployments/web",
            f"patch {client.namespace}/deployments/web/status",
            f"patch {client.namespace}/deployments/web/status",
            f"patch {client.namespace}/services/web",
            f"patch {client.namespace}/statefulsets/web",
        ]
        assert not [request for request in controllers.requests.asked if request.verb == "get"]

        made = await client.get(Deployment, "web")
        assert made.spec.template.spec is not None
        assert Quantity(made.spec.template.spec.containers[0].resources.limits["cpu"]) == 1  # in the server's form
        before = len(controllers.sent)
        await client.patch(Deployment, "web", MergePatch({"metadata": {"labels": {"theirs": "1"}}}))
        seen = len(looks)
        await until(lambda: len(looks) > seen + 20)
        assert controllers.sent[before:] == []  # theirs is theirs

        await client.patch(Deployment, "web", MergePatch({"spec": {"replicas": 7}}))
        await until(lambda: len(controllers.sent) > before)
        await until(lambda: len(looks) > seen + 60)
        mended = [request.path for request in controllers.sent[before:] if "/status" not in request.path]
        assert len(mended) == 1
        assert (await client.get(Deployment, "web")).spec.replicas == 2
        assert find_condition((await client.get(Deployment, "web")).status.conditions, "Available") is not None


async def test_what_is_dropped_is_released_what_is_not_named_goes_and_what_is_deleted_comes_back(
    client: Client, control_plane: ControlPlane
) -> None:
    app = App("sites")
    site(app)
    await a_site(client, image="nginx")
    async with at_work(app, control_plane, client.namespace) as controllers:
        await until(lambda: len(controllers.sent) >= 5)
        await a_site(client, image="caddy")

        async def relabelled() -> bool:
            labels = (await client.get(Service, "web")).metadata.labels
            return labels == {"of": "web", "caddy": "1"}  # the label of before is gone

        await eventually(relabelled)
        await client.delete(Service, "web")

        async def is_back() -> bool:
            return "web" in {
                name.rpartition("/")[2] for name in await truth(client, Service, namespace=client.namespace)
            }

        await eventually(is_back)
        await a_site(client, image="caddy", parts="1")

        async def only_the_service() -> bool:
            left = [
                await truth(client, kind, namespace=client.namespace) for kind in (Deployment, StatefulSet, Service)
            ]
            return [len(each) for each in left] == [0, 0, 1]

        await eventually(only_the_service)
        service = await client.get(Service, "web")
        [owner] = service.metadata.owner_references
        assert (owner.kind, owner.name, owner.controller) == ("ConfigMap", "web", True)
        assert "sites/site" in {entry.manager for entry in service.metadata.managed_fields}


async def test_finalizers_are_put_on_first_and_taken_off_last_among_others(
    client: Client, control_plane: ControlPlane
) -> None:
    app, log = App("buckets"), []

    async def clean_up(cm: ConfigMap, ctx: Context) -> None:
        log.append(f"clean up {ctx.name}")
        if log.count(f"clean up {ctx.name}") < 3:
            raise OSError("not yet")

    async def gone(key: str, ctx: Context) -> None:
        log.append(f"gone {ctx.name}")

    @app.controller(ConfigMap, where=annotated("bucket"), finalizer=Finalizer(OURS, clean_up), gone=gone, workers=4)
    async def make(cm: ConfigMap, ctx: Context) -> None:
        assert OURS in (await client.get(ConfigMap, ctx.name)).metadata.finalizers
        log.append(f"make {ctx.name}")

    names = [f"cm-{number}" for number in range(10)]
    async with at_work(app, control_plane, client.namespace):

        async def live(name: str) -> None:
            obj = config_map(name)
            obj.metadata.annotations = {"bucket": ""}
            await client.create(obj)

            def add(number: int) -> Any:
                def change(cm: ConfigMap) -> None:
                    cm.metadata.finalizers.append(f"theirs.example.com/{number}")

                return change

            for number in range(3):
                await client.modify(ConfigMap, name, add(number))

            async def held() -> bool:
                return len((await client.get(ConfigMap, name)).metadata.finalizers) == 4

            await eventually(held)
            await client.delete(ConfigMap, name)

            async def let_go() -> bool:
                return OURS not in (await client.get(ConfigMap, name)).metadata.finalizers

            await eventually(let_go)
            assert log.count(f"clean up {name}") == 3
            left = await client.get(ConfigMap, name)
            assert len(left.metadata.finalizers) == 3
            await client.patch(ConfigMap, name, MergePatch({"metadata": {"finalizers": None}}))
            await until(lambda: f"gone {name}" in log)

        await asyncio.gather(*map(live, names))
    assert not [line for line in log if line.startswith("make") and log.index(line) > log.index("clean up" + line[4:])]


async def test_an_object_that_is_no_longer_wanted_is_let_go(client: Client, control_plane: ControlPlane) -> None:
    app, log = App("buckets"), []

    async def clean_up(cm: ConfigMap, ctx: Context) -> None:
        log.append("clean up")

    @app.controller(ConfigMap, where=annotated("bucket"), finalizer=Finalizer(OURS, clean_up))
    async def make(cm: ConfigMap, ctx: Context) -> None:
        log.append("make")

    obj = config_map("a")
    obj.metadata.annotations = {"bucket": ""}
    await client.create(obj)
    async with at_work(app, control_plane, client.namespace):
        await until(lambda: "make" in log)
        await client.patch(ConfigMap, "a", MergePatch({"metadata": {"annotations": None}}))

        async def released() -> bool:
            return (await client.get(ConfigMap, "a")).metadata.finalizers == []

        await eventually(released)
        assert log[-1] == "clean up"
        await client.delete(ConfigMap, "a")
        with pytest.raises(NotFound):
            await client.get(ConfigMap, "a")


async def test_who_may_not_read_is_told_so_and_nothing_idles(client: Client, control_plane: ControlPlane) -> None:
    app = App("nobody")

    @app.controller(ConfigMap)
    async def look(cm: ConfigMap, ctx: Context) -> None: ...

    config = load_config(control_plane.kubeconfig("nobody", groups=()))
    async with Client(config) as nobody, Informers(nobody) as informers:
        controllers = Controllers(app, informers, namespaces=[client.namespace])
        controllers.start()
        with pytest.raises(
            NotSynced, match=r"app nobody cannot begin.*configmaps in .*User .nobody. cannot (list|watch)"
        ):
            await controllers.synced(1)


async def eventually(condition: Any, seconds: float = 20.0) -> None:
    """Ask the server until it is so."""
    async with asyncio.timeout(seconds):
        while not await condition():  # noqa: ASYNC110  # what is waited for happens in the server
            await asyncio.sleep(0.05)

"""The verbs on objects, against a real API server: what is sent arrives, and what must not be lost is not."""

import asyncio
import logging
from collections.abc import AsyncIterator, Iterator
from typing import Annotated, Any, ClassVar

import msgspec
import pytest

from trimtab.client import (
    AlreadyExists,
    BadRequest,
    Client,
    Conflict,
    Invalid,
    JSONPatch,
    MergePatch,
    NotFound,
    RequestTooLarge,
    StrategicMergePatch,
    Timeout,
    UnsupportedMediaType,
    load_config,
)
from trimtab.errors import TrimtabError
from trimtab.kube.apps.v1 import Deployment, DeploymentSpec
from trimtab.kube.base import ListMap, Resource, Struct
from trimtab.kube.core.v1 import (
    ConfigMap,
    Container,
    ContainerPort,
    Namespace,
    Pod,
    PodSpec,
    PodTemplateSpec,
    Service,
    ServiceAccount,
    ServicePort,
    ServiceSpec,
)
from trimtab.kube.dynamic import dynamic
from trimtab.kube.meta.v1 import LabelSelector, ObjectMeta
from trimtab.kube.objects import Object
from trimtab.testing.control_plane import ControlPlane
from trimtab.testing.waiting import wait_until

WIDGET = dynamic("verbs.trimtab.dev/v1", "Widget")
CONFIG_MAP = dynamic("v1", "ConfigMap", plural="configmaps", namespaced=True)


class Part(Struct):
    """As an older program knows it: a part has a `colour` too, by now."""

    name: str
    size: int | None = None


class OldSpec(Struct):
    """As an older program knows it: `secret`, `extra` and `keyed` came later."""

    size: int | None = None
    parts: list[Part] = []


class OldKeyedSpec(Struct):
    keyed: Annotated[list[Part], ListMap("name")] = []


class OldWidget(Object):
    resource: ClassVar[Resource] = Resource("verbs.trimtab.dev", "v1", "Widget", "widgets", True, ("status",))
    spec: OldSpec = msgspec.field(default_factory=OldSpec)


class OldKeyedWidget(Object):
    resource: ClassVar[Resource] = OldWidget.resource
    spec: OldKeyedSpec = msgspec.field(default_factory=OldKeyedSpec)


class OldContainer(Struct):
    name: str
    image: str | None = None


class OldPodSpec(Struct):
    containers: list[OldContainer] = []


class OldPod(Object):
    resource: ClassVar[Resource] = Pod.resource
    spec: OldPodSpec = msgspec.field(default_factory=OldPodSpec)


def definition() -> dict[str, Any]:
    part = {
        "type": "object",
        "properties": {"name": {"type": "string"}, "size": {"type": "integer"}, "colour": {"type": "string"}},
    }
    spec = {
        "type": "object",
        "properties": {
            "size": {"type": "integer", "maximum": 100},
            "secret": {"type": "string"},
            "extra": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
            "parts": {"type": "array", "items": part},
            "keyed": {
                "type": "array",
                "items": {**part, "required": ["name"]},
                "x-kubernetes-list-type": "map",
                "x-kubernetes-list-map-keys": ["name"],
            },
        },
    }
    status = {"type": "object", "properties": {"ready": {"type": "boolean"}}}
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "subresources": {"status": {}},
        "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec, "status": status}}},
    }
    return {
        "metadata": {"name": "widgets.verbs.trimtab.dev"},
        "spec": {
            "group": "verbs.trimtab.dev",
            "scope": "Namespaced",
            "names": {"plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList"},
            "versions": [version],
        },
    }


@pytest.fixture(scope="module")
def widgets(control_plane: ControlPlane) -> Iterator[None]:
    """A custom kind that has more fields than the classes above."""
    path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    control_plane.request("POST", path, definition())

    def served() -> bool:
        found = control_plane.request("GET", "/apis")["groups"]
        return any(group["name"] == "verbs.trimtab.dev" for group in found)

    wait_until(served, "the custom kind to be served")
    yield
    control_plane.request("DELETE", f"{path}/widgets.verbs.trimtab.dev")


@pytest.fixture
async def client(control_plane: ControlPlane, real_namespace: str) -> AsyncIterator[Client]:
    async with Client(load_config(control_plane.kubeconfig()), namespace=real_namespace) as client:
        yield client


def config_map(name: str = "", /, namespace: str = "", **data: str) -> ConfigMap:
    return ConfigMap(metadata=ObjectMeta(name=name, namespace=namespace), data=data)


def web_pod(name: str = "web", **labels: str) -> Pod:
    ports = [ContainerPort(container_port=80)]
    return Pod(
        metadata=ObjectMeta(name=name, labels=labels),
        spec=PodSpec(containers=[Container(name="c", image="nginx:1", ports=ports)]),
    )


# Reading


async def test_get(client: Client) -> None:
    made = await client.create(config_map("a", x="1"))
    assert made.metadata.namespace == client.namespace
    got = await client.get(ConfigMap, "a")
    assert got == made
    assert (await client.get(CONFIG_MAP, "a"))["data"] == {"x": "1"}
    assert (await client.get(ConfigMap, "a", resource_version="0")).metadata.uid == made.metadata.uid
    with pytest.raises(NotFound, match=f'cannot get configmaps {client.namespace}/b: NotFound .404.: .*"b" not found'):
        await client.get(ConfigMap, "b")
    with pytest.raises(NotFound):
        await client.get(ConfigMap, "a", namespace="default")
    with pytest.raises(Timeout) as future:  # a version that is not there yet
        await client.get(ConfigMap, "a", resource_version=str(int(made.metadata.resource_version) + 1_000_000))
    assert future.value.has_cause("ResourceVersionTooLarge")
    assert (await client.get(Namespace, client.namespace)).metadata.name == client.namespace
    with pytest.raises(TrimtabError, match="without a name"):
        await client.get(ConfigMap, "")


async def test_list_with_selectors_and_pages(client: Client) -> None:
    names = [f"p{i}" for i in range(7)]
    await asyncio.gather(*(client.create(web_pod(name, parity=str(i % 2))) for i, name in enumerate(names)))
    ns = client.namespace

    async def found(**query: Any) -> list[str]:
        return [pod.metadata.name for pod in await client.list(Pod, namespace=ns, **query)]

    assert await found() == await found(page_size=3) == await found(page_size=0) == names
    assert await found(labels={"parity": "1"}, page_size=2) == ["p1", "p3", "p5"]
    assert await found(labels="parity notin (1),parity") == ["p0", "p2", "p4", "p6"]
    assert await found(fields={"metadata.name": "p4"}) == ["p4"]
    assert await found(fields="metadata.name!=p4,spec.nodeName=", labels={"parity": "0"}) == ["p0", "p2", "p6"]
    assert await found(resource_version="0") == names
    pages = [page async for page in client.pages(Pod, namespace=ns, page_size=3)]
    assert [len(page) for page in pages] == [3, 3, 1]
    assert [page.remaining for page in pages] == [4, 1, None]
    whole = await client.list(Pod, namespace=ns, page_size=3)
    assert whole.resource_version == (await client.list(
        Pod, namespace=ns, resource_version=whole.resource_version, resource_version_match="Exact"
    )).resource_version  # fmt: skip
    everywhere = await client.list(Pod, labels="parity")
    assert {pod.metadata.namespace for pod in everywhere} >= {ns}
    with pytest.raises(BadRequest, match=r"field label not supported: spec.colour"):
        await found(fields={"spec.colour": "red"})
    with pytest.raises(BadRequest, match="unable to parse requirement"):
        await found(labels="!!")


@pytest.mark.usefixtures("widgets")
async def test_a_list_of_what_has_no_class(client: Client) -> None:
    for name in ("a", "b"):
        await client.create(WIDGET({"metadata": {"name": name}, "spec": {"extra": {"deep": [1, None]}}}))
    found = await client.list(WIDGET, namespace=client.namespace, page_size=1)
    assert [(w.metadata.name, w.get("spec", "extra", "deep")) for w in found] == [("a", [1, None]), ("b", [1, None])]


# Making


async def test_create(client: Client) -> None:
    await client.create(config_map("a"))
    with pytest.raises(AlreadyExists, match=f'cannot create configmaps in {client.namespace}: .*"a" already exists'):
        await client.create(config_map("a"))
    one, two = await asyncio.gather(
        *(client.create(ConfigMap(metadata=ObjectMeta(generate_name="gen-"))) for _ in range(2))
    )
    assert one.metadata.name.startswith("gen-")
    assert one.metadata.name != two.metadata.name
    [entry] = one.metadata.managed_fields
    assert (entry.manager, entry.operation) == ("trimtab", "Update")
    other = await client.create(config_map("b", x="1"), field_manager="somebody")
    assert other.metadata.managed_fields[0].manager == "somebody"
    with pytest.raises(TrimtabError, match="is in namespace x, not in y"):
        await client.create(config_map("c", "x"), namespace="y")
    with pytest.raises(Invalid) as invalid:
        await client.create(config_map("Not A Name"))
    assert [cause.field for cause in invalid.value.causes] == ["metadata.name"]
    assert "metadata.name: Invalid value" in str(invalid.value)


async def test_dry_run_stores_nothing(client: Client) -> None:
    dry = await client.create(config_map("a"), dry_run=True)
    assert dry.metadata.uid
    with pytest.raises(NotFound):
        await client.get(ConfigMap, "a")
    made = await client.create(config_map("a"))
    assert (await client.patch(ConfigMap, "a", MergePatch({"data": {"x": "1"}}), dry_run=True)).data == {"x": "1"}
    assert (await client.apply(config_map("a", y="2"), dry_run=True)).data == {"y": "2"}
    await client.delete(ConfigMap, "a", dry_run=True)
    assert await client.get(ConfigMap, "a") == made


async def test_field_validation(client: Client, caplog: pytest.LogCaptureFixture) -> None:
    def odd(name: str) -> Any:
        return CONFIG_MAP({"metadata": {"name": name}, "dta": {"x": "1"}})

    with pytest.raises(BadRequest, match='strict decoding error: unknown field "dta"'):
        await client.create(odd("a"), field_validation="Strict")
    with caplog.at_level(logging.WARNING, "trimtab.client"):
        await client.create(odd("a"), field_validation="Ignore")
        assert not caplog.records
        await client.create(odd("b"), field_validation="Warn")
        await client.create(odd("c"))
    ns = client.namespace
    assert [record.getMessage() for record in caplog.records] == [
        f'the server warns about create configmaps in {ns}: unknown field "dta"'
    ]


async def test_a_body_that_is_too_large_is_refused(client: Client) -> None:
    with pytest.raises(RequestTooLarge):
        await client.create(config_map("a", x="y" * (3 << 20)))
    with pytest.raises(Invalid, match=r"must have at most 1048576 bytes|Too long"):
        await client.create(config_map("a", x="y" * ((1 << 20) + 1)))


# Changing


async def test_replace(client: Client) -> None:
    await client.create(config_map("a", x="1", y="2"))
    first, second = [await client.get(CONFIG_MAP, "a") for _ in range(2)]
    first["data"] = {"x": "changed"}
    assert (await client.replace(first))["data"] == {"x": "changed"}
    second["data"] = {"x": "stale"}
    with pytest.raises(Conflict, match="the object has been modified"):
        await client.replace(second)
    typed: Any = await client.get(ConfigMap, "a")
    with pytest.raises(TrimtabError, match="use apply or modify"):
        await client.replace(typed)


@pytest.mark.usefixtures("widgets")
async def test_patches(client: Client) -> None:
    await client.create(web_pod())
    merged = await client.patch(Pod, "web", MergePatch({"metadata": {"labels": {"a": "1"}, "annotations": None}}))
    assert merged.metadata.labels == {"a": "1"}
    image = {"spec": {"containers": [{"name": "c", "image": "nginx:2"}]}}
    strategic = await client.patch(Pod, "web", StrategicMergePatch(image))
    [container] = strategic.spec.containers
    assert (container.image, container.ports[0].container_port) == ("nginx:2", 80)  # the list was merged, not replaced
    operations = [
        {"op": "test", "path": "/metadata/labels/a", "value": "1"},
        {"op": "replace", "path": "/metadata/labels/a", "value": "2"},
    ]
    patched = await client.patch(Pod, "web", JSONPatch(operations))
    assert patched.metadata.labels == {"a": "2"}
    with pytest.raises(Invalid, match="test"):
        await client.patch(Pod, "web", JSONPatch(operations))
    stale = {"metadata": {"labels": {"a": "3"}, "resourceVersion": merged.metadata.resource_version}}
    with pytest.raises(Conflict):
        await client.patch(Pod, "web", MergePatch(stale))
    await client.create(WIDGET({"metadata": {"name": "w"}}))
    with pytest.raises(UnsupportedMediaType, match=r"cannot patch widgets.verbs.trimtab.dev"):
        await client.patch(WIDGET, "w", StrategicMergePatch({"spec": {"size": 1}}))
    assert (await client.patch(WIDGET, "w", MergePatch({"spec": {"size": 1}}))).get("spec", "size") == 1


# Applying


def owned_by(obj: Any, manager: str) -> dict[str, Any]:
    found = [e.fields_v1 for e in obj.metadata.managed_fields if (e.manager, e.operation) == (manager, "Apply")]
    assert len(found) <= 1
    return found[0] if found else {}


def deployment(replicas: int | None = None, **labels: str) -> Deployment:
    return Deployment(
        metadata=ObjectMeta(name="web", labels=labels),
        spec=DeploymentSpec(
            replicas=replicas,
            selector=LabelSelector(match_labels={"app": "web"}),
            template=PodTemplateSpec(
                metadata=ObjectMeta(labels={"app": "web"}),
                spec=PodSpec(containers=[Container(name="c", image="nginx:1")]),
            ),
        ),
    )


async def test_apply_owns_what_is_set_and_nothing_else(client: Client) -> None:
    made = await client.apply(deployment(replicas=3, tier="front"))  # it is made
    assert owned_by(made, "trimtab") == {
        "f:metadata": {"f:labels": {"f:tier": {}}},
        "f:spec": {
            "f:replicas": {},
            "f:selector": {},
            "f:template": {
                "f:metadata": {"f:labels": {"f:app": {}}},
                "f:spec": {"f:containers": {'k:{"name":"c"}': {".": {}, "f:image": {}, "f:name": {}}}},
            },
        },
    }
    assert made.spec.strategy.type == "RollingUpdate"  # the server's default, which nobody owns
    again = await client.apply(deployment(replicas=3, tier="front"))
    assert again.metadata.resource_version == made.metadata.resource_version
    less = await client.apply(deployment())  # what is left out is given up, and falls to the default
    assert less.spec.replicas == 1
    assert less.metadata.labels == {}
    assert "f:replicas" not in owned_by(less, "trimtab")["f:spec"]


async def test_apply_conflicts_until_forced(client: Client) -> None:
    await client.apply(config_map("a", x="1", y="1"), field_manager="first")
    with pytest.raises(Conflict) as conflict:
        await client.apply(config_map("a", x="2"), field_manager="second")
    assert [(c.reason, c.field) for c in conflict.value.causes] == [("FieldManagerConflict", ".data.x")]
    assert 'conflict with "first"' in str(conflict.value)
    await client.apply(config_map("a", x="1"), field_manager="third")  # the same value is shared
    taken = await client.apply(config_map("a", x="2"), field_manager="second", force=True)
    assert taken.data == {"x": "2", "y": "1"}
    assert "f:x" not in owned_by(taken, "first")["f:data"]
    assert owned_by(taken, "third") == {}
    with pytest.raises(TrimtabError, match="it was read from the server"):
        await client.apply(taken)


@pytest.mark.usefixtures("widgets")
async def test_apply_of_what_has_no_class_and_of_a_status(client: Client) -> None:
    made = await client.apply(WIDGET({"metadata": {"name": "w"}, "spec": {"size": 1}, "status": {"ready": True}}))
    assert made.get("status") is None
    status = WIDGET({"metadata": {"name": "w"}, "status": {"ready": True}})
    done = await client.apply(status, subresource="status", field_manager="status")
    assert (done.get("status"), done.get("spec")) == ({"ready": True}, {"size": 1})
    assert owned_by(done, "status") == {"f:status": {"f:ready": {}}}


# Modifying


@pytest.mark.usefixtures("widgets")
async def test_modify_through_an_older_class_loses_nothing(client: Client) -> None:
    stored = {
        "size": 1,
        "secret": "kept",
        "extra": {"deep": [{"a": 1}]},
        "parts": [{"name": "p", "size": 1, "colour": "red"}, {"name": "q", "size": 2, "colour": "blue"}],
    }
    await client.create(WIDGET({"metadata": {"name": "w"}, "spec": stored}))

    def change(widget: OldWidget) -> None:
        widget.spec.size = 2
        widget.spec.parts[1].size = 7
        widget.spec.parts.append(Part(name="r"))

    changed = await client.modify(OldWidget, "w", change)
    assert changed.spec.size == 2
    assert (await client.get(WIDGET, "w")).raw["spec"] == {
        "size": 2,
        "secret": "kept",
        "extra": {"deep": [{"a": 1}]},
        "parts": [
            {"name": "p", "size": 1, "colour": "red"},
            {"name": "q", "size": 7, "colour": "blue"},
            {"name": "r"},
        ],
    }


@pytest.mark.usefixtures("widgets")
async def test_modify_follows_the_items_of_a_list_with_keys(client: Client) -> None:
    keyed = [{"name": n, "size": 1, "colour": c} for n, c in (("a", "red"), ("b", "green"), ("c", "blue"))]
    await client.create(WIDGET({"metadata": {"name": "w"}, "spec": {"keyed": keyed}}))

    async def change(widget: OldKeyedWidget) -> None:  # it may wait for something, too
        await asyncio.sleep(0)
        parts = widget.spec.keyed
        parts[0].size = 9
        parts.reverse()
        del parts[1]
        parts.insert(0, Part(name="d", size=4))

    await client.modify(OldKeyedWidget, "w", change)
    assert (await client.get(WIDGET, "w")).get("spec", "keyed") == [
        {"name": "d", "size": 4},
        {"name": "c", "size": 1, "colour": "blue"},
        {"name": "a", "size": 9, "colour": "red"},
    ]


async def test_modify_a_built_in_kind_through_an_older_class(client: Client) -> None:
    before = await client.create(web_pod())

    def change(pod: OldPod) -> None:
        pod.spec.containers[0].image = "nginx:2"
        pod.metadata.labels["a"] = "1"

    await client.modify(OldPod, "web", change)
    after = await client.get(Pod, "web")
    assert after.spec.containers[0].image == "nginx:2"
    after.spec.containers[0].image = "nginx:1"
    assert after.spec == before.spec  # ports, mounts, defaults: all of it


async def test_modify_that_changes_nothing_sends_nothing(client: Client) -> None:
    made = await client.create(web_pod())
    same = await client.modify(Pod, "web", lambda _: None)
    assert same.metadata.resource_version == made.metadata.resource_version
    # Nor does the server write a patch that says what is so.
    assert (await client.get(Pod, "web")).metadata.resource_version == made.metadata.resource_version


@pytest.mark.usefixtures("widgets")
async def test_modify_removes_and_works_without_a_class(client: Client) -> None:
    await client.create(WIDGET({"metadata": {"name": "w", "labels": {"a": "1", "b": "2"}}, "spec": {"secret": "x"}}))

    def change(widget: Any) -> None:
        del widget["spec"]["secret"]
        widget["spec"]["size"] = 3
        del widget.metadata.labels["a"]

    changed = await client.modify(WIDGET, "w", change)
    assert changed["spec"] == {"size": 3}
    assert changed.metadata.labels == {"b": "2"}


async def test_two_who_modify_at_once_lose_nothing(client: Client) -> None:
    await client.create(config_map("a", left="0", right="0"))

    async def count(name: str) -> None:
        def more(obj: ConfigMap) -> None:
            obj.data[name] = str(int(obj.data[name]) + 1)
            obj.data["both"] = str(int(obj.data.get("both", "0")) + 1)

        for _ in range(25):
            await client.modify(ConfigMap, "a", more)

    await asyncio.gather(count("left"), count("right"))
    assert (await client.get(ConfigMap, "a")).data == {"left": "25", "right": "25", "both": "50"}


@pytest.mark.usefixtures("widgets")
async def test_the_status_is_apart_both_ways(client: Client) -> None:
    made = await client.create(WIDGET({"metadata": {"name": "w"}, "spec": {"size": 1}, "status": {"ready": True}}))
    assert made.get("status") is None
    both = MergePatch({"spec": {"size": 2}, "status": {"ready": True}})
    status = await client.patch(WIDGET, "w", both, subresource="status")
    assert (status.get("spec"), status.get("status")) == ({"size": 1}, {"ready": True})
    spec = await client.patch(WIDGET, "w", MergePatch({"spec": {"size": 2}, "status": {"ready": False}}))
    assert (spec.get("spec"), spec.get("status")) == ({"size": 2}, {"ready": True})
    assert spec.metadata.generation == made.metadata.generation + 1

    def ready(widget: Any) -> None:
        widget["status"] = {"ready": False}

    assert (await client.modify(WIDGET, "w", ready, subresource="status")).get("status") == {"ready": False}
    now = await client.get(WIDGET, "w")
    now["status"] = {"ready": True}
    assert (await client.replace(now, subresource="status")).get("status") == {"ready": True}


# Deleting


async def test_delete(client: Client) -> None:
    made = await client.create(config_map("a"))
    assert await client.delete(made) is None
    with pytest.raises(NotFound):
        await client.delete(ConfigMap, "a")
    # One of the same name, but not the one that was read.
    successor = await client.create(config_map("a"))
    with pytest.raises(Conflict, match=r"uid|UID"):
        await client.delete(made)
    with pytest.raises(Conflict):
        await client.delete(ConfigMap, "a", resource_version=made.metadata.resource_version)
    assert await client.delete(successor, resource_version=successor.metadata.resource_version) is None


async def test_delete_tells_whether_it_is_gone(client: Client) -> None:
    # Kinds whose objects the server answers with, as they were, though they are gone.
    account = await client.create(ServiceAccount(metadata=ObjectMeta(name="a")))
    service = await client.create(
        Service(metadata=ObjectMeta(name="a"), spec=ServiceSpec(ports=[ServicePort(port=80)]))
    )
    unbound = await client.create(web_pod("unbound"))
    for obj in (account, service, unbound):
        assert await client.delete(obj) is None
        with pytest.raises(NotFound):
            await client.get(type(obj), obj.metadata.name)
    # A Pod on a node has its time to end.
    bound = web_pod("bound")
    bound.spec.node_name = "nowhere"
    await client.create(bound)
    ending = await client.delete(Pod, "bound", grace_period_seconds=20)
    assert ending is not None
    assert ending.metadata.deletion_grace_period_seconds == 20
    assert await client.delete(Pod, "bound", grace_period_seconds=0) is None
    with pytest.raises(NotFound):
        await client.get(Pod, "bound")


async def test_a_finalizer_keeps_the_object(client: Client) -> None:
    held = ConfigMap(metadata=ObjectMeta(name="a", finalizers=["trimtab.dev/test"]))
    await client.create(held)
    kept = await client.delete(ConfigMap, "a")
    assert kept is not None
    assert kept.metadata.deletion_timestamp
    assert (await client.get(ConfigMap, "a")).metadata.finalizers == ["trimtab.dev/test"]

    def let_go(obj: ConfigMap) -> None:
        obj.metadata.finalizers.clear()

    await client.modify(ConfigMap, "a", let_go)
    with pytest.raises(NotFound):
        await client.get(ConfigMap, "a")


@pytest.mark.parametrize(
    ("propagation", "finalizers"), [("Foreground", ["foregroundDeletion"]), ("Orphan", ["orphan"])]
)
async def test_propagation(client: Client, propagation: Any, finalizers: list[str]) -> None:
    await client.create(deployment())
    kept = await client.delete(Deployment, "web", propagation=propagation)
    assert kept is not None
    assert kept.metadata.finalizers == finalizers
    await client.patch(Deployment, "web", MergePatch({"metadata": {"finalizers": None}}))
    await client.create(deployment())
    assert await client.delete(Deployment, "web", propagation="Background") is None


async def test_delete_all_deletes_what_matches(client: Client, control_plane: ControlPlane) -> None:
    for name, tier in (("a", "x"), ("b", "x"), ("c", "y")):
        await client.create(ConfigMap(metadata=ObjectMeta(name=name, labels={"tier": tier})))
    with control_plane.namespace() as other:
        await client.create(ConfigMap(metadata=ObjectMeta(name="a", namespace=other, labels={"tier": "x"})))
        await client.delete_all(ConfigMap, labels={"tier": "x"}, dry_run=True)
        await client.delete_all(ConfigMap, labels={"tier": "x"})
        assert [o.metadata.name for o in await client.list(ConfigMap, namespace=client.namespace)] == ["c"]
        assert [o.metadata.name for o in await client.list(ConfigMap, namespace=other)] == ["a"]
        await client.delete_all(ConfigMap, fields={"metadata.name": "c"})
        assert not await client.list(ConfigMap, namespace=client.namespace)

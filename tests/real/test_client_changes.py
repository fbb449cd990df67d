"""Patches, applies and edits, against a real API server: what is sent arrives, and what must not be lost is not."""

import asyncio
from collections.abc import Iterator
from typing import Annotated, Any, ClassVar

import msgspec
import pytest

from trimtab.client import (
    Client,
    Conflict,
    Invalid,
    JSONPatch,
    MergePatch,
    StrategicMergePatch,
    UnsupportedMediaType,
)
from trimtab.errors import TrimtabError
from trimtab.kube.apps.v1 import Deployment, DeploymentSpec
from trimtab.kube.base import Struct
from trimtab.kube.core.v1 import (
    ConfigMap,
    Container,
    ContainerPort,
    Pod,
    PodSpec,
    PodTemplateSpec,
)
from trimtab.kube.dynamic import dynamic
from trimtab.kube.hints import ListMap
from trimtab.kube.kinds import Resource
from trimtab.kube.meta.v1 import LabelSelector, ObjectMeta
from trimtab.kube.objects import Object
from trimtab.testing.control_plane import ControlPlane
from trimtab.testing.waiting import wait_until

WIDGET = dynamic("changes.trimtab.dev/v1", "Widget")


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
    resource: ClassVar[Resource] = Resource("changes.trimtab.dev", "v1", "Widget", "widgets", True, ("status",))
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
        "metadata": {"name": "widgets.changes.trimtab.dev"},
        "spec": {
            "group": "changes.trimtab.dev",
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
        return any(group["name"] == "changes.trimtab.dev" for group in found)

    wait_until(served, "the custom kind to be served")
    yield
    control_plane.request("DELETE", f"{path}/widgets.changes.trimtab.dev")


def config_map(name: str = "", /, namespace: str = "", **data: str) -> ConfigMap:
    return ConfigMap(metadata=ObjectMeta(name=name, namespace=namespace), data=data)


def web_pod(name: str = "web", **labels: str) -> Pod:
    ports = [ContainerPort(container_port=80)]
    return Pod(
        metadata=ObjectMeta(name=name, labels=labels),
        spec=PodSpec(containers=[Container(name="c", image="nginx:1", ports=ports)]),
    )


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
    with pytest.raises(UnsupportedMediaType, match=r"cannot patch widgets.changes.trimtab.dev"):
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


@pytest.mark.usefixtures("widgets")
async def test_a_list_of_what_has_no_class(client: Client) -> None:
    for name in ("a", "b"):
        await client.create(WIDGET({"metadata": {"name": name}, "spec": {"extra": {"deep": [1, None]}}}))
    found = await client.list(WIDGET, namespace=client.namespace, page_size=1)
    assert [(w.metadata.name, w.get("spec", "extra", "deep")) for w in found] == [("a", [1, None]), ("b", [1, None])]

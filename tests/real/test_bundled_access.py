"""The bundled controllers do with the access that their tutorials name, and nothing more."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from trimtab.client import Client, MergePatch, load_config
from trimtab.controller import App, Options
from trimtab.controllers import curl_me_that, pod_locator, pod_restarter, replicaset
from trimtab.controllers.curl_me_that.pairs import ANNOTATIONS
from trimtab.kube.apps.v1 import ReplicaSet, ReplicaSetSpec
from trimtab.kube.core.v1 import ConfigMap, Container, Pod, PodSpec, PodTemplateSpec
from trimtab.kube.events.v1 import Event
from trimtab.kube.meta.v1 import LabelSelector, ObjectMeta
from trimtab.kube.rbac.v1 import PolicyRule, Role, RoleBinding, RoleRef, Subject
from trimtab.manager import Manager
from trimtab.testing.control_plane import ControlPlane

EVENTS = PolicyRule(api_groups=["events.k8s.io"], resources=["events"], verbs=["create", "patch"])


def core(resource: str, *verbs: str) -> PolicyRule:
    return PolicyRule(api_groups=[""], resources=[resource], verbs=[*verbs])


CONFIG_MAPS = core("configmaps", "get", "list", "watch", "patch")
ROLES: dict[str, tuple[App, list[PolicyRule]]] = {
    "curl-me-that": (curl_me_that.app, [CONFIG_MAPS, EVENTS]),
    "pod-restarter": (
        pod_restarter.app,
        [CONFIG_MAPS, core("pods", "list"), core("pods/eviction", "create"), EVENTS],
    ),
    "pod-locator": (pod_locator.app, [core("pods", "get", "list", "watch")]),
    "replicaset": (
        replicaset.app,
        [
            PolicyRule(api_groups=["apps"], resources=["replicasets"], verbs=["get", "list", "watch"]),
            PolicyRule(api_groups=["apps"], resources=["replicasets/status"], verbs=["patch"]),
            core("pods", "get", "list", "watch", "create", "patch", "delete"),
            EVENTS,
        ],
    ),
}


class Web:
    async def fetch(self, url: str, *, largest: int) -> bytes:  # noqa: ARG002  # as of the fetcher
        return b"hello"


def pod(name: str, **spec: Any) -> Pod:
    containers = [Container(name="c", image="nginx")]
    meta = ObjectMeta(name=name, labels={"app": "frontend"})
    return Pod(metadata=meta, spec=PodSpec(containers=containers, **spec))


async def settles(holds: Callable[[], Awaitable[bool]]) -> None:
    async with asyncio.timeout(30):
        while not await holds():  # noqa: ASYNC110  # the controller does it
            await asyncio.sleep(0.1)


async def curl(client: Client, _: Options) -> None:
    marks = {ANNOTATIONS[0]: "a=x.com"}
    await client.create(ConfigMap(metadata=ObjectMeta(name="demo", annotations=marks)))
    await client.create(ConfigMap(metadata=ObjectMeta(name="taken", annotations=marks), data={"a": "1"}))

    async def is_done() -> bool:
        return (await client.get(ConfigMap, "demo")).data == {"a": "hello"} and await told(client, "KeyTaken")

    await settles(is_done)


async def restart(client: Client, _: Options) -> None:
    await client.create(pod("web"))
    marks = ObjectMeta(name="settings", annotations={pod_restarter.MARK: ""})
    await client.create(ConfigMap(metadata=marks, data={"mode": "light"}))
    await settles(lambda: told(client, "Watching"))
    await client.patch(ConfigMap, "settings", MergePatch({"data": {"mode": "dark"}}))
    await settles(lambda: told(client, "Restarted"))
    assert not await client.list(Pod, namespace=client.namespace)


async def locate(client: Client, options: Options) -> None:
    await client.create(pod("web", node_name="n1"))

    async def is_located() -> bool:
        return options.once(pod_locator.Located).counts == {"n1": 1}

    await settles(is_located)


async def replicate(client: Client, _: Options) -> None:
    await client.create(pod("orphan"))
    labels = {"app": "frontend"}
    template = PodTemplateSpec(metadata=ObjectMeta(labels=labels), spec=pod("web").spec)
    spec = ReplicaSetSpec(replicas=3, selector=LabelSelector(match_labels=labels), template=template)
    await client.create(ReplicaSet(metadata=ObjectMeta(name="web"), spec=spec))
    await settles(lambda: there(client, 3))
    assert (await client.get(Pod, "orphan")).metadata.owner_references
    await client.patch(Pod, "orphan", MergePatch({"metadata": {"labels": {"app": "mine"}}}))
    await settles(lambda: there(client, 4))
    assert not (await client.get(Pod, "orphan")).metadata.owner_references
    await client.scale(ReplicaSet, "web", 0)
    await settles(lambda: there(client, 1))


async def there(client: Client, pods: int) -> bool:
    status = (await client.get(ReplicaSet, "web")).status
    pods_there = await client.list(Pod, namespace=client.namespace)
    return len(pods_there) == pods and status.replicas == min(pods, 3) * (pods > 1)


async def told(client: Client, reason: str) -> bool:
    return bool(await client.list(Event, namespace=client.namespace, fields={"reason": reason}))


@pytest.mark.parametrize(
    ("name", "work"),
    [("curl-me-that", curl), ("pod-restarter", restart), ("pod-locator", locate), ("replicaset", replicate)],
)
async def test_what_the_tutorial_names_is_enough(
    name: str,
    work: Callable[[Client, Options], Awaitable[None]],
    control_plane: ControlPlane,
    client: Client,
    caplog: pytest.LogCaptureFixture,
) -> None:
    app, rules = ROLES[name]
    await client.create(Role(metadata=ObjectMeta(name=name), rules=rules))
    binding = RoleBinding(
        metadata=ObjectMeta(name=name),
        role_ref=RoleRef(api_group="rbac.authorization.k8s.io", kind="Role", name=name),
        subjects=[Subject(api_group="rbac.authorization.k8s.io", kind="User", name=f"robot-{name}")],
    )
    await client.create(binding)
    options, stopping = Options(), asyncio.Event()
    options.put(curl_me_that.fetcher, Web())  # type: ignore[arg-type]
    config = load_config(control_plane.kubeconfig(f"robot-{name}", groups=[]))
    manager = Manager(app, config, namespaces=[client.namespace], options=options, listen=False)
    running = asyncio.create_task(manager.run(stopping))
    try:
        await work(client, options)
    finally:
        stopping.set()
        await running
    refused = [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]
    assert not [line for line in refused if "orbidden" in line]

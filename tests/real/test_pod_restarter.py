"""pod-restarter beside a real Deployment and a real PodDisruptionBudget, on fake nodes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest

from trimtab.client import Client, MergePatch, load_config
from trimtab.controller import Options
from trimtab.controllers.pod_restarter import MARK, MAX_DOWN, app
from trimtab.controllers.pod_restarter.change import RECORD
from trimtab.kube.apps.v1 import Deployment, DeploymentSpec
from trimtab.kube.conditions import is_condition_true
from trimtab.kube.core.v1 import ConfigMap, Container, Pod, PodSpec, PodTemplateSpec
from trimtab.kube.events.v1 import Event
from trimtab.kube.meta.v1 import LabelSelector, ObjectMeta
from trimtab.kube.policy.v1 import PodDisruptionBudget, PodDisruptionBudgetSpec
from trimtab.manager import Manager
from trimtab.testing.control_plane import ControlPlane

LABELS = {"app": "frontend"}


async def until(holds: Callable[[], Awaitable[bool]], what: str) -> None:
    try:
        async with asyncio.timeout(60):
            while not await holds():  # noqa: ASYNC110  # the cluster does it
                await asyncio.sleep(0.2)
    except TimeoutError:
        raise AssertionError(f"no {what} within a minute") from None


@pytest.fixture
async def cluster(control_plane_with_nodes: ControlPlane) -> AsyncIterator[Client]:
    """A client at home where three Pods of a Deployment run, and a ConfigMap is marked."""
    with control_plane_with_nodes.namespace() as namespace:
        async with Client(load_config(control_plane_with_nodes.kubeconfig()), namespace=namespace) as client:
            pod = PodTemplateSpec(
                metadata=ObjectMeta(labels=LABELS), spec=PodSpec(containers=[Container(name="web", image="nginx")])
            )
            spec = DeploymentSpec(replicas=3, selector=LabelSelector(match_labels=LABELS), template=pod)
            await client.create(Deployment(metadata=ObjectMeta(name="frontend"), spec=spec))
            settings = ObjectMeta(name="settings", annotations={MARK: ""})
            await client.create(ConfigMap(metadata=settings, data={"mode": "light"}))

            async def all_are_ready() -> bool:
                pods = await client.list(Pod, labels=LABELS)
                return len(pods) == 3 and all(is_condition_true(p.status.conditions, "Ready") for p in pods)

            await until(all_are_ready, "three Pods that are ready")
            yield client


@asynccontextmanager
async def working(plane: ControlPlane, client: Client, max_down: int = 1) -> AsyncIterator[None]:
    stopping = asyncio.Event()
    options = Options({MAX_DOWN: max_down})
    config = load_config(plane.kubeconfig())
    manager = Manager(app, config, namespaces=[client.namespace], options=options, listen=False)
    running = asyncio.create_task(manager.run(stopping))
    try:
        yield
    finally:
        stopping.set()
        await running


async def record(client: Client) -> str:
    return (await client.get(ConfigMap, "settings")).metadata.annotations.get(RECORD, "")


async def uids(client: Client) -> set[str]:
    return {pod.metadata.uid for pod in await client.list(Pod, labels=LABELS)}


async def test_a_disruption_budget_is_respected(control_plane_with_nodes: ControlPlane, cluster: Client) -> None:
    budget = PodDisruptionBudgetSpec(min_available=3, selector=LabelSelector(match_labels=LABELS))
    await cluster.create(PodDisruptionBudget(metadata=ObjectMeta(name="all"), spec=budget))

    async def budget_is_known() -> bool:
        return (await cluster.get(PodDisruptionBudget, "all")).status.current_healthy == 3

    async def told(reason: str) -> bool:
        return bool(await cluster.list(Event, fields={"regarding.name": "settings", "reason": reason}))

    async def is_done() -> bool:
        return "done" in await record(cluster)

    await until(budget_is_known, "budget")
    before = await uids(cluster)
    async with working(control_plane_with_nodes, cluster, max_down=3):
        await until(is_done, "first look")
        await cluster.patch(ConfigMap, "settings", MergePatch({"data": {"mode": "dark"}}))
        await until(lambda: told("Waiting"), "event that says why nothing happens")
        assert await uids(cluster) == before
        assert "restarting 3 Pods" in await record(cluster)
        await cluster.delete(PodDisruptionBudget, "all")
        await until(lambda: told("Restarted"), "end")
        assert not await uids(cluster) & before


async def test_one_after_the_other_and_those_made_since_stay(
    control_plane_with_nodes: ControlPlane, cluster: Client
) -> None:
    before = await uids(cluster)
    made: dict[str, bool] = {}  # every Pod since, and whether it was deleted
    down = most_down = 0

    async def watch() -> None:
        nonlocal down, most_down
        ready: dict[str, bool] = dict.fromkeys(before, True)
        listed = await cluster.list(Pod, labels=LABELS)
        async with cluster.watch(Pod, labels=LABELS, resource_version=listed.resource_version) as events:
            async for event in events:
                uid, pod = event.object.metadata.uid, event.object
                ready[uid] = event.type != "DELETED" and is_condition_true(pod.status.conditions, "Ready")
                ready[uid] = ready[uid] and not pod.metadata.deletion_timestamp
                made[uid] = event.type == "DELETED"
                down = 3 - sum(ready.values())
                most_down = max(most_down, down)

    async def is_seen() -> bool:
        return "done" in await record(cluster)

    async def is_done() -> bool:
        return "done" in await record(cluster) and all(made.get(uid) for uid in before)

    async with working(control_plane_with_nodes, cluster):
        await until(is_seen, "first look")
    watching = asyncio.create_task(watch())
    await cluster.patch(ConfigMap, "settings", MergePatch({"data": {"mode": "dark"}}))
    async with working(control_plane_with_nodes, cluster):
        await until(is_done, "end")
    watching.cancel()
    await asyncio.wait([watching])
    assert {uid for uid, deleted in made.items() if deleted} == before  # each once, and none of the new ones
    assert most_down == 1

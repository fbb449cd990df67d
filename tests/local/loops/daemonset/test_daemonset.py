"""DaemonSets on the server inside, in virtual time, with nodes that are there for their names, labels and taints."""

from __future__ import annotations

from typing import Any

import pytest
from tests.cache.samples import virtual
from tests.local.loops.world import START, World, template

from trimtab.controllers.replicaset.making import TemplateView
from trimtab.kube.apps.v1 import ControllerRevision, DaemonSet
from trimtab.kube.core.v1 import Node, Pod
from trimtab.kube.timestamps import format_time
from trimtab.kube.wire import from_wire, to_wire
from trimtab.local.loops.daemonset import app
from trimtab.local.loops.daemonset.placing import (
    DaemonPod,
    Limits,
    fill,
    limits_of,
    may_run,
    node_of,
    places_of,
    template_pod,
    update,
)


def daemon_set(**spec: Any) -> DaemonSet:
    body = {
        "metadata": {"name": "agent", "namespace": "default"},
        "spec": {"selector": {"matchLabels": {"app": "agent"}}, "template": template("agent"), **spec},
    }
    return from_wire(DaemonSet, body)


def node(name: str, *taints: tuple[str, str], **labels: str) -> Node:
    spec = {"taints": [{"key": key, "effect": effect} for key, effect in taints]}
    return from_wire(Node, {"metadata": {"name": name, "labels": labels}, "spec": spec})


@pytest.mark.parametrize(
    ("spec", "of_node", "expected"),
    [
        ({}, node("a"), (True, True)),
        ({}, node("a", ("x", "NoSchedule")), (False, True)),
        ({}, node("a", ("x", "NoExecute")), (False, False)),
        ({}, node("a", ("x", "PreferNoSchedule")), (True, True)),
        ({}, node("a", ("node.kubernetes.io/not-ready", "NoExecute")), (True, True)),
        ({}, node("a", ("node.kubernetes.io/network-unavailable", "NoSchedule")), (False, True)),
        ({"hostNetwork": True}, node("a", ("node.kubernetes.io/network-unavailable", "NoSchedule")), (True, True)),
        ({"tolerations": [{"operator": "Exists"}]}, node("a", ("x", "NoExecute")), (True, True)),
        ({"nodeSelector": {"disk": "ssd"}}, node("a"), (False, False)),
        ({"nodeSelector": {"disk": "ssd"}}, node("a", disk="ssd"), (True, True)),
    ],
)
def test_which_node_has_one(spec: dict[str, Any], of_node: Node, expected: tuple[bool, bool]) -> None:
    pod = template_pod(from_wire_template(spec))
    assert may_run(pod, of_node) == expected
    assert may_run(pod, of_node, "other") == (False, False)


def from_wire_template(spec: dict[str, Any]) -> Any:
    return from_wire(TemplateView, template("agent", **spec))


def test_a_node_that_is_closed_has_one_too() -> None:
    closed = node("a")
    closed.spec.unschedulable = True
    assert may_run(template_pod(from_wire_template({})), closed) == (True, True)


def pod(on: str, revision: str = "old", *, ready: bool = True, age: int = 0, going: bool = False) -> DaemonPod:
    """Its name is that of its node, and its age."""
    made = format_time(START.replace(minute=59 - age))
    meta: dict[str, Any] = {"name": f"{on}{age}", "uid": f"{on}{age}", "creationTimestamp": made}
    meta["labels"] = {"controller-revision-hash": revision}
    if going:
        meta["deletionTimestamp"] = made
    status = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True" if ready else "False"}]}
    return from_wire(DaemonPod, {"metadata": meta, "spec": {"nodeName": on}, "status": status})


YES = (True, True)


@pytest.mark.parametrize(
    ("pods", "create", "delete"),
    [
        ([], ["a", "b", "c"], []),
        ([pod("a"), pod("b")], ["c"], []),
        ([pod("a"), pod("b"), pod("c", going=True)], [], []),
        ([pod("a"), pod("b"), pod("c"), pod("d")], [], ["d0"]),  # no such node any more
        ([pod("a"), pod("a", age=5), pod("b"), pod("c")], [], ["a0"]),  # the older stays
    ],
)
def test_one_on_each_node(pods: list[DaemonPod], create: list[str], delete: list[str]) -> None:
    plan = fill(places_of({"a": YES, "b": YES, "c": YES}, pods), "old", Limits(1, 0), 0, START)
    assert plan.create == create
    assert [each.metadata.name for each in plan.delete] == delete


@pytest.mark.parametrize(
    ("limits", "pods", "delete"),
    [
        (Limits(1, 0), [pod("a"), pod("b"), pod("c")], ["a0"]),
        (Limits(2, 0), [pod("a"), pod("b"), pod("c")], ["a0", "b0"]),
        (Limits(1, 0), [pod("a", "new"), pod("b"), pod("c")], ["b0"]),
        (Limits(1, 0), [pod("a", "new", ready=False), pod("b"), pod("c")], []),
        (Limits(1, 0), [pod("a"), pod("b", ready=False), pod("c")], ["b0"]),  # who is down costs nothing
        (Limits(1, 0), [pod("b"), pod("c")], []),  # one is missing
        (Limits(1, 0, rolling=False), [pod("a"), pod("b"), pod("c")], []),
    ],
)
def test_an_update_without_surge(limits: Limits, pods: list[DaemonPod], delete: list[str]) -> None:
    plan = update(places_of({"a": YES, "b": YES, "c": YES}, pods), "new", limits, 0, START)
    assert [each.metadata.name for each in plan.delete] == delete
    assert plan.create == []


def test_an_update_with_surge() -> None:
    nodes = {"a": YES, "b": YES, "c": YES}
    limits = Limits(0, 1)
    before = [pod("a"), pod("b"), pod("c")]
    assert update(places_of(nodes, before), "new", limits, 0, START).create == ["a"]
    both = [*before, pod("a", "new", ready=False, age=1)]
    assert update(places_of(nodes, both), "new", limits, 0, START).create == []
    assert fill(places_of(nodes, both), "new", limits, 0, START).delete == []
    ready = [*before, pod("a", "new", age=1)]
    assert [p.metadata.name for p in fill(places_of(nodes, ready), "new", limits, 0, START).delete] == ["a0"]


@pytest.mark.parametrize(
    ("rolling", "expected"),
    [({}, (1, 0)), ({"maxUnavailable": "20%"}, (2, 0)), ({"maxSurge": 2, "maxUnavailable": 0}, (0, 2))],
)
def test_limits(rolling: dict[str, Any], expected: tuple[int, int]) -> None:
    found = limits_of(daemon_set(updateStrategy={"type": "RollingUpdate", "rollingUpdate": rolling}), 10)
    assert (found.unavailable, found.surge) == expected


async def add(world: World, made: Node) -> None:
    """A node that is ready: the taint that each new one gets is gone."""
    await world.client.create(made)
    taints = [{"key": each.key, "effect": each.effect} for each in made.spec.taints]
    await world.patch(Node, made.metadata.name, {"spec": {"taints": taints}})


async def agents(world: World) -> dict[str, str]:
    found = await world.client.list(Pod, namespace="default")
    views = [from_wire(DaemonPod, to_wire(each)) for each in found]
    return {node_of(view): each.spec.containers[0].image or "" for view, each in zip(views, found, strict=True)}


@virtual
async def test_nodes_come_and_go_and_an_update_passes_over_them() -> None:
    async with World(app) as w:
        for name in ("a", "b"):
            await add(w, node(name))
        await w.client.create(daemon_set())
        await w.passes()
        assert await agents(w) == {"a": "nginx", "b": "nginx"}
        await add(w, node("c"))
        await add(w, node("d", ("x", "NoSchedule")))
        await w.passes()
        assert sorted(await agents(w)) == ["a", "b", "c"]
        status = (await w.client.get(DaemonSet, "agent")).status
        numbers = (status.desired_number_scheduled, status.current_number_scheduled, status.number_ready)
        assert (*numbers, status.number_available, status.updated_number_scheduled) == (3, 3, 3, 3, 3)
        await w.client.delete(Node, "b")
        await w.passes()
        assert sorted(await agents(w)) == ["a", "c"]
        await w.patch(DaemonSet, "agent", {"spec": {"template": template("agent", image="nginx:2")}})
        await w.passes(0.5)
        assert sorted((await agents(w)).values()) in (["nginx", "nginx:2"], ["nginx"])
        await w.passes(10)
        assert await agents(w) == {"a": "nginx:2", "c": "nginx:2"}
        assert sorted(each.revision for each in await w.client.list(ControllerRevision)) == [1, 2]
        status = (await w.client.get(DaemonSet, "agent")).status
        assert (status.updated_number_scheduled, status.number_unavailable, status.observed_generation) == (2, 0, 2)


@virtual
async def test_one_that_fails_is_made_anew_later_each_time() -> None:
    async with World(app) as w:
        await add(w, node("a"))
        w.kubelet.outcome = lambda _: 1
        w.kubelet.ends_after = 0.5
        await w.client.create(daemon_set())
        await w.passes(60)
        told = len(w.said("FailedDaemonPod"))
        assert 4 <= told <= 8


@virtual
async def test_when_nothing_changes_nothing_is_written() -> None:
    async with World(app) as w:
        await add(w, node("a"))
        await w.client.create(daemon_set())
        await w.passes(30)
        before = w.server.store.revision
        w.queues["daemonset-controller"].add("default/agent")
        await w.passes(30)
        assert w.server.store.revision == before

"""The scheduler in a cluster: Pods get nodes, are told why not, and get one as soon as there is one."""

from __future__ import annotations

from typing import Any

from trimtab.client import MergePatch
from trimtab.kube.conditions import find_condition
from trimtab.kube.core.v1 import Node, PersistentVolumeClaim, Pod
from trimtab.kube.dynamic import dynamic
from trimtab.kube.events.v1 import Event
from trimtab.kube.wire import from_wire
from trimtab.local import Cluster


def pod(name: str, cpu: str = "", **spec: Any) -> Pod:
    container: dict[str, Any] = {"name": "c", "image": "i"}
    if cpu:
        container["resources"] = {"requests": {"cpu": cpu}}
    return from_wire(Pod, {"metadata": {"name": name}, "spec": {"containers": [container], **spec}})


def is_running(pod: Pod) -> bool:
    return pod.status.phase == "Running"


def is_told(reason: str) -> Any:
    def holds(pod: Pod) -> bool:
        condition = find_condition(pod.status.conditions, "PodScheduled")
        return condition is not None and condition.reason == reason

    return holds


async def test_pods_are_shared_out_and_told_of() -> None:
    async with Cluster(nodes=3) as cluster:
        for number in range(9):
            await cluster.client.create(pod(f"p{number}", "10m"))
        pods = await cluster.until_all(Pod, lambda pods: len(pods) == 9 and all(map(is_running, pods)))
        nodes = [each.spec.node_name for each in pods]
        assert {nodes.count(name) for name in ("node-1", "node-2", "node-3")} == {3}
        events = await cluster.until_all(
            Event, lambda events: sum(event.reason == "Scheduled" for event in events) == 9
        )
        told = next(event for event in events if event.reason == "Scheduled")
        assert (told.reporting_controller, told.action) == ("default-scheduler", "Binding")
        assert (told.note or "").startswith("Successfully assigned default/p")


async def test_who_finds_no_node_is_told_why_and_gets_one_when_it_can(cluster: Cluster) -> None:
    async with cluster:
        client = cluster.client
        await client.create(pod("big", "60"))
        await cluster.until(Pod, "big", is_running)
        await client.create(pod("waits", "10"))
        waits = await cluster.until(Pod, "waits", is_told("Unschedulable"))
        message = find_condition(waits.status.conditions, "PodScheduled")
        assert message is not None
        assert (message.message or "").startswith("0/1 nodes are available: 1 Insufficient cpu.")
        events = await cluster.until_all(Event, lambda events: any(e.reason == "FailedScheduling" for e in events))
        failed = next(event for event in events if event.reason == "FailedScheduling")
        assert (failed.regarding.name, failed.type) == ("waits", "Warning")
        await client.delete(Pod, "big")
        await cluster.until(Pod, "waits", is_running)


async def test_a_cordon_keeps_pods_away_until_it_is_lifted(cluster: Cluster) -> None:
    async with cluster:
        client = cluster.client
        await client.patch(Node, "node-1", MergePatch({"spec": {"unschedulable": True}}))
        await client.create(pod("p"))
        waits = await cluster.until(Pod, "p", is_told("Unschedulable"))
        condition = find_condition(waits.status.conditions, "PodScheduled")
        assert condition is not None
        assert "1 node(s) were unschedulable" in (condition.message or "")
        await client.patch(Node, "node-1", MergePatch({"spec": {"unschedulable": False}}))
        await cluster.until(Pod, "p", is_running)


async def test_gates_volumes_and_other_schedulers_are_waited_for(cluster: Cluster) -> None:
    async with cluster:
        client = cluster.client
        await client.create(pod("gated", schedulingGates=[{"name": "example.com/go"}]))
        await client.create(pod("theirs", schedulerName="other"))
        volume = {"name": "v", "persistentVolumeClaim": {"claimName": "data"}}
        await client.create(pod("stateful", volumes=[volume]))
        await cluster.until(Pod, "gated", is_told("SchedulingGated"))
        await cluster.until(Pod, "stateful", is_told("Unschedulable"))
        claim = {
            "metadata": {"name": "data"},
            "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
        }
        await client.create(from_wire(PersistentVolumeClaim, claim))
        await client.patch(
            PersistentVolumeClaim, "data", MergePatch({"status": {"phase": "Bound"}}), subresource="status"
        )
        await cluster.until(Pod, "stateful", is_running)
        await client.patch(Pod, "gated", MergePatch({"spec": {"schedulingGates": None}}))
        await cluster.until(Pod, "gated", is_running)
        theirs = await client.get(Pod, "theirs")
        assert not theirs.spec.node_name


async def test_the_more_important_takes_the_place_of_the_less_important(cluster: Cluster) -> None:
    important = dynamic("scheduling.k8s.io/v1", "PriorityClass")
    async with cluster:
        client = cluster.client
        await client.create(important({"metadata": {"name": "high"}, "value": 1000}))
        await client.create(pod("low", "60"))
        await cluster.until(Pod, "low", is_running)
        await client.create(pod("high", "60", priorityClassName="high"))
        await cluster.until(Pod, "high", is_running)
        await cluster.until_gone(Pod, "low")
        events = await cluster.until_all(Event, lambda events: any(e.reason == "Preempted" for e in events))
        assert any(event.regarding.name == "low" and event.reason == "Preempted" for event in events)

"""Simulated nodes in a cluster: they get ready, Pods on them run and go, and their logs can be read."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta

import pytest

from trimtab.client import MergePatch
from trimtab.kube.conditions import is_condition_true
from trimtab.kube.coordination.v1 import Lease
from trimtab.kube.core.v1 import Container, Node, Pod, PodSpec
from trimtab.kube.meta.v1 import ObjectMeta
from trimtab.kube.wire import to_wire
from trimtab.local import Cluster
from trimtab.local.budget import Budget
from trimtab.local.nodes.addresses import Addresses, NoAddress, free_network, host_address
from trimtab.local.nodes.logs import Logs

NOW = datetime(2026, 7, 1, 12, tzinfo=UTC)


def pod(name: str, node: str = "node-1", **annotations: str) -> Pod:
    notes = {f"trimtab.dev/{key.replace('_', '-')}": value for key, value in annotations.items()}
    spec = PodSpec(node_name=node, containers=[Container(name="web", image="nginx")])
    return Pod(metadata=ObjectMeta(name=name, annotations=notes), spec=spec)


def is_ready(obj: Node | Pod) -> bool:
    return is_condition_true(obj.status.conditions, "Ready")


async def test_nodes_get_ready_and_keep_their_lease_also_those_made_by_hand() -> None:
    async with Cluster(nodes=2) as cluster:
        await cluster.client.create(Node(metadata=ObjectMeta(name="by-hand")))
        nodes = await cluster.until_all(
            Node, lambda nodes: len(nodes) == 3 and all(is_ready(n) and not n.spec.taints for n in nodes)
        )
        assert len({node.spec.pod_cidr for node in nodes}) == 3
        assert len({node.status.addresses[0].address for node in nodes}) == 3
        lease = await cluster.until(Lease, "by-hand", namespace="kube-node-lease")
        assert lease.metadata.owner_references[0].kind == "Node"
        await cluster.client.patch(Node, "by-hand", MergePatch({"spec": {"unschedulable": True}}))
        await cluster.until(
            Node, "by-hand", lambda n: [t.key for t in n.spec.taints] == ["node.kubernetes.io/unschedulable"]
        )
        await cluster.client.patch(Node, "by-hand", MergePatch({"spec": {"unschedulable": None}}))
        await cluster.until(Node, "by-hand", lambda n: not n.spec.taints)


async def test_pods_run_each_with_its_address_and_go(cluster: Cluster) -> None:
    async with cluster:
        for number in range(20):
            await cluster.client.create(pod(f"p{number}"))
        pods = await cluster.until_all(Pod, lambda pods: len(pods) == 20 and all(map(is_ready, pods)))
        assert len({each.status.pod_ip for each in pods}) == 20
        await cluster.client.delete_all(Pod, namespace="default")
        await cluster.until_all(Pod, lambda pods: not pods)


async def test_a_pod_that_ends_stays_ended(cluster: Cluster) -> None:
    async with cluster:
        ending = pod("job", complete="now")
        ending.spec.restart_policy = "Never"
        await cluster.client.create(ending)
        done = await cluster.until(Pod, "job", lambda p: p.status.phase == "Succeeded")
        assert done.status.container_statuses[0].state.terminated is not None


async def test_a_log_follows_a_container_to_its_end() -> None:
    now = NOW
    logs = Logs(now=lambda: now)
    state = {"running": {"startedAt": "2026-07-01T11:59:48Z"}}
    body = to_wire(pod("a"))
    body["metadata"] |= {"uid": "u", "namespace": "default"}
    body["status"] = {"containerStatuses": [{"name": "web", "state": state, "lastState": {}}]}
    log = logs.log(body, "web", previous=False)
    assert log is not None
    assert len(log.lines) == 4, "who it is, and a line after five and after ten seconds"
    assert logs.log(body, "web", previous=True) is None
    assert logs.log(body, "other", previous=False) is None
    told: list[int] = []
    log.listeners.add(lambda: told.append(len(log.lines)))
    now = NOW + timedelta(seconds=4)
    ended = {"exitCode": 3, "startedAt": "2026-07-01T11:59:48Z", "finishedAt": "2026-07-01T12:00:04Z"}
    logs.changed("u", {"containerStatuses": [{"name": "web", "state": {"terminated": ended}}]})
    assert (log.ended, told) == (True, [6])
    assert log.lines[-1].text == b"ended with exit code 3"
    body["status"]["containerStatuses"][0] |= {"state": state, "lastState": {"terminated": ended}}
    before = logs.log(body, "web", previous=True)
    assert before is not None
    assert [line.text for line in before.lines] == [line.text for line in log.lines]


async def test_who_follows_a_log_is_woken_by_time() -> None:
    start = asyncio.get_running_loop().time()
    logs = Logs(now=lambda: NOW + timedelta(seconds=4.98 + asyncio.get_running_loop().time() - start))
    body = to_wire(pod("a", log="one\ntwo"))
    body["metadata"] |= {"uid": "u", "namespace": "default"}
    status = {"name": "web", "state": {"running": {"startedAt": "2026-07-01T12:00:00Z"}}}
    log = logs.log({**body, "status": {"containerStatuses": [status]}}, "web", previous=False)
    assert log is not None
    assert [line.text for line in log.lines] == [b"one", b"two"]
    woken = asyncio.Event()
    log.listeners.add(woken.set)
    async with asyncio.timeout(5):
        await woken.wait()
    assert len(log.lines) == 3
    logs.ended("u")
    assert log.ended


def test_addresses_are_given_once_and_come_back() -> None:
    network = free_network(["10.128.0.0/22"])
    assert (network, host_address(network), host_address("10.128.0.0/22")) == (
        "10.128.4.0/22",
        "172.18.0.3",
        "172.18.0.2",
    )
    addresses = Addresses()
    given = {addresses.take(f"d/p{n}", f"u{n}", "10.0.0.0/29") for n in range(5)}
    assert given == {f"10.0.0.{n}" for n in range(2, 7)}
    with pytest.raises(NoAddress):
        addresses.take("d/more", "u", "10.0.0.0/29")
    addresses.release("d/p3")
    assert addresses.take("d/more", "u", "10.0.0.0/29") in given
    assert addresses.take("d/more", "u", "10.0.0.0/29") == addresses.take("d/more", "u", "10.0.0.0/29")


def test_events_are_told_as_a_kubelet_would_hundred_at_once_and_fifty_a_second() -> None:
    budget = Budget()
    assert sum(budget.allows(NOW) for _ in range(300)) == 100
    assert sum(budget.allows(NOW + timedelta(seconds=1)) for _ in range(300)) == 50

"""Pods leave nodes: those that are gone, tainted, drained."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from trimtab.client import MergePatch
from trimtab.kube.core.v1 import Node, Pod, Taint, Toleration
from trimtab.kube.wire import from_wire
from trimtab.local import Cluster
from trimtab.local.loops.taint_eviction import seconds_left

NOW = datetime(2026, 7, 1, 12, tzinfo=UTC)


def pod(name: str, **spec: Any) -> Pod:
    return from_wire(Pod, {"metadata": {"name": name}, "spec": {"containers": [{"name": "c", "image": "i"}], **spec}})


def is_running(pod: Pod) -> bool:
    return pod.status.phase == "Running"


@pytest.mark.parametrize(
    ("tolerations", "left"),
    [
        ([], 0.0),
        ([Toleration(operator="Exists")], None),
        ([Toleration(key="k", operator="Exists", toleration_seconds=300)], 240.0),
        ([Toleration(key="k", operator="Exists", toleration_seconds=30)], -30.0),
        ([Toleration(key="other", operator="Exists")], 0.0),
    ],
)
def test_how_long_a_pod_may_stay(tolerations: list[Toleration], left: float | None) -> None:
    taint = Taint(key="k", effect="NoExecute", time_added=NOW - timedelta(minutes=1))
    assert seconds_left(tolerations, [taint], NOW) == left


async def test_pods_leave_a_tainted_node_and_go_with_one_that_is_gone() -> None:
    async with Cluster(nodes=2) as cluster:
        client = cluster.client
        everything = [{"operator": "Exists"}]
        await client.create(pod("stays", nodeName="node-1", tolerations=everything))
        await client.create(pod("leaves", nodeName="node-1"))
        await client.create(pod("elsewhere", nodeName="node-2"))
        await cluster.until_all(Pod, lambda pods: len(pods) == 3 and all(map(is_running, pods)))
        taint = {"key": "team", "value": "red", "effect": "NoExecute"}
        await client.patch(Node, "node-1", MergePatch({"spec": {"taints": [taint]}}))
        await cluster.until_gone(Pod, "leaves")
        await client.delete(Node, "node-2")
        await cluster.until_gone(Pod, "elsewhere")
        assert [each.metadata.name for each in await client.list(Pod)] == ["stays"]

"""Nodes without machines: kwok keeps them ready, and lets every Pod that is scheduled to one run (a Job's complete)."""

from typing import Any


def fake_node(name: str) -> dict[str, Any]:
    """Describe a node with plenty of room."""
    room = {"cpu": "1k", "memory": "1Ti", "pods": "1M"}
    labels = {
        "kubernetes.io/arch": "amd64",
        "kubernetes.io/hostname": name,
        "kubernetes.io/os": "linux",
        "type": "kwok",
    }
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels, "annotations": {"kwok.x-k8s.io/node": "fake"}},
        "status": {"allocatable": room, "capacity": room},
    }


def is_ready(node: dict[str, Any]) -> bool:
    """Whether Pods can be scheduled to it: it reports ready, and the taint of a new node is gone."""
    conditions = node.get("status", {}).get("conditions", [])
    ready = any(condition["type"] == "Ready" and condition["status"] == "True" for condition in conditions)
    return ready and not node["spec"].get("taints")

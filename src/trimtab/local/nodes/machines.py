"""What a simulated node says of itself."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, Final, TypeAlias

from trimtab import __version__
from trimtab.kube.core.v1 import Node
from trimtab.kube.timestamps import format_time
from trimtab.kube.wire import to_wire

Json: TypeAlias = dict[str, Any]

ROOM: Final[Mapping[str, str]] = {
    "cpu": "64", "memory": "256Gi", "ephemeral-storage": "1Ti", "hugepages-1Gi": "0", "hugepages-2Mi": "0",
    "pods": "1000",
}  # fmt: skip
"""What a node has, unless its status says otherwise already."""
HEARTBEAT: Final = timedelta(minutes=5)
"""How often a node's status is written although nothing changed, as a kubelet does."""

_OS, _ARCHITECTURE = "linux", "amd64"
_KUBELET: Final = 10250
_WELL: Final = {
    "MemoryPressure": ("False", "KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
    "DiskPressure": ("False", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
    "PIDPressure": ("False", "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
    "Ready": ("True", "KubeletReady", "kubelet is posting ready status"),
}


def labels_of(name: str) -> dict[str, str]:
    """The labels that every node has."""
    made = {"kubernetes.io/hostname": name}
    for prefix in ("", "beta."):
        made |= {f"{prefix}kubernetes.io/os": _OS, f"{prefix}kubernetes.io/arch": _ARCHITECTURE}
    return made


def status_of(node: Node, host: str, version: str, now: datetime) -> Json | None:
    """The fields of its status that are to be set; None where all is told, and lately enough."""
    before: Json = to_wire(node.status)
    conditions = _conditions(before.get("conditions") or [], now)
    wanted: Json = {
        "addresses": [{"type": "InternalIP", "address": host}, {"type": "Hostname", "address": node.metadata.name}],
        "capacity": before.get("capacity") or dict(ROOM),
        "allocatable": before.get("allocatable") or before.get("capacity") or dict(ROOM),
        "daemonEndpoints": {"kubeletEndpoint": {"Port": _KUBELET}},
        "nodeInfo": _info(node, version),
    }
    if conditions is not None:
        wanted["conditions"] = conditions
    changed = {name: value for name, value in wanted.items() if before.get(name) != value}
    return changed or None


def lease_of(now: str, seconds: int, holder: str) -> Json:
    """The spec of a node's lease."""
    return {"holderIdentity": holder, "leaseDurationSeconds": seconds, "renewTime": now}


def _conditions(there: list[Json], now: datetime) -> list[Json] | None:
    """The conditions as they should be; None where they are so."""
    before = {each["type"]: each for each in there}
    oldest, stamp = format_time(now - HEARTBEAT), format_time(now)
    told = [before.get(name) for name in _WELL]
    right = all(each is not None and each["status"] == _WELL[each["type"]][0] for each in told)
    if right and all(each is not None and each.get("lastHeartbeatTime", "") > oldest for each in told):
        return None
    made: list[Json] = []
    for name, (status, reason, message) in _WELL.items():
        was = before.get(name) or {}
        since = was.get("lastTransitionTime") if was.get("status") == status else None
        made.append(
            {
                "type": name, "status": status, "reason": reason, "message": message, "lastHeartbeatTime": stamp,
                "lastTransitionTime": since or stamp,
            }
        )  # fmt: skip
    return made + [each for each in there if each["type"] not in _WELL]


def _info(node: Node, version: str) -> Json:
    number = node.metadata.uid
    return {
        "architecture": _ARCHITECTURE, "bootID": number, "containerRuntimeVersion": f"trimtab://{__version__}",
        "kernelVersion": "none", "kubeletVersion": version,
        "machineID": number.replace("-", ""), "operatingSystem": _OS, "osImage": "Trimtab, simulated",
        "systemUUID": number,
    }  # fmt: skip

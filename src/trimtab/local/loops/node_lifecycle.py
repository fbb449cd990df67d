"""What is wrong with a node stands in its taints, so that the scheduler keeps away: conditions, and being cordoned."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, TypeAlias

from trimtab.client import Conflict, MergePatch, NotFound
from trimtab.controller import App, Context
from trimtab.kube.conditions import find_condition
from trimtab.kube.core.v1 import Node, Taint
from trimtab.kube.timestamps import format_time
from trimtab.kube.wire import to_wire

Json: TypeAlias = dict[str, Any]

app = App("node-lifecycle-controller")

_PREFIX: Final = "node.kubernetes.io/"
_PRESSURES: Final[Mapping[str, str]] = {
    "MemoryPressure": "memory-pressure",
    "DiskPressure": "disk-pressure",
    "PIDPressure": "pid-pressure",
    "NetworkUnavailable": "network-unavailable",
}
_KEPT: Final = {
    *((f"{_PREFIX}{name}", "NoSchedule") for name in _PRESSURES.values()),
    *((f"{_PREFIX}{name}", effect) for name in ("not-ready", "unreachable") for effect in ("NoSchedule", "NoExecute")),
    (f"{_PREFIX}unschedulable", "NoSchedule"),
}


def taints_of(node: Node) -> set[tuple[str, str]]:
    """The taints that a node has to have because of its state: key and effect."""
    found: set[tuple[str, str]] = set()
    ready = find_condition(node.status.conditions, "Ready")
    if ready is None or ready.status == "False":
        found.add((f"{_PREFIX}not-ready", "NoSchedule"))
    elif ready.status == "Unknown":
        found.add((f"{_PREFIX}unreachable", "NoSchedule"))
    if ready is not None and ready.status != "True":
        found.add((f"{_PREFIX}{'not-ready' if ready.status == 'False' else 'unreachable'}", "NoExecute"))
    for condition in node.status.conditions:
        if condition.type in _PRESSURES and condition.status == "True":
            found.add((f"{_PREFIX}{_PRESSURES[condition.type]}", "NoSchedule"))
    if node.spec.unschedulable:
        found.add((f"{_PREFIX}unschedulable", "NoSchedule"))
    return found


def changed_taints(node: Node, stamp: str) -> list[Json] | None:
    """All taints as they should be; None where they are so. Those of others stay."""
    wanted = taints_of(node)
    there = {(taint.key, taint.effect) for taint in node.spec.taints}
    if wanted <= there and not (there - wanted) & _KEPT:
        return None
    kept: list[Taint] = [t for t in node.spec.taints if (t.key, t.effect) in wanted or (t.key, t.effect) not in _KEPT]
    new = sorted(wanted - {(taint.key, taint.effect) for taint in kept})
    made: list[Json] = [to_wire(taint) for taint in kept]
    for key, effect in new:
        made.append({"key": key, "effect": effect, "timeAdded": stamp})
    return made


@app.controller(Node, name=app.name)
async def node_lifecycle(node: Node, ctx: Context) -> None:
    """Put the taints on a node that its state asks for, and take off those that it does not."""
    taints = changed_taints(node, format_time(ctx.now()))
    if taints is None:
        return
    meta = node.metadata
    version = {"uid": meta.uid, "resourceVersion": meta.resource_version}
    try:
        await ctx.patch(Node, meta.name, MergePatch({"metadata": version, "spec": {"taints": taints or None}}))
    except (Conflict, NotFound):
        return  # it changed meanwhile, and comes again

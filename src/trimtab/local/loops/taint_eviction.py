"""Pods leave a node with a NoExecute taint that they do not put up with, or not for longer than they say."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Final

from trimtab.controller import App, Context, Requeue, requeue
from trimtab.kube.core.v1 import Node, Pod, Taint, Toleration
from trimtab.local.scheduling.tainted import tolerates

app = App("taint-eviction-controller")

_NO_EXECUTE: Final = "NoExecute"
_DELETING: Final = "TaintManagerEviction"


def seconds_left(tolerations: Iterable[Toleration], taints: Iterable[Taint], now: datetime) -> float | None:
    """For how long a Pod may stay: None for ever, zero or less not at all."""
    given = list(tolerations)
    left: list[float] = []
    for taint in taints:
        bearing = [one for one in given if tolerates([one], taint)]
        if not bearing:
            return 0.0
        limits = [one.toleration_seconds for one in bearing if one.toleration_seconds is not None]
        if limits:
            since = taint.time_added or now
            left.append(min(limits) - (now - since).total_seconds())
    return min(left, default=None)


@app.controller(
    Node,
    name=app.name,
    where=lambda node: any(taint.effect == _NO_EXECUTE for taint in node.spec.taints),
    reads=[Pod],
    writes=[Pod],
)
async def taint_eviction(node: Node, ctx: Context) -> Requeue | None:
    """Have the Pods of a Node go that may not stay, and look again when the next one may not."""
    taints = [taint for taint in node.spec.taints if taint.effect == _NO_EXECUTE]
    later: list[float] = []
    for pod in ctx.list(Pod):
        if pod.spec.node_name != node.metadata.name or pod.metadata.deletion_timestamp:
            continue
        left = seconds_left(pod.spec.tolerations, taints, ctx.now())
        if left is None:
            continue
        if left > 0:
            later.append(left)
            continue
        where = f"{pod.metadata.namespace}/{pod.metadata.name}"
        ctx.event("Normal", _DELETING, f"Marking for deletion Pod {where}", action="Deleting", regarding=pod)
        await ctx.delete(pod)
    return requeue(after=min(later)) if later else None

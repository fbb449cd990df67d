"""The Pods of a node that is gone go too: nobody else would ever end them."""

from __future__ import annotations

from trimtab.controller import App, Context
from trimtab.kube.core.v1 import Node, Pod

app = App("pod-garbage-collector-controller")


async def gone(node: str, ctx: Context) -> None:
    """A Node is gone."""
    for pod in ctx.list(Pod):
        if pod.spec.node_name == node:
            await ctx.delete(pod, grace_period_seconds=0)


@app.controller(Node, name=app.name, reads=[Pod], writes=[Pod], gone=gone)
async def pod_garbage(node: Node, ctx: Context) -> None:
    """As long as a Node is there, its Pods are its own affair."""

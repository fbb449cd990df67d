"""The kubelet of all simulated nodes: one app that keeps Nodes ready and lets the Pods on them live.

Every Node of a local cluster is simulated, those too that somebody creates by hand.
"""

from __future__ import annotations

from contextlib import suppress
from datetime import datetime, timedelta
from typing import Final

from trimtab.client import AlreadyExists, Client, Conflict, MergePatch, NotFound
from trimtab.controller import App, Context, Options, Requeue, requeue
from trimtab.kube.coordination.v1 import Lease
from trimtab.kube.core.v1 import Node, NodeSpec, Pod
from trimtab.kube.meta.v1 import ObjectMeta
from trimtab.kube.timestamps import format_micro_time
from trimtab.kube.wire import from_wire
from trimtab.local.budget import Budget
from trimtab.local.nodes.addresses import Addresses, NoAddress, free_network, host_address
from trimtab.local.nodes.lives import Next, Place, next_of
from trimtab.local.nodes.logs import Logs
from trimtab.local.nodes.machines import labels_of, lease_of, status_of

app = App("kubelet")

LEASES: Final = "kube-node-lease"
_LEASE_SECONDS: Final = 40
_RENEW_SECONDS: Final = 10.0
_LEASE_MARGIN: Final = timedelta(seconds=1)


class Renewals:
    """When each node's lease was renewed, and what version nodes say that they are of."""

    def __init__(self, _: Options | None = None) -> None:
        self.at: dict[str, datetime] = {}
        self.version = ""


# Pods


async def forget(key: str, ctx: Context) -> None:
    """The Pod is gone."""
    ctx.once(Addresses).release(key)


@app.controller(Pod, name=app.name, reads=[Node], gone=forget, workers=4)
async def kubelet(pod: Pod, ctx: Context) -> Requeue | None:
    """Let a Pod live, if it is on a node."""
    name = pod.spec.node_name
    if not name:
        return None
    node = ctx.find(Node, name)
    network = node.spec.pod_cidr if node is not None else None
    if not network:
        return requeue(after=1.0) if node is not None else requeue(after=_RENEW_SECONDS)
    addresses = _addresses(ctx)

    def address() -> str:
        return addresses.take(ctx.key, pod.metadata.uid, network)

    now = ctx.now()
    try:
        coming = next_of(pod, Place(host_address(network), address), now)
    except NoAddress as error:
        ctx.event("Warning", "FailedCreatePodSandBox", str(error))
        return requeue()
    await _write(pod, coming, ctx)
    return requeue(after=coming.after) if coming.after is not None else None


async def _write(pod: Pod, coming: Next, ctx: Context) -> None:
    meta = pod.metadata
    if coming.gone:
        ctx.once(Logs).ended(meta.uid)
        await ctx.delete(pod, grace_period_seconds=0)
    elif coming.status is not None:
        version = {"uid": meta.uid, "resourceVersion": meta.resource_version}
        patch = MergePatch({"metadata": version, "status": coming.status})
        try:
            await ctx.patch(Pod, meta.name, patch, namespace=meta.namespace, subresource="status")
        except (Conflict, NotFound):
            return  # it changed meanwhile, and comes again
        ctx.once(Logs).changed(meta.uid, coming.status)
    budget = ctx.once(Budget)
    for kind, reason, message in coming.events:
        if budget.allows(ctx.now()):
            ctx.event("Warning" if kind == "Warning" else "Normal", reason, message, action=reason)


def _addresses(ctx: Context) -> Addresses:
    addresses = ctx.once(Addresses)
    if not addresses.complete:  # the first Pod of a run: others are there already
        for each in ctx.list(Pod):
            if each.status.pod_ip and not each.spec.host_network:
                meta = each.metadata
                addresses.claim(f"{meta.namespace}/{meta.name}", meta.uid, each.status.pod_ip)
        addresses.complete = True
    return addresses


# Nodes


async def add_nodes(client: Client, count: int) -> None:
    """Make the Nodes of a new cluster: `node-1`, `node-2`. Those that are there already stay."""
    there = {node.metadata.name: node.spec.pod_cidr or "" for node in await client.list(Node)}
    for number in range(1, count + 1):
        name = f"node-{number}"
        if name not in there:
            there[name] = network = free_network(there.values())
            spec = NodeSpec(pod_cidr=network, pod_cidrs=[network])
            await client.create(Node(metadata=ObjectMeta(name=name, labels=labels_of(name)), spec=spec))


async def node_gone(key: str, ctx: Context) -> None:
    """The Node is gone."""
    ctx.once(Renewals).at.pop(key, None)


@app.controller(Node, name="node-status", known_as=app.name, writes=[Lease], gone=node_gone)
async def node_status(node: Node, ctx: Context) -> Requeue | None:
    """Keep a Node ready: its network, its status, its lease."""
    if node.metadata.deletion_timestamp:
        return None
    network = node.spec.pod_cidr
    try:
        if not network:
            await _introduce(node, ctx)
            return None
        renewals = ctx.once(Renewals)
        renewals.version = renewals.version or (await ctx.client.version()).git_version
        status = status_of(node, host_address(network), renewals.version, ctx.now())
        if status is not None:
            uid = {"uid": node.metadata.uid}
            await ctx.patch(
                Node, node.metadata.name, MergePatch({"metadata": uid, "status": status}), subresource="status"
            )
        await _renew(node, ctx, renewals)
    except (Conflict, NotFound):
        return requeue()
    return requeue(after=_RENEW_SECONDS)


async def _introduce(node: Node, ctx: Context) -> None:
    """Give a new Node its network, and the labels that every node has."""
    name = node.metadata.name
    network = free_network(each.spec.pod_cidr for each in ctx.list(Node) if each.spec.pod_cidr)
    labels = {**labels_of(name), **node.metadata.labels}
    body = {
        "metadata": {"uid": node.metadata.uid, "labels": labels},
        "spec": {"podCIDR": network, "podCIDRs": [network]},
    }
    await ctx.patch(Node, name, MergePatch(body))


async def _renew(node: Node, ctx: Context, renewals: Renewals) -> None:
    """Renew the lease by which others see that a node is alive."""
    name, now = node.metadata.name, ctx.now()
    last = renewals.at.get(name)
    if last is not None and now - last < timedelta(seconds=_RENEW_SECONDS) - _LEASE_MARGIN:
        return
    spec = lease_of(format_micro_time(now), _LEASE_SECONDS, name)
    try:
        await ctx.patch(Lease, name, MergePatch({"spec": spec}), namespace=LEASES)
    except NotFound:
        owner = {"apiVersion": "v1", "kind": "Node", "name": name, "uid": node.metadata.uid}
        meta = {"name": name, "namespace": LEASES, "ownerReferences": [owner]}
        with suppress(AlreadyExists):
            await ctx.create(from_wire(Lease, {"metadata": meta, "spec": spec}))
    renewals.at[name] = now

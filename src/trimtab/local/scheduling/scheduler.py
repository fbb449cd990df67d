"""The scheduler: it keeps the board as the cluster is, and binds Pods to the nodes that are chosen."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, TypeAlias

from trimtab.client import ApiError, Conflict, MergePatch, NotFound
from trimtab.controller import App, Context, Options
from trimtab.kube.conditions import find_condition
from trimtab.kube.core.v1 import Namespace, Node, PersistentVolume, PersistentVolumeClaim, Pod
from trimtab.kube.storage.v1 import StorageClass
from trimtab.kube.timestamps import format_time
from trimtab.kube.wire import to_wire
from trimtab.local.budget import Budget
from trimtab.local.loops.volumes.matching import SELECTED_NODE, WAITS, class_of
from trimtab.local.scheduling.board import Board
from trimtab.local.scheduling.deciding import Decision, decide
from trimtab.local.scheduling.preempting import Preemption, preempt
from trimtab.local.scheduling.wanted import Wanted, places_of, wanted_of

Json: TypeAlias = dict[str, Any]

app = App("default-scheduler")

_ENDED: Final = ("Succeeded", "Failed")
_AT_A_TIME: Final = 16  # Pods that are bound before others have their turn
_READS: Final = (Node, Namespace, PersistentVolume, PersistentVolumeClaim, StorageClass)
_GATED: Final = "Scheduling is blocked due to non-empty scheduling gates"


class Turn:
    """One Pod is scheduled at a time, whoever brings it up."""

    def __init__(self, _: Options | None = None) -> None:
        self.taken = False


def waits_for_pods(claim: PersistentVolumeClaim, classes: Mapping[str, StorageClass]) -> bool:
    """Whether a claim gets its volume when a Pod that uses it has a node."""
    made_by = classes.get(class_of(claim) or "")
    return made_by is not None and made_by.volume_binding_mode == WAITS


def claims_problem(
    pod: Wanted, claims: Mapping[str, PersistentVolumeClaim], classes: Mapping[str, StorageClass]
) -> str:
    """What is wrong with the volumes that a Pod wants, whatever the node."""
    for name in pod.claims:
        claim = claims.get(name)
        if claim is None:
            return f'persistentvolumeclaim "{name}" not found'
        if claim.metadata.deletion_timestamp:
            return f'persistentvolumeclaim "{name}" is being deleted'
        if claim.status.phase != "Bound" and not waits_for_pods(claim, classes):
            return "pod has unbound immediate PersistentVolumeClaims"
    return ""


def failed_condition(pod: Pod, reason: str, message: str, now: str) -> list[Json] | None:
    """The Pod's conditions with the news that it has no node; None where they say so already."""
    before = find_condition(pod.status.conditions, "PodScheduled")
    made: Json = {"type": "PodScheduled", "status": "False", "reason": reason, "message": message}
    if before is not None:
        if (before.status, before.reason, before.message) == ("False", reason, message):
            return None
        if before.status == "False" and before.last_transition_time is not None:
            now = format_time(before.last_transition_time)
    made["lastTransitionTime"] = now
    if pod.metadata.generation:
        made["observedGeneration"] = pod.metadata.generation
    return [to_wire(each) for each in pod.status.conditions if each.type != "PodScheduled"] + [made]


async def forget(key: str, ctx: Context) -> None:
    """The Pod is gone, and its room is free."""
    board = ctx.once(Board)
    board.stop_waiting(key)
    board.remove(key)
    await _schedule(ctx)


@app.controller(Pod, name=app.name, reads=_READS, gone=forget)
async def scheduler(pod: Pod, ctx: Context) -> None:
    """Take note of where a Pod is, or find a node for it."""
    board, key = ctx.once(Board), ctx.key
    if pod.spec.node_name:
        if pod.status.phase in _ENDED:
            board.stop_waiting(key)
            board.remove(key)
        else:
            board.place(wanted_of(pod), pod.spec.node_name)
    elif pod.metadata.deletion_timestamp or pod.spec.scheduler_name not in (None, "", app.name):
        board.stop_waiting(key)
    elif pod.spec.scheduling_gates:
        board.stop_waiting(key)
        await _tell(pod, "SchedulingGated", _GATED, ctx)
    else:
        board.wait(wanted_of(pod))
    await _schedule(ctx)


async def node_gone(name: str, ctx: Context) -> None:
    """The Node is gone."""
    ctx.once(Board).remove_node(name)
    await _schedule(ctx)


@app.controller(Node, name="nodes", known_as=app.name, reads=[Pod, *_READS], writes=[Pod], gone=node_gone)
async def nodes(node: Node, ctx: Context) -> None:
    """Take note of a Node, and try again who waits for one."""
    board = ctx.once(Board)
    changes = board.changes
    board.set_node(node)
    if board.changes != changes:
        await _schedule(ctx)


@app.controller(PersistentVolumeClaim, name="claims", known_as=app.name, reads=[Pod, *_READS], writes=[Pod])
async def claims(claim: PersistentVolumeClaim, ctx: Context) -> None:
    """Try again who waits for volumes, when there is one."""
    board = ctx.once(Board)
    key = claim.metadata.name
    waiting = (pod for pod in board.waiting.values() if pod.namespace == ctx.namespace)
    if claim.metadata.deletion_timestamp is None and any(key in pod.claims for pod in waiting):
        board.changes += 1
        await _schedule(ctx)


async def _schedule(ctx: Context) -> None:
    """Find nodes for those who wait, as long as there is anything new to be tried."""
    board, turn = ctx.once(Board), ctx.once(Turn)
    if turn.taken or not board.waiting:
        return  # whoever has the turn goes on until nobody is left to be tried
    turn.taken = True
    count = 0
    try:
        while (pod := board.next()) is not None:
            await _try(pod, board, ctx)
            count += 1
            if count % _AT_A_TIME == 0:
                await asyncio.sleep(0)
    finally:
        turn.taken = False


async def _try(wanted: Wanted, board: Board, ctx: Context) -> None:
    namespace, _, name = wanted.key.partition("/")
    board.tried[wanted.key] = board.changes
    pod = ctx.find(Pod, name, namespace=namespace)
    if pod is None or pod.metadata.uid != wanted.uid or pod.spec.node_name:
        board.stop_waiting(wanted.key)
        return
    if any(each.in_namespaces is not None for each in (*wanted.near, *wanted.far)) or board.repelling:
        board.namespaces = {each.metadata.name: each.metadata.labels for each in ctx.list(Namespace)}
    problem, unbound = "", list[PersistentVolumeClaim]()
    if wanted.claims:
        claims = {each.metadata.name: each for each in ctx.list(PersistentVolumeClaim, namespace=namespace)}
        classes = {each.metadata.name: each for each in ctx.list(StorageClass)}
        problem = claims_problem(wanted, claims, classes)
        mine = [claims[name] for name in wanted.claims if name in claims]
        unbound = [claim for claim in mine if claim.status.phase != "Bound"]
        bound = (ctx.find(PersistentVolume, claim.spec.volume_name or "") for claim in mine)
        places = (places_of(volume) for volume in bound if volume is not None)
        wanted = replace(wanted, volumes=tuple(each for each in places if each is not None))
    decision = decide(wanted, board, problem)
    if decision.node and unbound:
        await _announce(unbound, decision.node, ctx)
    elif decision.node:
        await _bind(pod, wanted, decision.node, board, ctx)
    else:
        await _explain(pod, wanted, decision, board, ctx)


async def _announce(claims: Sequence[PersistentVolumeClaim], node: str, ctx: Context) -> None:
    """Say where the volumes of a Pod are to be; when they are there, it is its turn again."""
    for claim in claims:
        meta = claim.metadata
        if meta.annotations.get(SELECTED_NODE) == node:
            continue
        version = {"uid": meta.uid, "resourceVersion": meta.resource_version}
        patch = MergePatch({"metadata": {**version, "annotations": {SELECTED_NODE: node}}})
        try:
            await ctx.patch(PersistentVolumeClaim, meta.name, patch, namespace=meta.namespace)
        except (Conflict, NotFound):
            continue  # it changed meanwhile, and brings the Pod up again


async def _bind(pod: Pod, wanted: Wanted, node: str, board: Board, ctx: Context) -> None:
    meta = pod.metadata
    board.place(wanted, node)
    try:
        await ctx.client.bind(meta.name, node, namespace=meta.namespace, uid=meta.uid)
    except (Conflict, NotFound):
        board.remove(wanted.key)  # gone, or bound by somebody else: the cache will know soon
    except ApiError as error:
        board.remove(wanted.key)
        board.wait(wanted)
        board.tried[wanted.key] = board.changes  # not again at once, but when something changes
        ctx.event("Warning", "FailedScheduling", f"Binding rejected: {error}", action="Binding", regarding=pod)
    else:
        if ctx.once(Budget).allows(ctx.now()):
            said = f"Successfully assigned {wanted.key} to {node}"
            ctx.event("Normal", "Scheduled", said, action="Binding", regarding=pod)


async def _explain(pod: Pod, wanted: Wanted, decision: Decision, board: Board, ctx: Context) -> None:
    """Say why there is no node for a Pod, and have others make room if they are less important."""
    found = preempt(wanted, board, decision) if wanted.key not in board.nominated else None
    message = decision.message(len(board.machines))
    if await _tell(pod, "Unschedulable", message, ctx, nominated=found.node if found else ""):
        ctx.event("Warning", "FailedScheduling", message, action="Scheduling", regarding=pod)
    if found is not None:
        board.nominated[wanted.key] = found.node, wanted
        await _make_room(pod, found, ctx)


async def _make_room(pod: Pod, found: Preemption, ctx: Context) -> None:
    said = f"Preempted by pod {pod.metadata.uid} on node {found.node}"
    for namespace, name in (victim.key.split("/") for victim in found.victims):
        victim = ctx.find(Pod, name, namespace=namespace)
        if victim is None or victim.metadata.deletion_timestamp:
            continue
        ctx.event("Normal", "Preempted", said, action="Preempting", regarding=victim, related=pod)
        await ctx.delete(victim)


async def _tell(pod: Pod, reason: str, message: str, ctx: Context, *, nominated: str = "") -> bool:
    """Write it down at the Pod; False where it stands there already."""
    conditions = failed_condition(pod, reason, message, format_time(ctx.now()))
    status: Json = {} if conditions is None else {"conditions": conditions}
    if nominated and pod.status.nominated_node_name != nominated:
        status["nominatedNodeName"] = nominated
    if not status:
        return False
    meta = pod.metadata
    body = {"metadata": {"uid": meta.uid, "resourceVersion": meta.resource_version}, "status": status}
    try:
        await ctx.patch(Pod, meta.name, MergePatch(body), namespace=meta.namespace, subresource="status")
    except (Conflict, NotFound):
        return False  # it changed meanwhile, and comes again
    return True

"""DaemonSets: one Pod on each node that will have it, and a rolling update of them node by node.

`placing.py` decides which node wants a Pod and which Pod goes; `history.py` beside keeps the templates.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from functools import partial
from typing import Any

from trimtab.controller import App, Context, Options, Requeue, everyone, requeue, selected_by
from trimtab.controllers.replicaset import SOON, create_one, delete_one, is_settled
from trimtab.controllers.replicaset.claiming import claim
from trimtab.controllers.replicaset.making import NewPod, Templated, TemplateView, dice, pod_of
from trimtab.controllers.replicaset.memory import Memory, place
from trimtab.controllers.replicaset.pods import first_available
from trimtab.controllers.replicaset.slow_start import at_once, slow_start
from trimtab.kube.apps.v1 import ControllerRevision, DaemonSet
from trimtab.kube.core.v1 import Node, Pod
from trimtab.kube.selectors import Selector
from trimtab.kube.wire import to_wire
from trimtab.local.loops.daemonset.placing import (
    DaemonPod,
    Place,
    bound_to,
    counts_of,
    fill,
    limits_of,
    may_run,
    node_of,
    places_of,
    template_pod,
    tolerations_for,
    update,
)
from trimtab.local.loops.history import OF_PODS, current_revision, forget_old

app = App("daemonset-controller")

_GATHER = 0.02
_LONGEST = 900.0
_GENERATION = "deprecated.daemonset.template.generation"


class Pauses:
    """How often Pods ended on a node though they should go on: each time it takes longer until the next is tried."""

    def __init__(self, _: Options) -> None:
        self._of: dict[tuple[str, str], tuple[float, datetime]] = {}

    def left(self, uid: str, node: str, now: datetime) -> float:
        """In how many seconds the Pod may go; then the pause after the next doubles."""
        pause, at = self._of.get((uid, node), (0.5, now))
        if at > now:
            return (at - now).total_seconds()
        pause = min(2 * pause, _LONGEST)
        if len(self._of) > 10_000:  # nodes and DaemonSets that are gone
            self._of.clear()
        self._of[uid, node] = (pause, now + timedelta(seconds=pause))
        return 0.0


async def forget(key: str, ctx: Context) -> None:
    """The DaemonSet is gone."""
    ctx.once(Memory).forget(place(DaemonSet, key))


@app.controller(
    DaemonSet,
    name="daemonset-controller",
    owns=[Pod, ControllerRevision],
    watches={Pod: selected_by(lambda obj: obj.spec.selector, orphans=True), Node: everyone()},
    workers=5,
    gather=_GATHER,
    gone=forget,
)
async def daemon_set(obj: DaemonSet, ctx: Context) -> Requeue | None:
    """Let there be a Pod on each node that is to have one."""
    selector = Selector.from_struct(obj.spec.selector)
    if selector.is_everything:
        ctx.event("Warning", "SelectingAll", "This daemon set is selecting all pods. A non-empty selector is required.")
        return None
    if not await is_settled(ctx, DaemonSet):
        return requeue(after=SOON)
    await claim(ctx, obj, Pod, selector)
    template = ctx.get(DaemonSet, ctx.name, view=Templated).spec.template
    revision, revisions = await current_revision(ctx, obj, template)
    digest = revision.metadata.labels.get(OF_PODS, "")
    error: Exception | None = None
    wait: float | None = None
    if obj.metadata.deletion_timestamp is None:
        error, wait = await manage(obj, ctx, template, digest)
    now, pods = ctx.now(), pods_of(obj, ctx)
    minimum = obj.spec.min_ready_seconds or 0
    found = counts_of(places(obj, ctx, template, pods), digest, minimum, now)
    optional = ("updated_number_scheduled", "number_available", "number_unavailable")
    told: dict[str, Any] = {name: found[name] or None if name in optional else found[name] for name in found}
    await ctx.patch_status(**told, observed_generation=obj.metadata.generation)
    if error is not None:
        raise error
    used = {pod.metadata.labels.get(OF_PODS) for pod in pods} | {digest}
    in_use = {each.metadata.name for each in revisions if each.metadata.labels.get(OF_PODS) in used}
    await forget_old(ctx, revisions, in_use, obj.spec.revision_history_limit)
    waits = [each for each in (wait, first_available(pods, minimum, now)) if each is not None]
    return requeue(after=min(waits)) if waits else None


def pods_of(obj: DaemonSet, ctx: Context) -> list[DaemonPod]:
    """The Pods that it controls."""
    return ctx.list(Pod, namespace=ctx.namespace, owner=obj, view=DaemonPod)


def places(obj: DaemonSet, ctx: Context, template: TemplateView, pods: list[DaemonPod]) -> list[Place]:
    """The nodes, and the Pods that are for each."""
    wanted, only = template_pod(template), obj.spec.template.spec.node_name
    nodes = {node.metadata.name: may_run(wanted, node, only) for node in ctx.list(Node)}
    return places_of(nodes, pods)


async def manage(
    obj: DaemonSet, ctx: Context, template: TemplateView, digest: str
) -> tuple[Exception | None, float | None]:
    """Make and delete Pods. The first failure, if any, and in how many seconds to look again."""
    minimum, now = obj.spec.min_ready_seconds or 0, ctx.now()
    found = places(obj, ctx, template, pods_of(obj, ctx))
    limits = limits_of(obj, sum(each.starts for each in found))
    plan = fill(found, digest, limits, minimum, now)
    if not (plan.create or plan.delete or plan.ended):
        plan = update(found, digest, limits, minimum, now)
    waits = [wait for pod in plan.ended if (wait := tell_of(obj, ctx, pod)) > 0]
    going = plan.delete + ([] if waits else plan.ended)
    made = [pod_for(obj, ctx, template, digest, node) for node in plan.create]
    error = await slow_start(made, partial(create_one, ctx, obj))
    error = await at_once(going, partial(delete_one, ctx, obj)) or error
    return error, min(waits, default=None)


def tell_of(obj: DaemonSet, ctx: Context, pod: DaemonPod) -> float:
    """A Pod has ended. In how many seconds it may go, so that one that fails at once does not for ever."""
    node = node_of(pod)
    if (left := ctx.once(Pauses).left(obj.metadata.uid, node, ctx.now())) > 0:
        return left
    where = f"{ctx.namespace}/{pod.metadata.name} on node {node}, will try to"
    if pod.status.phase == "Failed":
        ctx.event("Warning", "FailedDaemonPod", f"Found failed daemon pod {where} kill it", action="Delete")
    else:
        ctx.event("Normal", "SucceededDaemonPod", f"Found succeeded daemon pod {where} delete it", action="Delete")
    return 0.0


def pod_for(obj: DaemonSet, ctx: Context, template: TemplateView, digest: str, node: str) -> NewPod:
    """The Pod for a node."""
    pod = pod_of(template, obj, ctx.once(dice)())
    pod.metadata.labels = {**pod.metadata.labels, OF_PODS: digest}
    if generation := obj.metadata.annotations.get(_GENERATION):
        pod.metadata.labels["pod-template-generation"] = generation
    extra = tolerations_for(host_network=bool(template.spec.get("hostNetwork")))
    pod.spec = bound_to(template.spec, node, [to_wire(each) for each in extra])
    return pod

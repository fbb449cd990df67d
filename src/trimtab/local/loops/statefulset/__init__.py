"""StatefulSets: Pods with names that stay, one after the other, each with volumes of its own.

`order.py` decides what is to be done now, `claims.py` what a Pod and its claims are made of; `history.py` beside keeps
the templates. Here it is done and told of.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from trimtab.client import AlreadyExists, ApiError, MergePatch
from trimtab.controller import App, Context, Requeue, requeue, selected_by
from trimtab.controllers.replicaset.claiming import claim
from trimtab.controllers.replicaset.making import Templated, TemplateView
from trimtab.controllers.replicaset.pods import PodView, first_available
from trimtab.controllers.replicaset.slow_start import slow_start
from trimtab.kube.apps.v1 import ControllerRevision, StatefulSet
from trimtab.kube.core.v1 import PersistentVolumeClaim, Pod
from trimtab.kube.intorstring import scaled
from trimtab.kube.selectors import Selector
from trimtab.kube.wire import to_wire
from trimtab.local.loops.history import current_revision, forget_old, template_in
from trimtab.local.loops.statefulset.claims import claims_for, owners_of_claim, pod_for
from trimtab.local.loops.statefulset.order import REVISION, Create, Delete, Step, Wish, counts, ordinal_of, steps

app = App("statefulset-controller")

_GATHER = 0.02


@app.controller(
    StatefulSet,
    name="statefulset-controller",
    owns=[Pod, ControllerRevision],
    reads=[PersistentVolumeClaim],
    watches={Pod: selected_by(lambda obj: obj.spec.selector, orphans=True)},
    workers=5,
    gather=_GATHER,
)
async def stateful_set(obj: StatefulSet, ctx: Context) -> Requeue | None:
    """Do the next step, or several where the order allows."""
    name = obj.metadata.name
    selector = Selector.from_struct(obj.spec.selector)
    await claim(ctx, obj, Pod, selector, may_adopt=lambda entry: ordinal_of(name, entry.name) is not None)
    template = ctx.get(StatefulSet, name, view=Templated).spec.template
    update, revisions = await current_revision(ctx, obj, template)
    by_name = {each.metadata.name: each for each in revisions}
    current = by_name.get(obj.status.current_revision or "", update)
    wish = wish_of(obj, current.metadata.name, update.metadata.name)
    now, pods = ctx.now(), pods_of(obj, ctx)
    failed: Exception | None = None
    if obj.metadata.deletion_timestamp is None:
        for ordinal, pod in pods.items():
            await keep_claims(obj, ctx, pod, wanted=ordinal in wish.ordinals)
        templates = {each: template_in(by_name[each]) for each in {wish.current, wish.update}}
        failed = await do_all(obj, ctx, steps(wish, pods, now), templates, ordered=wish.ordered)
    there = list(pods_of(obj, ctx).values())
    await tell(obj, ctx, wish, counts(wish, there, now))
    if failed is not None:
        raise failed
    in_use = {wish.current, wish.update, *(pod.metadata.labels.get(REVISION, "") for pod in there)}
    await forget_old(ctx, revisions, in_use, obj.spec.revision_history_limit)
    wait = first_available(there, wish.min_ready_seconds, now)
    return None if wait is None else requeue(after=wait)


def wish_of(obj: StatefulSet, current: str, update: str) -> Wish:
    """What its spec wants."""
    spec = obj.spec
    replicas = 1 if spec.replicas is None else spec.replicas
    start = spec.ordinals.start if spec.ordinals is not None else 0
    rolling = spec.update_strategy.rolling_update
    most = rolling.max_unavailable if rolling is not None else None
    return Wish(
        ordinals=range(start, start + replicas),
        ordered=spec.pod_management_policy != "Parallel",
        on_delete=spec.update_strategy.type == "OnDelete",
        partition=None if rolling is None else rolling.partition or 0,
        max_unavailable=1 if most is None else max(scaled(most, replicas, round_up=True), 1),
        min_ready_seconds=spec.min_ready_seconds or 0,
        current=current,
        update=update,
        current_replicas=obj.status.current_replicas,
    )


def pods_of(obj: StatefulSet, ctx: Context) -> dict[int, PodView]:
    """Its Pods, by their ordinals."""
    found: dict[int, PodView] = {}
    for pod in ctx.list(Pod, namespace=ctx.namespace, owner=obj, view=PodView):
        ordinal = ordinal_of(obj.metadata.name, pod.metadata.name)
        if ordinal is not None:
            found[ordinal] = pod
    return found


async def do_all(
    obj: StatefulSet, ctx: Context, todo: list[Step], templates: Mapping[str, TemplateView], *, ordered: bool
) -> Exception | None:
    """Do what is to be done: one after the other where order matters. The first failure, if any."""

    async def do(step: Step) -> None:
        if isinstance(step, Create):
            await create(obj, ctx, step, templates[step.revision])
        else:
            await delete(obj, ctx, step)

    if not ordered:
        return await slow_start(todo, do)
    for step in todo:
        try:
            await do(step)
        except ApiError as error:
            return error
    return None


async def create(obj: StatefulSet, ctx: Context, step: Create, template: TemplateView) -> None:
    """Make the claims, and then the Pod."""
    name, pod = obj.metadata.name, pod_for(obj, step.ordinal, step.revision, template)
    about = f"Create Pod {pod.metadata.name} in StatefulSet {name}"
    try:
        await create_claims(obj, ctx, step.ordinal)
        await ctx.create(pod)
    except ApiError as error:
        ctx.event("Warning", "FailedCreate", f"{about} failed error: {error.message}", action="Create")
        raise
    ctx.event("Normal", "SuccessfulCreate", f"{about} successful", action="Create")


async def create_claims(obj: StatefulSet, ctx: Context, ordinal: int) -> None:
    """Make the claims of a Pod that are not there: those of one that was there before wait for it."""
    for made in claims_for(obj, ordinal):
        name = made.metadata.name
        if ctx.find(PersistentVolumeClaim, name) is not None:
            continue
        try:
            await ctx.create(made)
        except AlreadyExists:  # the cache is behind
            continue
        about = f"Create Claim {name} Pod {obj.metadata.name}-{ordinal} in StatefulSet {obj.metadata.name} success"
        ctx.event("Normal", "SuccessfulCreate", about, action="Create")


async def delete(obj: StatefulSet, ctx: Context, step: Delete) -> None:
    """Delete this very Pod."""
    name, pod = obj.metadata.name, step.pod.metadata
    about = f"Delete Pod {pod.name} in StatefulSet {name}"
    try:
        await ctx.delete(Pod, pod.name, uid=pod.uid)
    except ApiError as error:
        ctx.event("Warning", "FailedDelete", f"{about} failed error: {error.message}", action="Delete")
        raise
    ctx.event("Normal", "SuccessfulDelete", f"{about} successful", action="Delete")


async def keep_claims(obj: StatefulSet, ctx: Context, pod: PodView, *, wanted: bool) -> None:
    """Let the claims of a Pod be there, and go with whom the retention policy says."""
    ordinal = ordinal_of(obj.metadata.name, pod.metadata.name)
    if ordinal is None or not obj.spec.volume_claim_templates:
        return
    if pod.status.phase == "Pending" and wanted:
        await create_claims(obj, ctx, ordinal)
    for made in claims_for(obj, ordinal):
        found = ctx.find(PersistentVolumeClaim, made.metadata.name)
        if found is None or not Selector.from_struct(obj.spec.selector).matches(found.metadata.labels):
            continue
        before = list(found.metadata.owner_references)
        owners = owners_of_claim(obj, pod, before, wanted=wanted)
        if owners != before:
            meta = {"uid": found.metadata.uid, "ownerReferences": [to_wire(each) for each in owners]}
            await ctx.patch(PersistentVolumeClaim, found.metadata.name, MergePatch({"metadata": meta}))


async def tell(obj: StatefulSet, ctx: Context, wish: Wish, found: dict[str, int]) -> None:
    """Write the status. An update is done when all Pods are of the new revision, and ready."""
    status: dict[str, Any] = dict(found)
    current = wish.current
    is_rolling = obj.spec.update_strategy.type != "OnDelete"
    if is_rolling and found["updated_replicas"] == found["replicas"] == found["ready_replicas"]:
        current, status["current_replicas"] = wish.update, found["updated_replicas"]
    for name in ("ready_replicas", "current_replicas", "updated_replicas"):
        status[name] = status[name] or None
    await ctx.patch_status(
        **status,
        observed_generation=obj.metadata.generation,
        current_revision=current,
        update_revision=wish.update,
        collision_count=obj.status.collision_count,
    )

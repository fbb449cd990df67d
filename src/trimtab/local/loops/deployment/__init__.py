"""Deployments: a ReplicaSet for each template that a Deployment has had, and Pods that move from the old to the new.

What is decided is apart from who does it: `sizes.py` says how large each ReplicaSet is to be, `revisions.py` which one
is the new one and what is written down at it, `progress.py` what the status tells. Here are the steps of a look.
"""

from __future__ import annotations

from trimtab.client import Conflict, NotFound
from trimtab.controller import App, Context, Requeue, requeue, selected_by
from trimtab.controllers.replicaset.claiming import claim
from trimtab.kube.apps.v1 import Deployment, ReplicaSet
from trimtab.kube.core.v1 import Pod
from trimtab.kube.selectors import Selector
from trimtab.local.loops.deployment.rollout import Collision, Rollout

app = App("deployment-controller")

_GATHER = 0.02
_SOON = 0.02


@app.controller(
    Deployment,
    name="deployment-controller",
    owns=[ReplicaSet],
    reads=[Pod],
    watches={ReplicaSet: selected_by(lambda deployment: deployment.spec.selector, orphans=True)},
    workers=5,
    gather=_GATHER,
)
async def deployment(obj: Deployment, ctx: Context) -> Requeue | None:
    """Bring a Deployment one step nearer to what its spec says."""
    selector = Selector.from_struct(obj.spec.selector)
    if selector.is_everything:
        note = "This deployment is selecting all pods. A non-empty selector is required."
        ctx.event("Warning", "SelectingAll", note)
        await ctx.patch_status(observed_generation=obj.metadata.generation)
        return None
    await claim(ctx, obj, ReplicaSet, selector)
    rollout = Rollout(obj, ctx)
    try:
        wait = await step(rollout)
    except (Conflict, NotFound, Collision):  # what was decided is of the past
        return requeue(after=_SOON)
    return None if wait is None else requeue(after=wait)


async def step(rollout: Rollout) -> float | None:
    """What is to be done now, and in how many seconds to look again though nothing changes."""
    obj = rollout.deployment
    if obj.metadata.deletion_timestamp is not None:
        return await rollout.tell(only_counts=True)
    rollout.note_pause()
    if obj.spec.paused or rollout.is_scaled():
        await rollout.find(create=False)
        await rollout.scale()
        if obj.spec.paused:
            await rollout.clean_up()
        return await rollout.tell(only_counts=True)
    if obj.spec.strategy.type == "Recreate":
        return await recreate(rollout)
    await rollout.find(create=True)
    if not await rollout.grow() and not await rollout.shrink() and rollout.is_complete():
        await rollout.clean_up()
    return await rollout.tell()


async def recreate(rollout: Rollout) -> float | None:
    """First no old Pod any more, then the new ones."""
    await rollout.find(create=False)
    if await rollout.empty_old() or rollout.old_pods_run():
        return await rollout.tell()
    await rollout.find(create=True)
    if not await rollout.grow() and rollout.is_complete():
        await rollout.clean_up()
    return await rollout.tell()

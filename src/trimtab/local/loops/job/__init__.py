"""Jobs: Pods that are run to their end, so often until enough have succeeded, or too many have failed.

`outcome.py` sorts a Job's Pods out and decides whether it ends; `policies.py` says what a failure means, `indexes.py`
reads and writes sets of indexes, and `look.py` does what is to be done, and counts.
"""

from __future__ import annotations

from trimtab.client import NotFound, StrategicMergePatch
from trimtab.controller import App, Context, Requeue, requeue, selected_by
from trimtab.controllers.replicaset import SOON, is_settled
from trimtab.controllers.replicaset.claiming import claim
from trimtab.controllers.replicaset.memory import Memory, place
from trimtab.kube.batch.v1 import Job
from trimtab.kube.core.v1 import Pod
from trimtab.kube.selectors import Selector
from trimtab.local.loops.job.look import Look, Pauses, is_finished
from trimtab.local.loops.job.view import TRACKING, JobPod, is_tracked

app = App("job-controller")

_GATHER = 0.02
_OURS = "kubernetes.io/job-controller"
_LET_GO = {"$deleteFromPrimitiveList/finalizers": [TRACKING]}


async def forget(key: str, ctx: Context) -> None:
    """The Job is gone: nobody will count its Pods, so nothing may keep them."""
    ctx.once(Pauses).forget(key)
    ctx.once(Memory).forget(place(Job, key))
    for entry in ctx.entries(Pod, namespace=ctx.namespace, labels={"batch.kubernetes.io/job-name": ctx.name}):
        if is_tracked(entry.view(JobPod)):
            await let_go(ctx, entry.name, entry.uid)


async def let_go(ctx: Context, name: str, uid: str) -> None:
    """Take the finalizer off a Pod that is not to be counted."""
    try:
        await ctx.patch(Pod, name, StrategicMergePatch({"metadata": {"uid": uid, **_LET_GO}}))
    except NotFound:
        return


@app.controller(
    Job,
    name="job-controller",
    owns=[Pod],
    watches={Pod: selected_by(lambda job: job.spec.selector, orphans=True)},
    workers=5,
    gather=_GATHER,
    gone=forget,
)
async def job(obj: Job, ctx: Context) -> Requeue | None:
    """Bring a Job one step nearer to its end."""
    if obj.spec.managed_by not in (None, _OURS):
        return None
    if is_finished(obj):
        for pod in ctx.list(Pod, namespace=ctx.namespace, owner=obj, view=JobPod):
            if is_tracked(pod):
                await let_go(ctx, pod.metadata.name, pod.metadata.uid)
        return None
    if not await is_settled(ctx, Job):
        return requeue(after=SOON)
    await claim(ctx, obj, Pod, Selector.from_struct(obj.spec.selector), on_release=_LET_GO)
    look = Look(obj, ctx)
    error = await look.work()
    if error is not None:
        raise error
    return None if look.wait is None else requeue(after=look.wait)

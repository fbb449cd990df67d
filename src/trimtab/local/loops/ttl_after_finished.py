"""Jobs that have ended go by themselves, when they say after how many seconds."""

from __future__ import annotations

from datetime import datetime, timedelta

from trimtab.client import NotFound
from trimtab.controller import App, Context, Requeue, requeue
from trimtab.kube.batch.v1 import Job

app = App("ttl-after-finished-controller")


def ends_in(job: Job, now: datetime) -> float | None:
    """In how many seconds a Job is to go; None where it is not, or not yet known."""
    seconds = job.spec.ttl_seconds_after_finished
    if seconds is None or job.metadata.deletion_timestamp is not None:
        return None
    for condition in job.status.conditions:
        if condition.type in ("Complete", "Failed") and condition.status == "True":
            ended = condition.last_transition_time or now
            return max((ended + timedelta(seconds=seconds) - now).total_seconds(), 0.0)
    return None


@app.controller(Job, name="ttl-after-finished-controller", workers=5)
async def ttl_after_finished(job: Job, ctx: Context) -> Requeue | None:
    """Delete a Job whose time is over, with all that it made."""
    left = ends_in(job, ctx.now())
    if left is None:
        return None
    if left > 0:
        return requeue(after=left)
    try:  # as the server has it: somebody may have given it more time
        fresh = await ctx.client.get(Job, ctx.name, namespace=ctx.namespace)
    except NotFound:
        return None
    if (left := ends_in(fresh, ctx.now())) is None:
        return None
    if left > 0:
        return requeue(after=left)
    await ctx.delete(Job, ctx.name, uid=fresh.metadata.uid, propagation="Foreground")
    return None

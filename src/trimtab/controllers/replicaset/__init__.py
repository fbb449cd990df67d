"""replicaset: as many Pods as a ReplicaSet wants; the controller of the textbook, with what the textbook leaves out.

```
kube-controller-manager --controllers=*,-replicaset-controller
trimtab run replicaset
```

It compares how many Pods there are with how many are wanted, and makes the difference: a few at a time while nobody
knows whether it will go well (`slow_start.py`), or chooses those whose end costs least (`choosing.py`). Which Pods
count is said by labels and owners (`claiming.py`), and how it went by the status (`status.py`).

There is never a Pod too many. What this process wrote it sees at once, for its cache shows that; what was asked and not
answered it settles before it goes on (`memory.py`); and what a process before it may have made it counts at the server,
once, before it makes the first.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Final

from trimtab.client import AlreadyExists, ApiError, NotFound
from trimtab.controller import App, Context, Requeue, requeue, selected_by
from trimtab.controllers.replicaset.choosing import choose
from trimtab.controllers.replicaset.claiming import claim
from trimtab.controllers.replicaset.making import NewPod, Templated, dice, pod_of, renamed, without_suffix
from trimtab.controllers.replicaset.memory import Memory, place
from trimtab.controllers.replicaset.pods import PodView, Standing, first_available, is_active, standing
from trimtab.controllers.replicaset.slow_start import at_once, slow_start
from trimtab.controllers.replicaset.status import status_of
from trimtab.kube.apps.v1 import ReplicaSet
from trimtab.kube.core.v1 import Pod
from trimtab.kube.frozen import plain_class
from trimtab.kube.objects import Object
from trimtab.kube.owners import controller_of
from trimtab.kube.partial import metadata_of
from trimtab.kube.selectors import Selector

MOST: Final = 500
"""Pods that are made or deleted in one look."""
SOON: Final = 0.05
"""Seconds after which the cache is asked again for what the server has."""
GATHER: Final = 0.02
"""Seconds that changes of Pods wait, so that one look is for several."""
_FAILED: Final = 500

app = App("replicaset-controller")


async def forget(key: str, ctx: Context) -> None:
    """The ReplicaSet is gone."""
    ctx.once(Memory).forget(place(ReplicaSet, key))


@app.controller(
    ReplicaSet,
    name="replicaset-controller",
    owns=[Pod],
    watches={Pod: selected_by(lambda rs: rs.spec.selector, orphans=True)},
    workers=5,
    gather=GATHER,
    gone=forget,
)
async def replicaset(rs: ReplicaSet, ctx: Context) -> Requeue | None:
    """Let there be as many Pods as are wanted."""
    return await replicate(ctx, rs, rs)


async def replicate(ctx: Context, owner: Object, rs: ReplicaSet) -> Requeue | None:
    """Let there be as many Pods of this owner as are wanted; a ReplicaSet says what its owner wants."""
    selector = Selector.from_struct(rs.spec.selector)
    if not await is_settled(ctx, type(owner)):
        return requeue(after=SOON)
    await claim(ctx, owner, Pod, selector, may_adopt=lambda entry: is_active(entry.view(PodView)))
    error: Exception | None = None
    too_many = 0
    if rs.metadata.deletion_timestamp is None:
        too_many = sum(pod.active for pod in standings(ctx, owner)) - wanted(rs)
        if too_many > 0:
            active = [pod for pod in owned(ctx, owner) if is_active(pod)]
            error = await delete(ctx, owner, active, too_many)
        elif too_many < 0:
            if not await is_counted(ctx, owner, selector):
                return requeue(after=SOON)
            error = await create(ctx, owner, -too_many)
    now, pods = ctx.now(), standings(ctx, owner)
    failed = (
        None
        if error is None
        else ("FailedDelete" if too_many > 0 else "FailedCreate", message_of(error, f"{ctx.name}-"))
    )
    status = status_of(rs, pods, now, failed)
    await ctx.patch_status(**{name: value for name, value in status.items() if hasattr(ctx.obj.status, name)})
    if error is not None:
        raise error
    wait = first_available(pods, rs.spec.min_ready_seconds or 0, now)
    return None if wait is None else requeue(after=wait)


def wanted(rs: ReplicaSet) -> int:
    """How many Pods are wanted."""
    return 1 if rs.spec.replicas is None else rs.spec.replicas


def owned(ctx: Context, owner: Object) -> list[PodView]:
    """The Pods that it controls."""
    return ctx.list(Pod, namespace=ctx.namespace, owner=owner, view=PodView)


def standings(ctx: Context, owner: Object) -> list[Standing]:
    """How the Pods stand that it controls."""
    return ctx.digests(Pod, standing, namespace=ctx.namespace, owner=owner)


async def create(ctx: Context, owner: Object, count: int) -> Exception | None:
    """Make so many Pods; the first failure, if any."""
    template = ctx.get(plain_class(type(owner)), ctx.name, view=Templated).spec.template
    suffix = ctx.once(dice)
    return await slow_start(
        [pod_of(template, owner, suffix()) for _ in range(min(count, MOST))], partial(create_one, ctx, owner)
    )


async def create_one(ctx: Context, owner: Object, pod: NewPod) -> None:
    """Make a Pod. Whether it was made is known when this returns, or remembered as open."""
    memory, name, key = ctx.once(Memory), pod.metadata.name, place(type(owner), ctx.key)
    memory.asks_for(key, name)
    try:
        await ctx.create(pod)
    except AlreadyExists:  # one in 14 million is so called by chance
        memory.knows(key, name)
        await create_one(ctx, owner, renamed(pod, ctx.once(dice)()))
        return
    except ApiError as error:
        if error.code < _FAILED:
            memory.knows(key, name)
        if not error.has_cause("NamespaceTerminating"):  # there everything goes, and nobody wants to be told of each
            ctx.event(
                "Warning",
                "FailedCreate",
                f"Error creating: {message_of(error, pod.metadata.generate_name or '')}",
                action="Create",
            )
        raise
    memory.knows(key, name)
    ctx.event("Normal", "SuccessfulCreate", f"Created pod: {name}", action="Create")


async def delete(ctx: Context, owner: Object, pods: Sequence[PodView], count: int) -> Exception | None:
    """Delete so many of these Pods; the first failure, if any."""
    doomed = ctx.once(Memory).doomed(place(type(owner), ctx.key))
    chosen = choose(pods, min(count, MOST), kin=kin(ctx, owner, pods), doomed=doomed, now=ctx.now())
    return await at_once(chosen, partial(delete_one, ctx, owner))


async def delete_one(ctx: Context, owner: Object, pod: PodView) -> None:
    """Delete this very Pod."""
    memory, meta, key = ctx.once(Memory), pod.metadata, place(type(owner), ctx.key)
    memory.dooms(key, meta.uid)
    try:
        await ctx.delete(Pod, meta.name, uid=meta.uid)
    except ApiError as error:
        if error.code < _FAILED:
            memory.is_deleted(key, meta.uid)
        ctx.event("Warning", "FailedDelete", f"Error deleting: {error.message}", action="Delete")
        raise
    memory.is_deleted(key, meta.uid)
    ctx.event("Normal", "SuccessfulDelete", f"Deleted pod: {meta.name}", action="Delete")


def kin(ctx: Context, owner: Object, pods: Sequence[PodView]) -> list[PodView]:
    """The Pods that are spread together: those of all ReplicaSets of a Deployment."""
    deployment = controller_of(owner)
    if deployment is None or not isinstance(owner, ReplicaSet):
        return list(pods)
    sisters = ctx.entries(ReplicaSet, namespace=ctx.namespace, owner=deployment.uid)
    return [pod for each in sisters for pod in ctx.list(Pod, namespace=ctx.namespace, owner=each.uid, view=PodView)]


async def is_settled(ctx: Context, kind: type[Object]) -> bool:
    """Find out what became of that to which there was no answer; whether the cache shows all of it."""
    memory, shown, key = ctx.once(Memory), True, place(kind, ctx.key)
    for name in memory.open(key):
        if ctx.find(Pod, name, view=PodView) is None and await exists(ctx, name):
            shown = False
        else:
            memory.knows(key, name)
    return shown


async def exists(ctx: Context, name: str) -> bool:
    """Whether the server has a Pod of this name."""
    try:
        await ctx.client.get(metadata_of(Pod), name, namespace=ctx.namespace)
    except NotFound:
        return False
    return True


async def is_counted(ctx: Context, owner: Object, selector: Selector) -> bool:
    """Whether the cache shows all Pods that a process before this one may have made.

    A cache may be older than what was written to the server that it reads from, or to one beside it.
    """
    memory, key = ctx.once(Memory), place(type(owner), ctx.key)
    if memory.has_counted(key, owner.metadata.uid):
        return True
    there = await ctx.client.list(metadata_of(Pod), namespace=ctx.namespace, labels=selector)
    mine = [pod for pod in there if (named := controller_of(pod)) is not None and named.uid == owner.metadata.uid]
    if any(ctx.find(Pod, pod.metadata.name, view=PodView) is None for pod in mine):
        return False
    memory.counts(key, owner.metadata.uid)
    return True


def message_of(error: Exception, prefix: str) -> str:
    """What went wrong, in words that are the same for each Pod: those for a Pod whose name is not made yet."""
    return without_suffix(error.message if isinstance(error, ApiError) else str(error), prefix)

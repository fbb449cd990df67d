"""pod-restarter: when the data of a ConfigMap changes, the Pods that read it are restarted.

```
kubectl annotate configmap settings trimtab.dev/restart-pods=app=frontend
```

From then on each change of the data evicts the Pods in its namespace that match the selector (`app=frontend`, unless it
says otherwise), and whatever controls them, such as a Deployment, starts them anew. It compares what is with what is
written down at the ConfigMap (`change.py`), so a change that was made while nobody looked is acted on too, each Pod is
restarted once for it, and a change of labels or annotations restarts nothing.

Pods are evicted, not deleted: a PodDisruptionBudget is respected. Besides, no more than `--max-down` of them are down
at a time, so Pods that do not get ready with the new data end the restarting, as a rolling update would.
"""

from __future__ import annotations

import asyncio
from typing import Final

from trimtab.client import Conflict, NotFound, TooManyRequests
from trimtab.controller import App, Context, Options, Requeue, Terminal, annotated, requeue, terminal
from trimtab.controllers.pod_restarter.change import RECORD, Change, begin, digest_of, next_turn, read
from trimtab.kube.core.v1 import ConfigMap, Pod
from trimtab.kube.invalid import InvalidValueError
from trimtab.kube.meta.v1 import ObjectMeta
from trimtab.kube.selectors import Selector

MARK: Final = "trimtab.dev/restart-pods"
USUAL: Final = "app=frontend"
AGAIN: Final = 1.0
"""Seconds between two looks while Pods are restarted."""
PATIENCE: Final = 30.0
"""Seconds to wait for a Pod to be there anew. After that there are fewer than there were: somebody scaled them down."""


def at_least_one(word: str) -> int:
    """A number of Pods."""
    number = int(word)
    if number < 1:
        raise ValueError("with none down at a time, none could be restarted")
    return number


app = App("pod-restarter")
MAX_DOWN = app.option(
    "max-down", "How many of the Pods that match may be down at a time.", default=1, parse=at_least_one
)


class Evictions:
    """When a Pod was last evicted for a ConfigMap, by its key; at first, when this process began to look at it."""

    def __init__(self, _: Options) -> None:
        self._at: dict[str, float] = {}

    def happened(self, key: str) -> None:
        """A Pod was evicted."""
        self._at[key] = asyncio.get_running_loop().time()

    def are_recent(self, key: str) -> bool:
        """Whether all that were evicted may still come back."""
        now = asyncio.get_running_loop().time()
        return now - self._at.setdefault(key, now) < PATIENCE

    def forget(self, key: str) -> None:
        """All is done."""
        self._at.pop(key, None)


class Complaints:
    """Which selectors people were told of that are none, by the ConfigMap's key, so that each is told once.

    They are told again once the data changes, for then Pods are not restarted for it.
    """

    def __init__(self, _: Options) -> None:
        self._of: dict[str, tuple[str, str]] = {}

    def is_new(self, key: str, selector: str, digest: str) -> bool:
        """Whether people were not told of this selector since the data is what it is."""
        told = self._of.get(key)
        self._of[key] = (selector, digest)
        return told != (selector, digest)

    def forget(self, key: str) -> None:
        """The selector is one."""
        self._of.pop(key, None)


async def forget(key: str, ctx: Context) -> None:
    """The ConfigMap is gone, or not marked any more."""
    ctx.once(Evictions).forget(key)
    ctx.once(Complaints).forget(key)


# Pods are not in its cache, though it writes them: it looks at them seldom, and then as they are now.
@app.controller(ConfigMap, where=annotated(MARK) | annotated(RECORD), writes=[Pod], workers=4, gone=forget)
async def pod_restarter(config_map: ConfigMap, ctx: Context) -> Requeue | Terminal | None:
    """Restart the Pods that were there when the data changed."""
    meta = config_map.metadata
    if meta.deletion_timestamp:
        return None
    before, digest = read(meta.annotations.get(RECORD, "")), digest_of(config_map)
    if MARK not in meta.annotations:
        return await write_down(None, config_map, ctx)
    try:
        selector = Selector.parse(meta.annotations[MARK].strip() or USUAL)
    except InvalidValueError as error:
        if not ctx.once(Complaints).is_new(ctx.key, meta.annotations[MARK], digest):
            return None
        ctx.event("Warning", "BadSelector", f"{MARK}: {error}", action="Restart")
        return terminal(error)
    ctx.once(Complaints).forget(ctx.key)
    if before is None:
        ctx.event("Normal", "Watching", "Pods are restarted when the data changes from now on", action="Watch")
        return await write_down(Change(digest), config_map, ctx)
    if before.digest == digest and before.is_done:
        return None
    pods = await ctx.client.list(Pod, namespace=ctx.namespace, labels=selector)
    if before.digest == digest:
        return await go_on(before, pods, config_map, ctx)
    change = begin(digest, pods)
    if (failed := await write_down(change, config_map, ctx)) is not None:
        return failed
    if change.is_done:
        ctx.event("Normal", "Restarted", f"the data changed, and no Pod matches {selector}", action="Restart")
        return None
    ctx.event("Normal", "Restarting", f"the data changed: {change.pods} Pods match {selector}", action="Restart")
    return requeue(after=AGAIN)


async def go_on(change: Change, pods: list[Pod], config_map: ConfigMap, ctx: Context) -> Requeue | None:
    """Evict those whose turn it is; what is left is looked at again soon."""
    evictions = ctx.once(Evictions)
    turn = next_turn(change, pods, ctx.option(MAX_DOWN), expect_all=evictions.are_recent(ctx.key))
    if not turn.left:
        if (failed := await write_down(change.done(), config_map, ctx)) is not None:
            return failed
        evictions.forget(ctx.key)
        ctx.event("Normal", "Restarted", f"{change.pods} Pods were restarted", action="Restart")
        return None
    for pod in turn.evict:
        try:  # this very Pod: another one may have its name by now
            await ctx.client.evict(pod.metadata.name, namespace=pod.metadata.namespace, uid=pod.metadata.uid)
        except (NotFound, Conflict):
            continue
        except TooManyRequests as error:
            ctx.event("Normal", "Waiting", f"{pod.metadata.name} stays for now: {error.message}", action="Restart")
            return requeue(after=max(AGAIN, error.retry_after or 0.0))
        evictions.happened(ctx.key)
        ctx.event("Normal", "Evicted", pod.metadata.name, action="Restart", related=pod)
        ctx.log.info("evicted", pod=pod.metadata.name, left=turn.left, of=change.pods)
    if turn.waits and not turn.evict:
        most = ctx.option(MAX_DOWN)
        ctx.event("Normal", "Waiting", f"{turn.down} Pods are down, and {most} may be", action="Restart")
    return requeue(after=AGAIN)


async def write_down(change: Change | None, config_map: ConfigMap, ctx: Context) -> Requeue | None:
    """Write at the ConfigMap how far it is, unless somebody was faster: then what was decided is of the past."""
    meta = config_map.metadata
    written = ConfigMap(
        metadata=ObjectMeta(
            name=meta.name,
            namespace=meta.namespace,
            uid=meta.uid,
            resource_version=meta.resource_version,
            annotations={} if change is None else {RECORD: str(change)},
        )
    )
    try:
        await ctx.apply(written, force=True)
    except Conflict:
        return requeue(after=AGAIN / 10)
    return None

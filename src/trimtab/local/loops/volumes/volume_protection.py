"""A volume that is to go stays for as long as it is bound to a claim."""

from __future__ import annotations

from typing import Final

from trimtab.client import Conflict, MergePatch, NotFound
from trimtab.controller import App, Context, Requeue, requeue
from trimtab.kube.core.v1 import PersistentVolume

NAME: Final = "persistentvolume-protection-controller"
FINALIZER: Final = "kubernetes.io/pv-protection"

app = App(NAME)


@app.controller(PersistentVolume, name=NAME)
async def volume_protection(volume: PersistentVolume, ctx: Context) -> Requeue | None:
    """Take the finalizer off a volume that is not bound, and put it on where it is missing."""
    meta, there = volume.metadata, FINALIZER in volume.metadata.finalizers
    going = meta.deletion_timestamp is not None
    if going != there or (going and volume.status.phase == "Bound"):
        return None
    kept = [each for each in meta.finalizers if each != FINALIZER] + ([] if going else [FINALIZER])
    version = {"uid": meta.uid, "resourceVersion": meta.resource_version, "finalizers": kept}
    try:
        await ctx.patch(PersistentVolume, ctx.name, MergePatch({"metadata": version}))
    except NotFound:
        return None
    except Conflict:
        return requeue()
    return None

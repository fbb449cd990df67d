"""A claim that is to go stays for as long as a Pod uses it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from msgspec import field

from trimtab.client import Conflict, MergePatch, NotFound
from trimtab.controller import App, Context, Requeue, from_entry, requeue
from trimtab.kube.base import Struct
from trimtab.kube.core.v1 import PersistentVolumeClaim, Pod, Volume
from trimtab.kube.meta.v1 import ObjectMeta

NAME: Final = "persistentvolumeclaim-protection-controller"
FINALIZER: Final = "kubernetes.io/pvc-protection"
_ENDED: Final = ("Succeeded", "Failed")
_MARKS: Final = (b'"persistentVolumeClaim"', b'"ephemeral"')

app = App(NAME)


class _Spec(Struct):
    node_name: str | None = None
    volumes: list[Volume] = []


class _Status(Struct):
    phase: str | None = None


class User(Struct):
    """Of a Pod, what it uses."""

    metadata: ObjectMeta = field(default_factory=ObjectMeta)
    spec: _Spec = field(default_factory=_Spec)
    status: _Status = field(default_factory=_Status)


def claimed(pod: User) -> Iterable[str]:
    """The names of the claims that a Pod uses."""
    for volume in pod.spec.volumes:
        if volume.persistent_volume_claim is not None:
            yield volume.persistent_volume_claim.claim_name
        elif volume.ephemeral is not None:
            yield f"{pod.metadata.name}-{volume.name}"


def _concerned(entry: Any) -> list[str]:
    data = entry.json()
    if not any(mark in data for mark in _MARKS):
        return []
    return [f"{entry.namespace}/{name}" for name in claimed(entry.view(User))]


def uses(pod: User, claim: str) -> bool:
    """Whether a Pod uses a claim: it has a node, and has not ended."""
    return bool(pod.spec.node_name) and pod.status.phase not in _ENDED and claim in claimed(pod)


@app.controller(PersistentVolumeClaim, name=NAME, watches={Pod: from_entry(_concerned)})
async def claim_protection(claim: PersistentVolumeClaim, ctx: Context) -> Requeue | None:
    """Take the finalizer off a claim that nobody uses, and put it on where it is missing."""
    meta, there = claim.metadata, FINALIZER in claim.metadata.finalizers
    going = meta.deletion_timestamp is not None
    if going != there:
        return None
    if going and any(uses(pod, ctx.name) for pod in ctx.list(Pod, namespace=ctx.namespace, view=User)):
        return None
    kept = [each for each in meta.finalizers if each != FINALIZER] + ([] if going else [FINALIZER])
    version = {"uid": meta.uid, "resourceVersion": meta.resource_version, "finalizers": kept}
    try:
        await ctx.patch(PersistentVolumeClaim, ctx.name, MergePatch({"metadata": version}))
    except NotFound:
        return None
    except Conflict:
        return requeue()
    return None

"""Claims and volumes are bound to each other; a claim for which there is no volume gets one made, if its class says so.

A volume whose claim is gone goes too, or waits for somebody, as its reclaim policy says.
"""

from __future__ import annotations

from typing import Any, Final, TypeAlias

from trimtab.client import AlreadyExists, Client, Conflict, MergePatch, NotFound
from trimtab.controller import App, Context, Requeue, everyone, requeue
from trimtab.kube.core.v1 import ObjectReference, PersistentVolume, PersistentVolumeClaim
from trimtab.kube.storage.v1 import StorageClass
from trimtab.kube.wire import from_wire, to_wire
from trimtab.local.loops.volumes.matching import SELECTED_NODE, WAITS, asked, choose, class_of, is_for, room, will_do

Json: TypeAlias = dict[str, Any]

NAME: Final = "persistentvolume-binder-controller"
STANDARD: Final = "standard"
"""The class of claims that name none."""
PROVISIONER: Final = "trimtab.dev/simulated"

_KNOWN_AS: Final = "persistentvolume-controller"
_BY_US: Final = "pv.kubernetes.io/bound-by-controller"
_COMPLETED: Final = "pv.kubernetes.io/bind-completed"
_PROVISIONED_BY: Final = "pv.kubernetes.io/provisioned-by"
_PROVISIONERS: Final = ("volume.kubernetes.io/storage-provisioner", "volume.beta.kubernetes.io/storage-provisioner")
_DEFAULT: Final = "storageclass.kubernetes.io/is-default-class"
_BY_HAND: Final = "kubernetes.io/no-provisioner"
_NOTHING: Final = "no persistent volumes available for this claim and no storage class is set"
_LOST: Final = "Bound claim has lost its PersistentVolume. Data on the volume is lost!"
_MISBOUND: Final = "Bound claim has lost reference to PersistentVolume. Data on the volume is lost!"
_WAITING: Final = "waiting for first consumer to be created before binding"

app = App(NAME)


async def make_default_class(client: Client) -> None:
    """Let there be a class that simulates volumes, unless somebody made one of its name."""
    meta = {"name": STANDARD, "annotations": {_DEFAULT: "true"}}
    body: Json = {"metadata": meta, "provisioner": PROVISIONER, "allowVolumeExpansion": True}
    try:
        await client.create(from_wire(StorageClass, body))
    except AlreadyExists:
        return


def volume_for(claim: PersistentVolumeClaim, made_by: StorageClass) -> PersistentVolume:
    """The volume that a claim asks for."""
    meta, name = claim.metadata, f"pvc-{claim.metadata.uid}"
    spec: Json = {
        "accessModes": list(claim.spec.access_modes),
        "capacity": {"storage": str(asked(claim))},
        "claimRef": _reference(claim),
        "hostPath": {"path": f"/var/lib/trimtab/{name}", "type": "DirectoryOrCreate"},
        "mountOptions": list(made_by.mount_options),
        "persistentVolumeReclaimPolicy": made_by.reclaim_policy or "Delete",
        "storageClassName": made_by.metadata.name,
        "volumeMode": claim.spec.volume_mode or "Filesystem",
    }
    if (node := meta.annotations.get(SELECTED_NODE)) is not None:
        spec["hostPath"]["path"] = f"/var/lib/trimtab/{node}/{name}"
    annotations = {_PROVISIONED_BY: made_by.provisioner}
    return from_wire(PersistentVolume, {"metadata": {"name": name, "annotations": annotations}, "spec": spec})


def _reference(claim: PersistentVolumeClaim) -> Json:
    meta = claim.metadata
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "namespace": meta.namespace,
        "name": meta.name,
        "uid": meta.uid,
        "resourceVersion": meta.resource_version,
    }


def default_class(classes: list[StorageClass]) -> StorageClass | None:
    """The class of claims that name none: the newest of those that say so."""
    marked = [each for each in classes if each.metadata.annotations.get(_DEFAULT) == "true"]
    marked.sort(key=lambda each: each.metadata.name)
    return max(marked, key=lambda each: each.metadata.creation_timestamp or 0, default=None)  # pyright: ignore[reportArgumentType, reportCallIssue]  # the server sets it


def _its_claim(volume: PersistentVolume) -> list[str]:
    ref = volume.spec.claim_ref
    return [] if ref is None else [f"{ref.namespace}/{ref.name}"]


@app.controller(
    PersistentVolumeClaim,
    name="claims",
    known_as=_KNOWN_AS,
    watches={PersistentVolume: _its_claim, StorageClass: everyone()},
    writes=[PersistentVolume],
)
async def claims(claim: PersistentVolumeClaim, ctx: Context) -> Requeue | None:
    """Find a volume for a claim, and see that it keeps it."""
    try:
        if claim.metadata.annotations.get(_COMPLETED):
            await _keep(claim, ctx)
        elif claim.metadata.deletion_timestamp is None:
            await _find(claim, ctx)
    except (Conflict, NotFound):
        return requeue()  # somebody was faster: the cache will know soon
    return None


@app.controller(
    PersistentVolume,
    name="volumes",
    known_as=_KNOWN_AS,
    reads=[StorageClass],
    watches={PersistentVolumeClaim: lambda claim: filter(None, [claim.spec.volume_name])},
    writes=[PersistentVolumeClaim],
)
async def volumes(volume: PersistentVolume, ctx: Context) -> Requeue | None:
    """Offer a volume that is free; let it go, or keep it, when its claim is gone."""
    ref = volume.spec.claim_ref
    try:
        if ref is None or not ref.uid:
            await _phase(volume, "Available", ctx)
            for claim in ctx.list(PersistentVolumeClaim, namespace=None if ref is None else ref.namespace):
                if not claim.spec.volume_name and (ref is None or is_for(ref, claim)) and will_do(volume, claim):
                    await _find(claim, ctx)
        elif (claim := await _claim_of(ref, ctx)) is None:
            await _reclaim(volume, ctx)
        elif claim.spec.volume_name == volume.metadata.name:
            await _phase(volume, "Bound", ctx)
        elif claim.spec.volume_name:  # it has another
            await _let_go(volume, ctx)
    except (Conflict, NotFound):
        return requeue()
    return None


async def _claim_of(ref: ObjectReference, ctx: Context) -> PersistentVolumeClaim | None:
    """The claim that a volume is bound to. That it is gone is asked of the server: data would go with it."""
    found = ctx.find(PersistentVolumeClaim, ref.name or "", namespace=ref.namespace)
    if found is None or found.metadata.uid != ref.uid:
        try:
            found = await ctx.client.get(PersistentVolumeClaim, ref.name or "", namespace=ref.namespace)
        except NotFound:
            return None
    return found if found.metadata.uid == ref.uid else None


# A claim without a volume


async def _find(claim: PersistentVolumeClaim, ctx: Context) -> None:
    if class_of(claim) is None and (usual := default_class(ctx.list(StorageClass))) is not None:
        await _patch(claim, ctx, {"spec": {"storageClassName": usual.metadata.name}})
        return
    chosen = class_of(claim)
    made_by = ctx.find(StorageClass, chosen) if chosen else None
    if claim.spec.volume_name:  # somebody chose one
        volume = ctx.find(PersistentVolume, claim.spec.volume_name)
        ref = None if volume is None else volume.spec.claim_ref
        if volume is not None and (ref is None or is_for(ref, claim)):
            await _bind(claim, volume, ctx)
        return
    every = ctx.list(PersistentVolume)
    waits = made_by is not None and made_by.volume_binding_mode == WAITS
    if waits and SELECTED_NODE not in claim.metadata.annotations and not _is_set_aside(every, claim):
        ctx.event("Normal", WAITS, _WAITING, action="Binding", regarding=claim)
        return
    volume = choose(every, claim)
    if volume is not None:
        await _bind(claim, volume, ctx)
    elif made_by is None and not chosen:
        ctx.event("Normal", "FailedBinding", _NOTHING, action="Binding", regarding=claim)
    elif made_by is None:
        missing = f'storageclass.storage.k8s.io "{chosen}" not found'
        ctx.event("Warning", "ProvisioningFailed", missing, action="Provisioning", regarding=claim)
    elif made_by.provisioner == _BY_HAND:
        missing = f"no volume plugin matched name: {_BY_HAND}"
        ctx.event("Warning", "ProvisioningFailed", missing, action="Provisioning", regarding=claim)
    else:
        await _provision(claim, made_by, ctx)


def _is_set_aside(volumes: list[PersistentVolume], claim: PersistentVolumeClaim) -> bool:
    return any(each.spec.claim_ref is not None and is_for(each.spec.claim_ref, claim) for each in volumes)


async def _provision(claim: PersistentVolumeClaim, made_by: StorageClass, ctx: Context) -> None:
    marks = dict.fromkeys(_PROVISIONERS, made_by.provisioner)
    if any(claim.metadata.annotations.get(name) != value for name, value in marks.items()):
        claim = await _patch(claim, ctx, {"metadata": {"annotations": marks}})
    about = f'External provisioner is provisioning volume for claim "{claim.metadata.namespace}/{claim.metadata.name}"'
    ctx.event("Normal", "Provisioning", about, action="Provisioning", regarding=claim)
    volume = volume_for(claim, made_by)
    try:
        volume = await ctx.create(volume)
    except AlreadyExists:
        volume = await ctx.client.get(PersistentVolume, volume.metadata.name)
    said = f"Successfully provisioned volume {volume.metadata.name}"
    ctx.event("Normal", "ProvisioningSucceeded", said, action="Provisioning", regarding=claim)
    await _bind(claim, volume, ctx)


async def _bind(claim: PersistentVolumeClaim, volume: PersistentVolume, ctx: Context) -> None:
    """Say at both that they belong together: at the volume first, so that nobody else takes it."""
    ref = volume.spec.claim_ref
    if ref is None or ref.uid != claim.metadata.uid:
        marks = {_BY_US: "yes"} if ref is None else {}
        body = {"metadata": {"annotations": marks}, "spec": {"claimRef": _reference(claim)}}
        volume = await _patch(volume, ctx, body)
    await _phase(volume, "Bound", ctx)
    marks = {_COMPLETED: "yes"} | ({} if claim.spec.volume_name else {_BY_US: "yes"})
    spec = {"volumeName": volume.metadata.name}
    claim = await _patch(claim, ctx, {"metadata": {"annotations": marks}, "spec": spec})
    await _is_bound(claim, volume, ctx)


# A claim with a volume


async def _keep(claim: PersistentVolumeClaim, ctx: Context) -> None:
    volume = ctx.find(PersistentVolume, claim.spec.volume_name or "")
    if volume is None or volume.spec.claim_ref is None or not is_for(volume.spec.claim_ref, claim):
        if claim.status.phase != "Lost":
            patch = {"status": {"phase": "Lost", "accessModes": None, "capacity": None}}
            await _patch(claim, ctx, patch, subresource="status")
            reason, said = ("ClaimLost", _LOST) if volume is None else ("ClaimMisbound", _MISBOUND)
            ctx.event("Warning", reason, said, action="Binding")
        return
    if asked(claim) > room(volume) and claim.metadata.deletion_timestamp is None:
        made_by = ctx.find(StorageClass, class_of(claim) or "")
        if made_by is not None and made_by.allow_volume_expansion:
            volume = await _patch(volume, ctx, {"spec": {"capacity": {"storage": str(asked(claim))}}})
            said = "MountVolume.NodeExpandVolume succeeded for volume " + volume.metadata.name
            ctx.event("Normal", "FileSystemResizeSuccessful", said, action="Resizing")
    await _is_bound(claim, volume, ctx)


async def _is_bound(claim: PersistentVolumeClaim, volume: PersistentVolume, ctx: Context) -> None:
    told = to_wire(volume.spec)
    status = {"phase": "Bound", "accessModes": told["accessModes"], "capacity": told["capacity"]}
    before = to_wire(claim.status)
    if any(before.get(name) != value for name, value in status.items()):
        await _patch(claim, ctx, {"status": status}, subresource="status")


# A volume without a claim


async def _reclaim(volume: PersistentVolume, ctx: Context) -> None:
    await _phase(volume, "Released", ctx)
    policy = volume.spec.persistent_volume_reclaim_policy
    if policy == "Delete" and volume.metadata.deletion_timestamp is None:
        await ctx.delete(PersistentVolume, volume.metadata.name, uid=volume.metadata.uid)
    elif policy == "Recycle":
        ctx.event("Normal", "VolumeRecycled", "Volume recycled", action="Recycling", regarding=volume)
        await _free(volume, ctx)


async def _let_go(volume: PersistentVolume, ctx: Context) -> None:
    """The claim took another volume: one that was made for it goes, one that was there is free again."""
    if _PROVISIONED_BY in volume.metadata.annotations:
        await _reclaim(volume, ctx)
    elif _BY_US in volume.metadata.annotations:
        await _free(volume, ctx)


async def _free(volume: PersistentVolume, ctx: Context) -> None:
    await _patch(volume, ctx, {"metadata": {"annotations": {_BY_US: None}}, "spec": {"claimRef": None}})


async def _phase(volume: PersistentVolume, phase: str, ctx: Context) -> None:
    if volume.status.phase != phase:
        body = {"metadata": {"uid": volume.metadata.uid}, "status": {"phase": phase}}
        await ctx.patch(PersistentVolume, volume.metadata.name, MergePatch(body), subresource="status")


async def _patch(obj: Any, ctx: Context, body: Json, subresource: str = "") -> Any:
    """Change what is as we saw it, and nothing else."""
    meta = obj.metadata
    version = {"uid": meta.uid, "resourceVersion": meta.resource_version}
    patch = MergePatch({**body, "metadata": {**body.get("metadata", {}), **version}})
    kind = PersistentVolume if isinstance(obj, PersistentVolume) else PersistentVolumeClaim
    where = meta.namespace or None
    return await ctx.patch(kind, meta.name, patch, namespace=where, subresource=subresource)

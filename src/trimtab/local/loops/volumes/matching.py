"""Which volume a claim gets: the smallest of those that will do."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from trimtab.kube.core.v1 import ObjectReference, PersistentVolume, PersistentVolumeClaim
from trimtab.kube.hints import QuantityLike
from trimtab.kube.quantity import Quantity
from trimtab.kube.selectors import Selector

SELECTED_NODE: Final = "volume.kubernetes.io/selected-node"
"""The annotation by which the scheduler says that a Pod is about to use a claim, and where."""
WAITS: Final = "WaitForFirstConsumer"
"""The binding mode of classes whose claims wait for that."""
_OLD_CLASS: Final = "volume.beta.kubernetes.io/storage-class"
_FILESYSTEM: Final = "Filesystem"


def class_of(obj: PersistentVolume | PersistentVolumeClaim) -> str | None:
    """The class of a claim or a volume; None where it says nothing, empty where it wants none."""
    return obj.metadata.annotations.get(_OLD_CLASS, obj.spec.storage_class_name)


def asked(claim: PersistentVolumeClaim) -> Quantity:
    """How much room a claim asks for."""
    return _storage(claim.spec.resources.requests.get("storage", 0))


def room(volume: PersistentVolume) -> Quantity:
    """How much room a volume has."""
    return _storage(volume.spec.capacity.get("storage", 0))


def _storage(amount: QuantityLike) -> Quantity:
    return Quantity(amount)


def is_for(ref: ObjectReference, claim: PersistentVolumeClaim) -> bool:
    """Whether a volume is meant for this very claim; who set it aside by hand may not know the claim's uid."""
    meta = claim.metadata
    return (ref.namespace, ref.name) == (meta.namespace, meta.name) and ref.uid in (None, "", meta.uid)


def will_do(volume: PersistentVolume, claim: PersistentVolumeClaim) -> bool:
    """Whether a volume has all that a claim asks for, whoever has it."""
    spec = claim.spec
    return (
        volume.metadata.deletion_timestamp is None
        and (class_of(volume) or "") == (class_of(claim) or "")
        and (volume.spec.volume_mode or _FILESYSTEM) == (spec.volume_mode or _FILESYSTEM)
        and set(spec.access_modes) <= set(volume.spec.access_modes)
        and room(volume) >= asked(claim)
        and (spec.selector is None or Selector.from_struct(spec.selector).matches(volume.metadata.labels))
    )


def choose(volumes: Iterable[PersistentVolume], claim: PersistentVolumeClaim) -> PersistentVolume | None:
    """The volume that was set aside for a claim, or the smallest that is free and will do."""
    free: list[PersistentVolume] = []
    for volume in volumes:
        ref = volume.spec.claim_ref
        if ref is not None and is_for(ref, claim):
            return volume
        if ref is None and will_do(volume, claim):
            free.append(volume)
    return min(free, key=lambda each: (room(each), each.metadata.name), default=None)

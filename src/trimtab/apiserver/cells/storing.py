"""What stands in the tables of volumes and of what they come from."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final, TypeAlias

from trimtab.apiserver.cells.words import UNSET, age_of, is_going, items, joined, name_of, part, set_or, texts

Json: TypeAlias = dict[str, Any]

_MODES: Final = {"ReadWriteOnce": "RWO", "ReadOnlyMany": "ROX", "ReadWriteMany": "RWX", "ReadWriteOncePod": "RWOP"}
_CLASS: Final = "volume.beta.kubernetes.io/storage-class"
_BY_DEFAULT: Final = (
    "storageclass.kubernetes.io/is-default-class",
    "storageclass.beta.kubernetes.io/is-default-class",
)


def volume(obj: Json, now: datetime) -> list[Any]:
    """Name, Capacity, Access Modes, Reclaim Policy, Status, Claim, StorageClass, and others."""
    spec, status = part(obj, "spec"), part(obj, "status")
    claim = spec.get("claimRef")
    return [
        name_of(obj), part(spec, "capacity").get("storage", "0"), _modes(spec),
        spec.get("persistentVolumeReclaimPolicy", ""), _phase(obj),
        "" if claim is None else f"{claim.get('namespace', '')}/{claim.get('name', '')}", _class(obj),
        set_or(spec.get("volumeAttributesClassName")), status.get("reason", ""), age_of(obj, now),
        set_or(spec.get("volumeMode")),
    ]  # fmt: skip


def claim(obj: Json, now: datetime) -> list[Any]:
    """Name, Status, Volume, Capacity, Access Modes, StorageClass, VolumeAttributesClass, Age, VolumeMode."""
    spec, status = part(obj, "spec"), part(obj, "status")
    volume = spec.get("volumeName", "")
    bound = [part(status, "capacity").get("storage", "0"), _modes(status)] if volume else ["", ""]
    return [
        name_of(obj), _phase(obj), volume, *bound, _class(obj), set_or(spec.get("volumeAttributesClassName")),
        age_of(obj, now), set_or(spec.get("volumeMode")),
    ]  # fmt: skip


def _phase(obj: Json) -> str:
    return "Terminating" if is_going(obj) else part(obj, "status").get("phase", "")


def _modes(holder: Json) -> str:
    given = texts(holder, "accessModes")
    return ",".join(short for mode, short in _MODES.items() if mode in given)


def _class(obj: Json) -> str:
    return set_or(part(obj, "metadata", "annotations").get(_CLASS), part(obj, "spec").get("storageClassName") or "")


def storage_class(obj: Json, now: datetime) -> list[Any]:
    """Name, Provisioner, ReclaimPolicy, VolumeBindingMode, AllowVolumeExpansion, Age."""
    annotations = part(obj, "metadata", "annotations")
    by_default = any(annotations.get(name) == "true" for name in _BY_DEFAULT)
    name = f"{name_of(obj)} (default)" if by_default else name_of(obj)
    return [
        name, obj.get("provisioner", ""), set_or(obj.get("reclaimPolicy"), "Delete"),
        set_or(obj.get("volumeBindingMode"), "Immediate"), bool(obj.get("allowVolumeExpansion")), age_of(obj, now),
    ]  # fmt: skip


def attributes_class(obj: Json, now: datetime) -> list[Any]:
    """Name, DriverName, Age."""
    return [name_of(obj), obj.get("driverName", ""), age_of(obj, now)]


def attachment(obj: Json, now: datetime) -> list[Any]:
    """Name, Attacher, PV, Node, Attached, Age."""
    spec = part(obj, "spec")
    volume = part(spec, "source").get("persistentVolumeName") or ""
    attached = bool(part(obj, "status").get("attached"))
    return [name_of(obj), spec.get("attacher", ""), volume, spec.get("nodeName", ""), attached, age_of(obj, now)]


def csi_node(obj: Json, now: datetime) -> list[Any]:
    """Name, Drivers, Age."""
    return [name_of(obj), len(items(part(obj, "spec"), "drivers")), age_of(obj, now)]


def csi_driver(obj: Json, now: datetime) -> list[Any]:
    """Name, AttachRequired, PodInfoOnMount, StorageCapacity, TokenRequests, RequiresRepublish, Modes, Age."""
    spec = part(obj, "spec")
    requests = spec.get("tokenRequests")
    audiences = UNSET if requests is None else ",".join(each.get("audience", "") for each in requests)
    return [
        name_of(obj), spec.get("attachRequired") is not False, bool(spec.get("podInfoOnMount")),
        bool(spec.get("storageCapacity")), audiences, bool(spec.get("requiresRepublish")),
        joined(texts(spec, "volumeLifecycleModes")), age_of(obj, now),
    ]  # fmt: skip

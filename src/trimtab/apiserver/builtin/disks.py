"""What is wrong with PersistentVolumes, and where their data may be."""

from __future__ import annotations

from typing import Any, Final, TypeAlias, cast

from trimtab.apiserver import causes, names
from trimtab.apiserver.builtin import held, texts
from trimtab.apiserver.builtin.affinity import check_node_selector
from trimtab.apiserver.builtin.claims import VOLUME_MODES, check_modes
from trimtab.apiserver.builtin.sources import check_source
from trimtab.apiserver.causes import Cause

Json: TypeAlias = dict[str, Any]

_SOURCES: Final = (
    "hostPath", "gcePersistentDisk", "awsElasticBlockStore", "glusterfs", "flocker", "nfs", "rbd", "quobyte", "cephfs",
    "iscsi", "cinder", "fc", "flexVolume", "azureFile", "vsphereVolume", "photonPersistentDisk", "portworxVolume",
    "azureDisk", "scaleIO", "local", "storageos", "csi",
)  # fmt: skip
_POLICIES: Final = ("Delete", "Recycle", "Retain")


def check_volume(obj: Json) -> list[Cause]:
    """What is wrong with a PersistentVolume."""
    return check_volume_spec(texts.spec_of(obj), "spec", inline=False)


def check_volume_spec(spec: Json, path: str, *, inline: bool) -> list[Cause]:
    """What is wrong with a volume, be it one of its own or within an attachment."""
    found: list[Cause] = []
    if inline and spec.get("csi") is None:
        found.append(causes.required(f"{path}.csi", "has to be specified in the context of inline volumes"))
    found += texts.needed(spec, path, "accessModes") + check_modes(spec, path)
    if not inline:
        found += _check_capacity(spec, path)
        found += texts.one_of(spec, path, "persistentVolumeReclaimPolicy", _POLICIES)
    found += _check_affinity(spec, path) + _check_sources(spec, path)
    host = texts.part(spec, "hostPath")
    if host.get("path") == "/" and spec.get("persistentVolumeReclaimPolicy") == "Recycle":
        why = "may not be 'recycle' for a hostPath mount of '/'"
        found.append(causes.forbidden(f"{path}.persistentVolumeReclaimPolicy", why))
    found += texts.given_following(spec, path, "storageClassName", names.subdomain)
    if spec.get("volumeMode") is not None:
        found += texts.one_of_needed(f"{path}.volumeMode", spec["volumeMode"], VOLUME_MODES)
    return found + _check_attributes(spec, path)


def _check_capacity(spec: Json, path: str) -> list[Cause]:
    field = f"{path}.capacity"
    capacity = cast("dict[str, str] | None", spec.get("capacity"))
    found = [] if capacity else [causes.required(field)]
    if not capacity or "storage" not in capacity or len(capacity) > 1:
        found.append(causes.unsupported(field, capacity, ("storage",)))
    for name, amount in (capacity or {}).items():
        found += texts.more_than_nothing(f"{field}[{name}]", amount)
    return found


def _check_affinity(spec: Json, path: str) -> list[Cause]:
    affinity = spec.get("nodeAffinity")
    if affinity is None:
        return []
    if affinity.get("required") is None:
        return [causes.required(f"{path}.nodeAffinity.required", "must specify required node constraints")]
    return check_node_selector(affinity["required"], f"{path}.nodeAffinity.required")


def _check_sources(spec: Json, path: str) -> list[Cause]:
    given = [name for name in _SOURCES if spec.get(name) is not None]
    if not given:
        return [causes.required(path, "must specify a volume type")]
    name = given[0]
    found = check_source(name, spec[name], f"{path}.{name}", lasting=True)
    if name == "local" and spec.get("nodeAffinity") is None:
        found.append(causes.required(f"{path}.nodeAffinity", "Local volume requires node affinity"))
    why = "may not specify more than 1 volume type"
    return found + [causes.forbidden(f"{path}.{other}", why) for other in given[1:]]


def _check_attributes(spec: Json, path: str) -> list[Cause]:
    name = spec.get("volumeAttributesClassName")
    if name is None:
        return []
    field = f"{path}.volumeAttributesClassName"
    found = [] if name else [causes.required(field, "an empty string is disallowed")]
    found += texts.follows(field, name, names.subdomain) if name else []
    if spec.get("csi") is None:
        why = "has to be specified when using volumeAttributesClassName"
        found.append(causes.required(f"{path}.csi", why))
    return found


def check_volume_change(new: Json, old: Json) -> list[Cause]:
    """What of a PersistentVolume cannot change."""
    now, was = texts.spec_of(new), texts.spec_of(old)
    found = check_volume(new)  # Kubernetes looks twice, and says so twice
    if any(now.get(name) != was.get(name) for name in _SOURCES):
        differs = held.difference("PersistentVolumeSpec", was, now, inline="PersistentVolumeSource")
        why = f"spec.persistentvolumesource is immutable after creation\n{differs}"
        found.append(causes.forbidden("spec.persistentvolumesource", why))
    found += texts.unchanged("volumeMode", now.get("volumeMode"), was.get("volumeMode"))
    if was.get("nodeAffinity") is not None and now.get("nodeAffinity") != was.get("nodeAffinity"):
        found.append(causes.invalid("nodeAffinity", now.get("nodeAffinity"), texts.IMMUTABLE))
    return found

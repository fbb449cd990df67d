"""What is wrong with classes of storage, with drivers and nodes of CSI, and with attachments."""

from __future__ import annotations

from typing import Any, Final, TypeAlias, cast

from trimtab.apiserver import causes, names
from trimtab.apiserver.builtin import texts
from trimtab.apiserver.builtin.disks import check_volume_spec
from trimtab.apiserver.builtin.selectors import check_selector
from trimtab.apiserver.causes import Cause

Json: TypeAlias = dict[str, Any]

_BINDING: Final = ("Immediate", "WaitForFirstConsumer")
_ONE_OF_TWO: Final = "must specify exactly one of inlineVolumeSpec and persistentVolumeName"
_SHORTEST_TOKEN: Final = 600
_LONGEST_TOKEN: Final = 2**32
_SHORTEST_PERIOD: Final = 10
_LONGEST_DRIVER: Final = 63
_HIGHEST_CODE: Final = 2**31 - 1


# Classes


def check_class(obj: Json) -> list[Cause]:
    """What is wrong with a StorageClass."""
    found = _check_provisioner(obj, "provisioner") + _check_parameters(obj)
    if obj.get("reclaimPolicy"):
        found += texts.one_of_needed("reclaimPolicy", obj["reclaimPolicy"], ("Delete", "Retain"))
    if obj.get("volumeBindingMode") is None:
        found.append(causes.required("volumeBindingMode"))
    else:
        found += texts.one_of_needed("volumeBindingMode", obj["volumeBindingMode"], _BINDING)
    return found + _check_topologies(obj)


def _check_provisioner(obj: Json, name: str) -> list[Cause]:
    value = obj.get(name)
    return texts.follows(name, value.lower(), names.qualified) if value else [causes.required(name)]


def _check_parameters(obj: Json) -> list[Cause]:
    return [
        causes.invalid("parameters", key, "field can not be empty.") for key in texts.part(obj, "parameters") if not key
    ]


def _check_topologies(obj: Json) -> list[Cause]:
    found: list[Cause] = []
    seen: list[dict[str, set[str]]] = []
    for where, term in texts.numbered(obj, "", "allowedTopologies"):
        wanted: dict[str, set[str]] = {}
        for at, each in texts.numbered(term, where, "matchLabelExpressions"):
            values = cast("list[str]", each.get("values") or [])
            if not values:
                found.append(causes.required(f"{at}.values"))
            found += [
                causes.duplicate(f"{at}.values[{i}]", value) for i, value in enumerate(values) if value in values[:i]
            ]
            key = each.get("key", "")
            found += texts.follows(f"{at}.key", key, names.qualified)
            if key in wanted:
                found.append(causes.duplicate(f"{at}.key", key))
            wanted[key] = set(values)
        if not wanted or wanted in seen:
            found.append(causes.duplicate(f"{where}.matchLabelExpressions", ""))
        seen.append(wanted)
    return found


def check_class_change(new: Json, old: Json) -> list[Cause]:
    """What of a StorageClass cannot change."""
    fields = ("parameters", "provisioner", "reclaimPolicy", "volumeBindingMode")
    return [fault for name in fields for fault in texts.unchanged(name, new.get(name), old.get(name))]


def check_attributes_class(obj: Json) -> list[Cause]:
    """What is wrong with a VolumeAttributesClass."""
    found = _check_provisioner(obj, "driverName") + _check_parameters(obj)
    if not obj.get("parameters"):
        found.append(causes.required("parameters", "must contain at least one key/value pair"))
    return found


def check_attributes_class_change(new: Json, old: Json) -> list[Cause]:
    """What of a VolumeAttributesClass cannot change."""
    return [
        causes.forbidden(name, f"updates to {name} are forbidden.")
        for name in ("driverName", "parameters")
        if new.get(name) != old.get(name)
    ]


# CSI


def check_driver(obj: Json) -> list[Cause]:
    """What is wrong with a CSIDriver."""
    spec = texts.spec_of(obj)
    found = texts.one_of(spec, "spec", "fsGroupPolicy", ("File", "None", "ReadWriteOnceWithFSType"))
    found += _check_tokens(spec)
    for mode in cast("list[str]", spec.get("volumeLifecycleModes") or []):
        found += texts.one_of_needed("spec.volumeLifecycleModes", mode, ("Persistent", "Ephemeral"))
    period = spec.get("nodeAllocatableUpdatePeriodSeconds")
    if period is not None and period < _SHORTEST_PERIOD:
        why = "must be greater than or equal to 10 seconds"
        found.append(causes.invalid("spec.nodeAllocatableUpdatePeriodSeconds", period, why))
    if spec.get("serviceAccountTokenInSecrets") and not spec.get("tokenRequests"):
        why = "serviceAccountTokenInSecrets is set but no tokenRequests are specified"
        found.append(causes.invalid("spec.serviceAccountTokenInSecrets", value=True, why=why))
    return found


def _check_tokens(spec: Json) -> list[Cause]:
    found: list[Cause] = []
    taken: set[str] = set()
    for where, each in texts.numbered(spec, "spec", "tokenRequests"):
        audience, seconds = each.get("audience", ""), each.get("expirationSeconds")
        if audience in taken:
            found.append(causes.duplicate(f"{where}.audience", audience))
        taken.add(audience)
        if seconds is None:
            continue
        if seconds < _SHORTEST_TOKEN:
            why = "may not specify a duration less than 10 minutes"
            found.append(causes.invalid(f"{where}.expirationSeconds", seconds, why))
        elif seconds > _LONGEST_TOKEN:
            why = "may not specify a duration larger than 2^32 seconds"
            found.append(causes.invalid(f"{where}.expirationSeconds", seconds, why))
    return found


def check_driver_change(new: Json, old: Json) -> list[Cause]:
    """What of a CSIDriver cannot change."""
    now, was = texts.spec_of(new), texts.spec_of(old)
    found: list[Cause] = []
    for name, field in (("attachRequired", "attachedRequired"), ("volumeLifecycleModes", "volumeLifecycleModes")):
        if now.get(name) != was.get(name):
            found.append(causes.invalid(f"spec.{field}", now.get(name), texts.IMMUTABLE))
    return found


def check_node(obj: Json) -> list[Cause]:
    """What is wrong with a CSINode."""
    found: list[Cause] = []
    taken: set[str] = set()
    for where, each in texts.numbered(texts.spec_of(obj), "spec", "drivers"):
        name = each.get("name", "")
        found += texts.needed_following(each, where, "name", names.subdomain)
        found += texts.needed(each, where, "nodeID")
        found += texts.not_negative(texts.part(each, "allocatable"), f"{where}.allocatable", "count")
        if name and name in taken:
            found.append(causes.duplicate(f"{where}.name", name))
        taken.add(name)
        found += _check_topology_keys(cast("list[str]", each.get("topologyKeys") or []), where)
    return found


def _check_topology_keys(keys: list[str], where: str) -> list[Cause]:
    found: list[Cause] = []
    for index, key in enumerate(keys):
        if not key:
            found.append(causes.required(where))
        if key in keys[:index]:
            found.append(causes.duplicate(where, key))
        found += texts.follows(where, key, names.qualified)
    return found


def check_node_change(new: Json, old: Json) -> list[Cause]:
    """What of a CSINode cannot change: a driver may come and go, and be allowed another count."""
    was = {each.get("name"): each for _, each in texts.numbered(texts.spec_of(old), "spec", "drivers")}
    found: list[Cause] = []
    for _, each in texts.numbered(texts.spec_of(new), "spec", "drivers"):
        before = was.get(each.get("name"))
        if before is not None and {**before, "allocatable": None} != {**each, "allocatable": None}:
            shown = causes.Struct(
                Name=each.get("name", ""),
                NodeID=each.get("nodeID", ""),
                TopologyKeys=each.get("topologyKeys"),
                Allocatable=each.get("allocatable"),
            )
            found.append(causes.invalid("spec.drivers", shown, texts.IMMUTABLE))
    return found


def check_capacity(obj: Json) -> list[Cause]:
    """What is wrong with a CSIStorageCapacity."""
    found = texts.follows("storageClassName", obj.get("storageClassName", ""), names.subdomain)
    if obj.get("nodeTopology"):
        found += check_selector(obj["nodeTopology"], "nodeTopology")
    return found + (texts.amount("capacity", obj["capacity"]) if obj.get("capacity") is not None else [])


def check_capacity_change(new: Json, old: Json) -> list[Cause]:
    """What of a CSIStorageCapacity cannot change."""
    fields = ("nodeTopology", "storageClassName")
    return [fault for name in fields for fault in texts.unchanged(name, new.get(name), old.get(name))]


# Attachments


def check_attachment(obj: Json) -> list[Cause]:
    """What is wrong with a VolumeAttachment."""
    spec = texts.spec_of(obj)
    attacher, source = spec.get("attacher", ""), texts.part(spec, "source")
    found = _check_attacher(attacher) if attacher else [causes.required("spec.attacher")]
    inline, name = source.get("inlineVolumeSpec"), source.get("persistentVolumeName")
    if inline is None and not name:
        found.append(causes.required("spec.source", _ONE_OF_TWO))
    elif inline is not None and name:
        found.append(causes.forbidden("spec.source", _ONE_OF_TWO))
    elif inline is not None:
        found += check_volume_spec(inline, "spec.source.inlineVolumeSpec", inline=True)
    else:
        found += texts.follows("spec.source.persistentVolumeName", name, names.subdomain)
    return found + texts.follows("spec.nodeName", spec.get("nodeName", ""), names.subdomain)


def _check_attacher(name: str) -> list[Cause]:
    found: list[Cause] = []
    if len(name) > _LONGEST_DRIVER:
        found.append(causes.too_long("spec.attacher", f"may not be more than {_LONGEST_DRIVER} bytes"))
    return found + [causes.invalid("spec.attacher", name, why) for why in names.subdomain(name.lower())]


def check_attachment_change(new: Json, old: Json) -> list[Cause]:
    """What of a VolumeAttachment cannot change."""
    now, was = texts.spec_of(new), texts.spec_of(old)
    if now == was:
        return []
    source = texts.part(now, "source")
    shown = causes.Struct(
        Attacher=now.get("attacher", ""),
        Source=causes.Struct(
            PersistentVolumeName=source.get("persistentVolumeName"), InlineVolumeSpec=source.get("inlineVolumeSpec")
        ),
        NodeName=now.get("nodeName", ""),
    )
    return [causes.invalid("spec", shown, texts.IMMUTABLE)]


def check_attachment_status(new: Json, _old: Json) -> list[Cause]:
    """What is wrong with the status of a VolumeAttachment."""
    found: list[Cause] = []
    for name in ("attachError", "detachError"):
        code = texts.part(texts.part(new, "status"), name).get("errorCode")
        if code is not None and not 0 <= code <= _HIGHEST_CODE:
            field = f"status.{name}.errorCode"
            found.append(causes.invalid(field, code, texts.between(0, _HIGHEST_CODE)))
    return found

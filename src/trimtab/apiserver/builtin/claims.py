"""What is wrong with claims of storage, and what of them cannot change."""

from __future__ import annotations

from typing import Any, Final, TypeAlias, cast

from trimtab.apiserver import causes, names
from trimtab.apiserver.builtin import held, texts
from trimtab.apiserver.builtin.selectors import check_selector
from trimtab.apiserver.causes import Cause
from trimtab.kube.quantity import Quantity

Json: TypeAlias = dict[str, Any]

MODES: Final = ("ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod")
VOLUME_MODES: Final = ("Block", "Filesystem")
_RESIZING: Final = (
    "ControllerResizeInProgress", "ControllerResizeInfeasible", "NodeResizeInProgress", "NodeResizeInfeasible",
    "NodeResizePending",
)  # fmt: skip
_MAY_CHANGE: Final = (
    "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims"
)


def fill_claim_spec(spec: Json) -> None:
    """What a claim is to be filled with has two names, of which the older knows claims and snapshots alone."""
    source, ref = cast("Json | None", spec.get("dataSource")), cast("Json | None", spec.get("dataSourceRef"))
    if source is not None and not _is_common(source):
        del spec["dataSource"]
        source = None
    if ref is not None and ref.get("namespace"):
        del spec["dataSourceRef"]
        ref = None
    if source is None and ref is not None:
        spec["dataSource"] = dict(ref)
    elif ref is None and source is not None:
        spec["dataSourceRef"] = dict(source)


def _is_common(source: Json) -> bool:
    about = (source.get("apiGroup") or "", source.get("kind"))
    return about in (("", "PersistentVolumeClaim"), ("snapshot.storage.k8s.io", "VolumeSnapshot"))


def check_claim(obj: Json) -> list[Cause]:
    """What is wrong with a claim."""
    return check_claim_spec(texts.spec_of(obj), "spec")


def check_claim_spec(spec: Json, path: str) -> list[Cause]:
    """What is wrong with what is claimed of storage."""
    found: list[Cause] = []
    if not spec.get("accessModes"):
        found.append(causes.required(f"{path}.accessModes", "at least 1 access mode is required"))
    if spec.get("selector"):
        found += check_selector(spec["selector"], f"{path}.selector")
    found += check_modes(spec, path)
    amount = texts.part(texts.part(spec, "resources"), "requests").get("storage")
    where = f"{path}.resources[storage]"
    found += [causes.required(where)] if amount is None else texts.more_than_nothing(where, amount)
    found += texts.given_following(spec, path, "storageClassName", names.subdomain)
    if spec.get("volumeMode") is not None:
        found += texts.one_of_needed(f"{path}.volumeMode", spec["volumeMode"], VOLUME_MODES)
    for name in ("dataSource", "dataSourceRef"):
        if spec.get(name) is not None:
            found += _check_source(spec[name], f"{path}.{name}")
    source, ref = spec.get("dataSource"), spec.get("dataSourceRef")
    if source is not None and ref is not None and source != ref:
        found.append(causes.invalid(path, {}, "must match dataSourceRef"))
    return found + texts.given_following(spec, path, "volumeAttributesClassName", names.subdomain)


def check_modes(spec: Json, path: str) -> list[Cause]:
    """What is wrong with how a volume may be accessed."""
    modes = cast("list[str]", spec.get("accessModes") or [])
    found = [causes.unsupported(f"{path}.accessModes", mode, MODES) for mode in modes if mode not in MODES]
    if "ReadWriteOncePod" in modes and len(set(modes)) > 1:
        found.append(causes.forbidden(f"{path}.accessModes", "may not use ReadWriteOncePod with other access modes"))
    return found


def _check_source(source: Json, path: str) -> list[Cause]:
    found = texts.needed(source, path, "name", "kind")
    if not source.get("apiGroup") and source.get("kind") != "PersistentVolumeClaim":
        why = "must be 'PersistentVolumeClaim' when referencing the default apiGroup"
        found.append(causes.invalid(path, source.get("kind", ""), why))
    return found + texts.given_following(source, path, "apiGroup", names.subdomain)


def check_claim_change(new: Json, old: Json) -> list[Cause]:
    """What of a claim cannot change: nearly everything."""
    now, was = texts.spec_of(new), texts.spec_of(old)
    kept, before = dict(now), dict(was)
    if not before.get("volumeName"):
        before["volumeName"] = kept.get("volumeName")
    if before.get("storageClassName") is None:
        before["storageClassName"] = kept.get("storageClassName")
    if texts.part(new, "status").get("phase") == "Bound":
        kept["volumeAttributesClassName"] = before.get("volumeAttributesClassName")
        kept["resources"] = _with_request(texts.part(now, "resources"), _request(was))
    found: list[Cause] = []
    if _plain(kept) != _plain(before):
        differs = held.difference("PersistentVolumeClaimSpec", before, kept)
        found.append(causes.forbidden("spec", f"{_MAY_CHANGE}\n{differs}"))
    size, capacity = Quantity(_request(now)), texts.part(texts.part(old, "status"), "capacity").get("storage", "0")
    if size < Quantity(_request(was)) and size <= Quantity(capacity):
        why = "field can not be less than status.capacity"
        found.append(causes.forbidden("spec.resources.requests.storage", why))
    found += texts.unchanged("volumeMode", now.get("volumeMode"), was.get("volumeMode"))
    if was.get("volumeAttributesClassName") and not now.get("volumeAttributesClassName"):
        what = "nil" if now.get("volumeAttributesClassName") is None else "an empty string"
        why = f"update from non-nil value to {what} is forbidden"
        found.append(causes.forbidden("spec.volumeAttributesClassName", why))
    return found


def _request(spec: Json) -> str:
    return texts.part(texts.part(spec, "resources"), "requests").get("storage", "0")


def _with_request(resources: Json, amount: str) -> Json:
    return {**resources, "requests": {**texts.part(resources, "requests"), "storage": amount}}


def _plain(spec: Json) -> Json:
    return {name: value for name, value in spec.items() if value not in (None, "", {}, [])}


def check_claim_status(new: Json, _old: Json) -> list[Cause]:
    """What is wrong with the status of a claim."""
    status = texts.part(new, "status")
    found = _check_amounts(status, "capacity")
    for name, state in texts.part(status, "allocatedResourceStatuses").items():
        field = "status.allocatedResourceStatuses"
        if name != "storage":
            found.append(causes.unsupported(field, name, ("storage",)))
        elif state not in _RESIZING:
            found.append(causes.unsupported(field, name, _RESIZING))
    return found + _check_amounts(status, "allocatedResources")


def _check_amounts(status: Json, part: str) -> list[Cause]:
    return [
        causes.Cause(
            "FieldValueInvalid", f"Invalid value: {amount}: must be a valid resource quantity", f"status.{part}[{name}]"
        )
        for name, amount in texts.part(status, part).items()
        if Quantity(amount) < Quantity(0)
    ]

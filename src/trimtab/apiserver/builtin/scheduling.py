"""What is wrong with what schedulers and leaders hold on to: priorities, runtimes, leases, revisions."""

from __future__ import annotations

from typing import Any, Final, TypeAlias, cast

from trimtab.apiserver import causes, names
from trimtab.apiserver.builtin import texts
from trimtab.apiserver.builtin.containers import check_resource_name
from trimtab.apiserver.builtin.pods import check_tolerations
from trimtab.apiserver.builtin.selectors import check_labels
from trimtab.apiserver.causes import Cause

Json: TypeAlias = dict[str, Any]

_PREEMPTION: Final = ("PreemptLowerPriority", "Never")
_SYSTEM: Final = {"system-node-critical": 2000001000, "system-cluster-critical": 2000000000}
_HIGHEST: Final = 1000000000


def check_priority(obj: Json) -> list[Cause]:
    """What is wrong with a PriorityClass."""
    name, value = obj["metadata"].get("name", ""), obj.get("value", 0)
    found: list[Cause] = []
    if name.startswith("system-"):
        if (wrong := _not_known(name, value)) is not None:
            why = f"priority class names with 'system-' prefix are reserved for system use only. error: {wrong}"
            found.append(causes.forbidden("metadata.name", why))
    elif value > _HIGHEST:
        why = f"maximum allowed value of a user defined priority is {_HIGHEST}"
        found.append(causes.forbidden("value", why))
    policy = obj.get("preemptionPolicy")
    if policy is not None:
        if not policy:
            found.append(causes.required("preemptionPolicy"))
        elif policy not in _PREEMPTION:
            found.append(causes.unsupported("preemptionPolicy", policy, _PREEMPTION))
    return found


def _not_known(name: str, value: int) -> str | None:
    known = _SYSTEM.get(name)
    if known is None:
        return f"{name} is not a known system priority class"
    return None if value == known else f"value of {name} PriorityClass must be {known}"


def check_priority_change(new: Json, old: Json) -> list[Cause]:
    """What of a PriorityClass cannot change."""
    found: list[Cause] = []
    if new.get("value", 0) != old.get("value", 0):
        found.append(causes.forbidden("value", "may not be changed in an update."))
    return found + texts.unchanged("preemptionPolicy", new.get("preemptionPolicy"), old.get("preemptionPolicy"))


def check_runtime(obj: Json) -> list[Cause]:
    """What is wrong with a RuntimeClass."""
    found = texts.needed_following(obj, "", "handler", names.label)
    for name, amount in sorted(texts.part(texts.part(obj, "overhead"), "podFixed").items()):
        field = f"overhead.limits[{name}]"
        found += check_resource_name(name, field) + texts.amount(field, amount)
    scheduling = texts.part(obj, "scheduling")
    found += check_labels(texts.part(scheduling, "nodeSelector"), "scheduling.nodeSelector")
    tolerations = cast("list[Json]", scheduling.get("tolerations") or [])
    found += check_tolerations(tolerations, "scheduling.tolerations")
    for index, each in enumerate(tolerations):
        if each in tolerations[:index]:
            shown = causes.Struct(
                Key=each.get("key", ""),
                Operator=each.get("operator", ""),
                Value=each.get("value", ""),
                Effect=each.get("effect", ""),
                TolerationSeconds=each.get("tolerationSeconds"),
            )
            found.append(causes.duplicate(f"scheduling.tolerations[{index}]", shown))
    return found


def check_runtime_change(new: Json, old: Json) -> list[Cause]:
    """What of a RuntimeClass cannot change."""
    return texts.unchanged("handler", new.get("handler"), old.get("handler"))


def prepare_lease(obj: Json) -> None:
    """What leaders that agree on a strategy need is not switched on."""
    spec = texts.spec_of(obj)
    for name in ("strategy", "preferredHolder"):
        spec.pop(name, None)


def check_lease(obj: Json) -> list[Cause]:
    """What is wrong with a Lease."""
    spec = texts.spec_of(obj)
    found: list[Cause] = []
    seconds = spec.get("leaseDurationSeconds")
    if seconds is not None and seconds <= 0:
        found.append(causes.invalid("spec.leaseDurationSeconds", seconds, "must be greater than 0"))
    return found + texts.not_negative(spec, "spec", "leaseTransitions")


def check_revision(obj: Json) -> list[Cause]:
    """What is wrong with a ControllerRevision."""
    found = [] if obj.get("data") is not None else [causes.required("data", "data is mandatory")]
    return found + texts.not_negative(obj, "", "revision")


def check_revision_change(new: Json, old: Json) -> list[Cause]:
    """What of a ControllerRevision cannot change."""
    return texts.unchanged("data", new.get("data"), old.get("data"))

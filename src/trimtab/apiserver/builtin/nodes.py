"""What is wrong with Nodes and Namespaces."""

from __future__ import annotations

import ipaddress
from typing import Any, Final, TypeAlias, cast

from trimtab.apiserver import causes, names
from trimtab.apiserver.builtin import texts
from trimtab.apiserver.causes import Cause

Json: TypeAlias = dict[str, Any]

_EFFECTS: Final = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_MOST_RANGES: Final = 2
_STANDARD_FINALIZERS: Final = frozenset({"kubernetes", "orphan", "foregroundDeletion"})


def fill_node(obj: Json) -> None:
    """The range of addresses for its Pods has two names, and what it has it can give."""
    spec = texts.spec_of(obj)
    first, ranges = spec.get("podCIDR"), cast("list[str]", spec.get("podCIDRs") or [])
    if first and (not ranges or ranges[0] != first):
        spec["podCIDRs"] = [first]
    elif ranges and not first:
        spec["podCIDR"] = ranges[0]
    status = texts.part(obj, "status")
    if status.get("capacity") and not status.get("allocatable"):
        status["allocatable"] = dict(status["capacity"])


def check_node(obj: Json) -> list[Cause]:
    """What is wrong with a Node."""
    spec = texts.spec_of(obj)
    found = _check_taints(spec)
    ranges = cast("list[str]", spec.get("podCIDRs") or [])
    for index, each in enumerate(ranges):
        if not texts.is_cidr(each):
            found.append(causes.invalid(f"spec.podCIDRs[{index}]", each, texts.NO_CIDR))
    families = [ipaddress.ip_network(each, strict=False).version for each in ranges if texts.is_cidr(each)]
    if len(ranges) > 1 and (len(ranges) > _MOST_RANGES or len(set(families)) < len(families)):
        why = "may specify no more than one CIDR for each IP family"
        found.append(causes.invalid("spec.podCIDRs", ranges, why))
    return found


def _check_taints(spec: Json) -> list[Cause]:
    found: list[Cause] = []
    taken: set[tuple[str, str]] = set()
    for where, each in texts.numbered(spec, "metadata", "taints"):
        key, value, effect = each.get("key", ""), each.get("value", ""), each.get("effect", "")
        found += texts.follows(f"{where}.key", key, names.qualified)
        found += texts.follows(f"{where}.value", value, names.label_value)
        if not effect:
            found.append(causes.required(f"{where}.effect"))
        elif effect not in _EFFECTS:
            found.append(causes.unsupported(f"{where}.effect", effect, _EFFECTS))
        if (key, effect) in taken:
            shown = causes.Struct(Key=key, Value=value, Effect=effect, TimeAdded=each.get("timeAdded"))
            made = causes.duplicate(where, shown)
            said = f"{made.message}: taints must be unique by key and effect pair"
            found.append(Cause(made.reason, said, where))
        taken.add((key, effect))
    return found


def check_node_change(new: Json, old: Json) -> list[Cause]:
    """What of a Node cannot change once it is set."""
    now, was = texts.spec_of(new), texts.spec_of(old)
    found = _check_taints(now)  # Kubernetes looks twice, and says so twice
    ranges = cast("list[str]", was.get("podCIDRs") or [])
    if ranges and ranges != now.get("podCIDRs"):
        found.append(causes.forbidden("spec.podCIDRs", 'node updates may not change podCIDR except from "" to valid'))
    if was.get("providerID") and was["providerID"] != now.get("providerID"):
        why = 'node updates may not change providerID except from "" to valid'
        found.append(causes.forbidden("spec.providerID", why))
    return found


def check_node_status(new: Json, old: Json) -> list[Cause]:
    """What is wrong with the status of a Node."""
    status = texts.part(new, "status")
    found: list[Cause] = []
    addresses = cast("list[Json]", status.get("addresses") or [])
    for index, each in enumerate(addresses):
        if each in addresses[:index]:
            shown = causes.Struct(Type=each.get("type", ""), Address=each.get("address", ""))
            found.append(causes.duplicate(f"status.addresses[{index}]", shown))
    for part in ("capacity", "allocatable"):
        for name, amount in texts.part(status, part).items():
            if name in ("cpu", "memory", "ephemeral-storage", "pods", "storage") or "/" in name:
                found += texts.amount(f"status.{part}.{name}", amount)
    return found + check_node_change(new, old)


def check_namespace(obj: Json) -> list[Cause]:
    """What is wrong with a Namespace."""
    found: list[Cause] = []
    for each in cast("list[str]", texts.spec_of(obj).get("finalizers") or []):
        found += texts.follows("spec.finalizers", each, names.qualified)
        if "/" not in each and each not in _STANDARD_FINALIZERS:
            why = "name is neither a standard finalizer name nor is it fully qualified"
            found.append(causes.invalid("spec.finalizers", each, why))
    return found

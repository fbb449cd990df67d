"""What is wrong with ResourceSlices: the devices of a pool, what each of them is, and which nodes can have it."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Any, Final, TypeAlias, cast

from trimtab.apiserver import causes, names
from trimtab.apiserver.builtin import devices, texts
from trimtab.apiserver.builtin.affinity import check_node_selector
from trimtab.apiserver.builtin.shapes import shown
from trimtab.apiserver.causes import Cause
from trimtab.kube.quantity import Quantity

Json: TypeAlias = dict[str, Any]

_DEVICES_MOST: Final = 128
_DETAILED_DEVICES_MOST: Final = 64
_COUNTER_SETS_MOST: Final = 8
_COUNTERS_MOST: Final = 32
_CONSUMED_MOST: Final = 2
_TAINTS_MOST: Final = 16
_VALUES_MOST: Final = 48
_OPTIONS_MOST: Final = 10
_SCALARS: Final = ("bool", "int", "string", "version")
_ATTRIBUTE: Final = {
    "int": ("IntValue", None, None),
    "bool": ("BoolValue", None, None),
    "string": ("StringValue", None, None),
    "version": ("VersionValue", None, None),
    "ints": ("IntValues", None, None),
    "bools": ("BoolValues", None, None),
    "strings": ("StringValues", None, None),
    "versions": ("VersionValues", None, None),
}
"""As the server shows one."""
_VERSION: Final = re.compile(
    r"(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)"
    r"(-(0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*)(\.(0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*))*)?"
    r"(\+[0-9a-zA-Z-]+(\.[0-9a-zA-Z-]+)*)?",
    re.ASCII,
)
_ONE_OF_NODES: Final = "exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection` is required"
_ONE_OF_DEVICES: Final = (
    "exactly one of `nodeName`, `nodeSelector`, or `allNodes` is required when `perDeviceNodeSelection` is set to true "
    "in the ResourceSlice spec"
)


def check_slice(obj: Json) -> list[Cause]:
    """What is wrong with a ResourceSlice."""
    spec = texts.spec_of(obj)
    found = devices.check_driver(spec.get("driver", ""), "spec.driver")
    pool = texts.part(spec, "pool")
    found += devices.check_pool(pool.get("name", ""), "spec.pool.name")
    count, generation = pool.get("resourceSliceCount", 0), pool.get("generation", 0)
    if count <= 0:
        found.append(causes.invalid("spec.pool.resourceSliceCount", count, "must be greater than zero"))
    if generation < 0:
        found.append(causes.invalid("spec.pool.generation", generation, "must be greater than or equal to zero"))
    found += _check_nodes(spec)
    if spec.get("sharedCounters") is not None and spec.get("devices") is not None:
        found.append(causes.invalid("spec", "", "only one of `sharedCounters` or `devices` is allowed"))
    held = cast("list[Json]", spec.get("devices") or [])
    detailed = any(each.get("taints") or each.get("consumesCounters") for each in held)
    most = _DETAILED_DEVICES_MOST if detailed else _DEVICES_MOST
    apart = bool(spec.get("perDeviceNodeSelection"))

    def check_device(device: Json, at: str) -> list[Cause]:
        return _check_device(device, at, apart=apart)

    found += devices.check_set(spec, "spec", "devices", most, check_device, devices.name_of)
    return found + devices.check_set(
        spec, "spec", "sharedCounters", _COUNTER_SETS_MOST, _check_counter_set, devices.name_of
    )


def check_slice_change(new: Json, old: Json) -> list[Cause]:
    """What of a ResourceSlice cannot change."""
    spec, was = texts.spec_of(new), texts.spec_of(old)
    pool, pool_was = texts.part(spec, "pool"), texts.part(was, "pool")
    found = texts.unchanged("spec.pool.name", pool.get("name", ""), pool_was.get("name", ""))
    found += texts.unchanged("spec.driver", spec.get("driver", ""), was.get("driver", ""))
    return found + texts.unchanged("spec.nodeName", spec.get("nodeName"), was.get("nodeName"))


# Nodes


def _check_nodes(spec: Json) -> list[Cause]:
    """From which nodes its devices can be had: one way to say that, and no more."""
    found: list[Cause] = []
    ways: list[str] = []
    if (name := spec.get("nodeName")) is not None:
        if name:
            ways.append("`nodeName`")
            found += texts.follows("spec.nodeName", name, names.subdomain)
        else:
            found.append(causes.invalid("spec.nodeName", name, "must be either unset or set to a non-empty string"))
    if (selector := spec.get("nodeSelector")) is not None:
        ways.append("`nodeSelector`")
        terms, where = selector.get("nodeSelectorTerms"), "spec.nodeSelector"
        found += check_node_selector(selector, where)
        if len(terms or ()) != 1:
            why = "must have exactly one node selector term"
            found.append(causes.invalid(f"{where}.nodeSelectorTerms", terms, why))
    for flag in ("allNodes", "perDeviceNodeSelection"):
        found += _check_flag(spec, "spec", flag, ways)
    if not ways:
        found.append(causes.required("spec", _ONE_OF_NODES))
    elif len(ways) > 1:
        why = f"{_ONE_OF_NODES}, but multiple fields are set"
        found.append(causes.invalid("spec", f"{{{', '.join(ways)}}}", why))
    return found


def _check_flag(obj: Json, path: str, flag: str, ways: list[str]) -> list[Cause]:
    value = obj.get(flag)
    if value is False:
        return [causes.invalid(f"{path}.{flag}", value, "must be either unset or set to true")]
    if value:
        ways.append(f"`{flag}`")
    return []


def _check_own_nodes(device: Json, path: str, *, apart: bool) -> list[Cause]:
    """The same of a device, where each says it for itself."""
    if not apart:
        if all(device.get(name) is None for name in ("nodeName", "nodeSelector", "allNodes")):
            return []
        why = (
            "`nodeName`, `nodeSelector` and `allNodes` can only be set if `perDeviceNodeSelection` is set to true in "
            "the ResourceSlice spec"
        )
        return [causes.invalid(path, None, why)]
    found: list[Cause] = []
    ways: list[str] = []
    if (name := device.get("nodeName")) is not None:
        if name:
            ways.append("`nodeName`")
            found += texts.follows(f"{path}.nodeName", name, names.subdomain)
        else:
            found.append(causes.invalid(f"{path}.nodeName", name, "must not be empty"))
    if (selector := device.get("nodeSelector")) is not None:
        ways.append("`nodeSelector`")
        found += check_node_selector(selector, f"{path}.nodeSelector")
    found += _check_flag(device, path, "allNodes", ways)
    if not ways:
        found.append(causes.required(path, _ONE_OF_DEVICES))
    elif len(ways) > 1:
        found.append(causes.invalid(path, f"{{{', '.join(ways)}}}", _ONE_OF_DEVICES))
    return found


# Devices


def _check_device(device: Json, path: str, *, apart: bool) -> list[Cause]:
    attributes, capacity = texts.part(device, "attributes"), texts.part(device, "capacity")
    found = devices.check_label(device.get("name", ""), f"{path}.name")
    if (count := len(attributes) + len(capacity)) > devices.ATTRIBUTES_MOST:
        why = f"the total number of attributes and capacities must not exceed {devices.ATTRIBUTES_MOST}"
        found.append(causes.invalid(path, count, why))
    if len(attributes) > _VALUES_MOST:
        why = f"the total number of attribute values must not exceed {_VALUES_MOST}"
        found.append(causes.invalid(path, len(attributes), why))
    found += devices.check_map(device, path, "attributes", devices.check_qualified, _check_attribute)
    check_capacity = _check_shared_capacity if device.get("allowMultipleAllocations") else _check_whole_capacity
    found += devices.check_map(device, path, "capacity", devices.check_qualified, check_capacity)
    found += devices.check_list(device, path, "taints", _TAINTS_MOST, devices.check_taint)
    found += devices.check_set(device, path, "consumesCounters", _CONSUMED_MOST, _check_consumed, _counter_set)
    return found + _check_own_nodes(device, path, apart=apart) + devices.check_binding(device, path)


def _check_attribute(attribute: Json, path: str) -> list[Cause]:
    given = [name for name in _SCALARS if attribute.get(name) is not None]
    found: list[Cause] = []
    for name in ("string", "version"):
        value = attribute.get(name)
        if name == "version" and value is not None and not _VERSION.fullmatch(value):
            why = "must be a string compatible with semver.org spec 2.0.0"
            found.append(causes.invalid(f"{path}.{name}", value, why))
        if value is not None and len(value.encode()) > devices.VALUE_MOST:
            found.append(causes.too_long(f"{path}.{name}", f"may not be more than {devices.VALUE_MOST} bytes"))
    if not given:
        found.append(causes.invalid(path, "", "exactly one value must be specified"))
    elif len(given) > 1:
        found.append(causes.invalid(path, shown(attribute, _ATTRIBUTE), "exactly one value must be specified"))
    return found


# Counters


def _counter_set(consumed: Json) -> str:
    return consumed.get("counterSet", "")


def _check_counter_set(counters: Json, path: str) -> list[Cause]:
    return texts.needed_following(counters, path, "name", names.label) + _check_counters(counters, path)


def _check_consumed(consumed: Json, path: str) -> list[Cause]:
    return texts.needed_following(consumed, path, "counterSet", names.label) + _check_counters(consumed, path)


def _check_counters(obj: Json, path: str) -> list[Cause]:
    counters = texts.part(obj, "counters")
    if not counters:
        return [causes.required(f"{path}.counters")]
    if len(counters) > _COUNTERS_MOST:
        return [causes.too_many(f"{path}.counters", len(counters), _COUNTERS_MOST)]
    return [fault for key in counters for fault in devices.check_label(key, f"{path}.counters")]


# Capacity


def _check_whole_capacity(capacity: Json, path: str) -> list[Cause]:
    if capacity.get("requestPolicy") is None:
        return []
    return [causes.forbidden(f"{path}.requestPolicy", "allowMultipleAllocations must be true")]


def _check_shared_capacity(capacity: Json, path: str) -> list[Cause]:
    """What may be asked for of a device that several share."""
    policy, where = texts.part(capacity, "requestPolicy"), f"{path}.requestPolicy"
    most, usual = str(capacity.get("value", "0")), policy.get("default")
    options, bounds = cast("list[str]", policy.get("validValues") or []), cast("Json | None", policy.get("validRange"))
    if options and bounds is not None:
        why = 'exactly one policy can be specified, cannot specify "validValues" and "validRange" at the same time'
        return [causes.forbidden(where, why)]
    if options:
        if usual is None:
            return [causes.required(f"{where}.default", "required when validValues is defined")]
        return _check_options(policy, where, usual, most)
    if bounds is not None:
        if usual is None:
            return [causes.required(f"{where}.default", "required when validRange is defined")]
        return _check_bounds(bounds, f"{where}.validRange", usual, most)
    return []


def _in_numbers(option: str) -> str:
    return str(Quantity(option).value())


def _check_options(policy: Json, path: str, usual: str, most: str) -> list[Cause]:
    items = texts.numbered(policy, path, "validValues")
    found = [
        causes.invalid(where, option, "values must be sorted in ascending order")
        for (_, before), (where, option) in pairwise(items)
        if Quantity(before) > Quantity(option)
    ]

    def check(option: str, at: str) -> list[Cause]:
        why = f"option is larger than capacity value: {most}"
        return [causes.invalid(at, option, why)] if Quantity(option) > Quantity(most) else []

    found += devices.check_set(policy, path, "validValues", _OPTIONS_MOST, check, _in_numbers)
    if len(items) > _OPTIONS_MOST or all(Quantity(option) != Quantity(usual) for _, option in items):
        why = "default value is not valid according to the requestPolicy"
        found.append(causes.invalid(f"{path}.validValues", usual, why))
    return found


def _check_bounds(bounds: Json, path: str, usual: str, most: str) -> list[Cause]:
    low, high, step = (cast("str | None", bounds.get(name)) for name in ("min", "max", "step"))
    if low is None:
        return [causes.required(f"{path}.min", "required when validRange is defined")]
    rules = [
        ("min", Quantity(low) > Quantity(most), low, f"min is larger than capacity value: {most}"),
        ("min", Quantity(usual) < Quantity(low), usual, f"default is less than min: {low}"),
    ]
    if high is not None:
        rules += [
            ("max", Quantity(low) > Quantity(high), low, f"min is larger than max: {high}"),
            ("max", Quantity(high) > Quantity(most), high, f"max is larger than capacity value: {most}"),
            ("max", Quantity(usual) > Quantity(high), usual, f"default is more than max: {high}"),
        ]
    found = [causes.invalid(f"{path}.{name}", value, why) for name, broken, value, why in rules if broken]
    return found if step is None else found + _check_steps(path, (usual, high), low, step, most)


def _check_steps(path: str, values: tuple[str | None, ...], low: str, step: str, most: str) -> list[Cause]:
    found: list[Cause] = []
    width = Quantity(step).value()
    first = Quantity(low) + Quantity(step)
    if first > Quantity(most):
        why = f"one step {first} is larger than capacity value: {most}"
        found.append(causes.invalid(f"{path}.step", step, why))
    for value in values:
        if value is not None and width and (Quantity(value).value() - Quantity(low).value()) % width:
            why = f"value is not a multiple of a given step ({step}) from ({low})"
            found.append(causes.invalid(f"{path}.step", value, why))
    return found

"""What is wrong with claims for devices and their templates, and with what is told of the devices that were given."""

from __future__ import annotations

import ipaddress
import re
from typing import Any, Final, TypeAlias, cast

from trimtab.apiserver import causes, names
from trimtab.apiserver.builtin import devices, texts
from trimtab.apiserver.builtin.affinity import check_node_selector
from trimtab.apiserver.builtin.budgets import check_conditions
from trimtab.apiserver.builtin.selectors import check_labels
from trimtab.apiserver.builtin.shapes import shown
from trimtab.apiserver.causes import Cause

Json: TypeAlias = dict[str, Any]
Named: TypeAlias = dict[str, set[str]]
"""The names of requests, and of what may be taken for each of them."""

_REQUESTS_MOST: Final = 32
_CONSTRAINTS_MOST: Final = 32
_CHOICES_MOST: Final = 8
_USERS_MOST: Final = 256
_CONDITIONS_MOST: Final = 8
_IPS_MOST: Final = 16
_MODES: Final = ("All", "ExactCount")
_SOURCES: Final = ("FromClaim", "FromClass")
_EITHER: Final = "exactly one of `exactly` or `firstAvailable` is required"
_NO_NAME: Final = (
    "must be the name of a request in the claim or the name of a request and a subrequest separated by '/'"
)
_UID: Final = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def check_claim(obj: Json) -> list[Cause]:
    """What is wrong with a new ResourceClaim; later, its spec cannot change."""
    return _check_spec(texts.spec_of(obj), "spec")


def check_claim_change(new: Json, old: Json) -> list[Cause]:
    """What of a ResourceClaim cannot change."""
    spec = texts.spec_of(new)
    return [] if spec == texts.spec_of(old) else [causes.invalid("spec", _shown_spec(spec), texts.IMMUTABLE)]


def check_template(obj: Json) -> list[Cause]:
    """What is wrong with a new ResourceClaimTemplate."""
    spec = texts.spec_of(obj)
    labels = texts.part(texts.part(spec, "metadata"), "labels")
    return check_labels(labels, "spec.metadata.labels") + _check_spec(texts.part(spec, "spec"), "spec.spec")


def check_template_change(new: Json, old: Json) -> list[Cause]:
    """What of a ResourceClaimTemplate cannot change."""
    spec = texts.spec_of(new)
    if spec == texts.spec_of(old):
        return []
    told = causes.Struct(texts.part(spec, "metadata"))
    told["Spec"] = _shown_spec(texts.part(spec, "spec"))
    return [causes.invalid("spec", told, texts.IMMUTABLE)]


# What is asked for


def _check_spec(spec: Json, path: str) -> list[Cause]:
    wanted, where = texts.part(spec, "devices"), f"{path}.devices"
    named = _names(wanted)

    def check_constraint(constraint: Json, at: str) -> list[Cause]:
        return _check_constraint(constraint, at, named)

    def check_config(config: Json, at: str) -> list[Cause]:
        return _check_references(config, at, named) + devices.check_configuration(config, at)

    found = devices.check_set(wanted, where, "requests", _REQUESTS_MOST, _check_request, devices.name_of)
    found += devices.check_list(wanted, where, "constraints", _CONSTRAINTS_MOST, check_constraint)
    return found + devices.check_list(wanted, where, "config", devices.CONFIG_MOST, check_config)


def _names(wanted: Json) -> Named:
    return {
        each.get("name", ""): {choice.get("name", "") for choice in each.get("firstAvailable") or ()}
        for each in cast("list[Json]", wanted.get("requests") or [])
    }


def _check_request(request: Json, path: str) -> list[Cause]:
    found = devices.check_label(request.get("name", ""), f"{path}.name")
    exactly, choices = cast("Json | None", request.get("exactly")), request.get("firstAvailable")
    if exactly is None and not choices:
        found.append(causes.required(path, _EITHER))
    elif exactly is not None and choices:
        found.append(causes.invalid(path, None, f"{_EITHER}, but multiple fields are set"))
    elif exactly is not None:
        found += _check_wanted(exactly, f"{path}.exactly")
    else:
        found += devices.check_set(request, path, "firstAvailable", _CHOICES_MOST, _check_choice, devices.name_of)
    return found


def _check_choice(choice: Json, path: str) -> list[Cause]:
    return devices.check_label(choice.get("name", ""), f"{path}.name") + _check_wanted(choice, path)


def _check_wanted(wanted: Json, path: str) -> list[Cause]:
    """Which devices, and how many of them."""
    found = texts.needed_following(wanted, path, "deviceClassName", names.subdomain)
    found += devices.check_list(wanted, path, "selectors", devices.SELECTORS_MOST, devices.check_selector)
    mode, count = wanted.get("allocationMode", ""), wanted.get("count", 0)
    if mode == "All":
        if count:
            why = f"must not be specified when allocationMode is '{mode}'"
            found.append(causes.invalid(f"{path}.count", count, why))
    elif mode == "ExactCount":
        if count <= 0:
            found.append(causes.invalid(f"{path}.count", count, "must be greater than zero"))
    else:
        found.append(causes.unsupported(f"{path}.allocationMode", mode, _MODES))
    return found + devices.check_list(wanted, path, "tolerations", -1, devices.check_toleration)


def _check_constraint(constraint: Json, path: str, named: Named) -> list[Cause]:
    found = _check_references(constraint, path, named)
    for name in ("matchAttribute", "distinctAttribute"):
        if (attribute := constraint.get(name)) is not None:
            return found + devices.check_fully_qualified(attribute, f"{path}.{name}")
    why = 'exactly one of "matchAttribute" or "distinctAttribute" is required, but multiple fields are set'
    return [*found, causes.required(path, why)]


def _check_references(obj: Json, path: str, named: Named) -> list[Cause]:
    def check(name: str, at: str) -> list[Cause]:
        return _check_reference(name, at, named)

    return devices.check_set(obj, path, "requests", _REQUESTS_MOST, check, devices.itself)


def _check_reference(name: str, path: str, named: Named) -> list[Cause]:
    """Whether a name is that of a request, alone or with one of its choices."""
    request, slash, choice = name.partition("/")
    if "/" in choice:
        return [causes.invalid(path, name, _NO_NAME)]
    parts = [request, choice] if slash else [request]
    found = [fault for part in parts for fault in devices.check_label(part, path)]
    if request not in named or (slash and choice not in named[request]):
        found.append(causes.invalid(path, name, _NO_NAME))
    return found


# What was given


def check_claim_status(new: Json, old: Json) -> list[Cause]:
    """What is wrong with a change of what was given to a claim, and to whom."""
    status, was = texts.part(new, "status"), texts.part(old, "status")
    given = cast("Json | None", status.get("allocation"))
    found = devices.check_set(status, "status", "reservedFor", _USERS_MOST, _check_user, _uid)
    allotted = {_device(each) for each in texts.part(given or {}, "devices").get("results") or ()}

    def check_device(device: Json, at: str) -> list[Cause]:
        return _check_device(device, at, allotted)

    found += devices.check_set(status, "status", "devices", -1, check_device, _device)
    users = cast("list[Json]", status.get("reservedFor") or [])
    if users and given is None:
        found.append(causes.forbidden("status.reservedFor", "may not be specified when `allocated` is not set"))
    elif new["metadata"].get("deletionTimestamp") and any(each not in (was.get("reservedFor") or ()) for each in users):
        why = "new entries may not be added while `deallocationRequested` or `deletionTimestamp` are set"
        found.append(causes.forbidden("status.reservedFor", why))
    if given is None:
        return found
    if was.get("allocation") is not None:
        return found + texts.unchanged("status.allocation", given, was["allocation"])
    return found + _check_allocation(given, "status.allocation", _names(texts.part(texts.spec_of(new), "devices")))


def _uid(user: Json) -> str:
    return user.get("uid", "")


def _check_user(user: Json, path: str) -> list[Cause]:
    return texts.needed(user, path, "resource", "name", "uid")


def _device(given: Json) -> tuple[str, str, str, str]:
    driver, pool, device, share = (given.get(name, "") for name in ("driver", "pool", "device", "shareID"))
    return driver, pool, device, share


def _check_allocation(given: Json, path: str, named: Named) -> list[Cause]:
    def check_result(result: Json, at: str) -> list[Cause]:
        found = _check_reference(result.get("request", ""), f"{at}.request", named)
        return found + _check_which(result, at) + devices.check_binding(result, at) + _check_share(result, at)

    def check_config(config: Json, at: str) -> list[Cause]:
        source = config.get("source", "")
        found = texts.one_of_needed(f"{at}.source", source, _SOURCES) if source else texts.needed(config, at, "source")
        return found + _check_references(config, at, named) + devices.check_configuration(config, at)

    told, where = texts.part(given, "devices"), f"{path}.devices"
    found = devices.check_list(told, where, "results", _REQUESTS_MOST, check_result)
    found += devices.check_list(told, where, "config", 2 * devices.CONFIG_MOST, check_config)
    if (nodes := given.get("nodeSelector")) is not None:
        found += check_node_selector(nodes, f"{path}.nodeSelector")
    return found


def _check_which(given: Json, path: str) -> list[Cause]:
    found = devices.check_driver(given.get("driver", ""), f"{path}.driver")
    found += devices.check_pool(given.get("pool", ""), f"{path}.pool")
    return found + devices.check_label(given.get("device", ""), f"{path}.device")


def _check_share(given: Json, path: str) -> list[Cause]:
    share = given.get("shareID")
    if share is None or _UID.fullmatch(share):
        return []
    why = (
        "uid must be in RFC 4122 normalized form, `xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx` with lowercase hexadecimal "
        "characters"
    )
    if not _UID.fullmatch(share.lower()):
        why = "error validating uid: invalid UUID " + ("format" if len(share) == 36 else f"length: {len(share)}")
    return [causes.invalid(f"{path}.shareID", share, why)]


def _check_device(device: Json, path: str, allotted: set[tuple[str, str, str, str]]) -> list[Cause]:
    """What a driver tells of a device."""
    found = _check_which(device, path) + _check_share(device, path)
    if _device(device) not in allotted:
        names_ = ("Driver", "Pool", "Device")
        told = causes.Struct(zip(names_, _device(device)[:3], strict=True))
        told["ShareID"] = device.get("shareID", "")
        found.append(causes.invalid(path, told, "must be an allocated device in the claim"))
    conditions = cast("list[Json]", device.get("conditions") or [])
    if len(conditions) > _CONDITIONS_MOST:
        found.append(causes.too_many(f"{path}.conditions", len(conditions), _CONDITIONS_MOST))
    found += check_conditions(device, path)
    if device.get("data") is not None:
        found += devices.check_raw(device["data"], f"{path}.data")
    network, where = texts.part(device, "networkData"), f"{path}.networkData"
    for name, most in (("interfaceName", 256), ("hardwareAddress", 128)):
        if len(network.get(name, "").encode()) > most:
            found.append(causes.too_long(f"{where}.{name}", f"may not be more than {most} bytes"))
    return found + devices.check_set(network, where, "ips", _IPS_MOST, _check_interface, devices.itself)


def _check_interface(address: str, path: str) -> list[Cause]:
    """An address of an interface, with the length of its network's prefix."""
    _, slash, _ = address.partition("/")
    try:
        interface = ipaddress.ip_interface(address)
    except ValueError:
        interface = None
    if interface is None or not slash:
        why = "must be a valid address in CIDR form, (e.g. 10.9.8.7/24 or 2001:db8::1/64)"
        return [causes.invalid(path, address, why)]
    canonical = str(interface)
    return [] if address == canonical else [causes.invalid(path, address, f'must be in canonical form ("{canonical}")')]


# As the server shows what it holds

_SELECTOR: Final = {"cel": ("CEL", None, {"expression": ("Expression", "", None)})}
_TOLERATION: Final = {
    "key": ("Key", "", None),
    "operator": ("Operator", "", None),
    "value": ("Value", "", None),
    "effect": ("Effect", "", None),
    "tolerationSeconds": ("TolerationSeconds", None, None),
}
_CAPACITY: Final = {"requests": ("Requests", None, None)}
_COMMON: Final = {
    "deviceClassName": ("DeviceClassName", "", None),
    "selectors": ("Selectors", None, _SELECTOR),
    "allocationMode": ("AllocationMode", "", None),
    "count": ("Count", 0, None),
}
_TAIL: Final = {"tolerations": ("Tolerations", None, _TOLERATION), "capacity": ("Capacity", None, _CAPACITY)}
_REQUEST: Final = {
    "name": ("Name", "", None),
    "exactly": ("Exactly", None, {**_COMMON, "adminAccess": ("AdminAccess", None, None), **_TAIL}),
    "firstAvailable": ("FirstAvailable", None, {"name": ("Name", "", None), **_COMMON, **_TAIL}),
}
_CONSTRAINT: Final = {
    "requests": ("Requests", None, None),
    "matchAttribute": ("MatchAttribute", None, None),
    "distinctAttribute": ("DistinctAttribute", None, None),
}
_CONFIG: Final = {
    "requests": ("Requests", None, None),
    "opaque": ("Opaque", None, {"driver": ("Driver", "", None), "parameters": ("Parameters", None, None)}),
}
_CLAIM: Final = {
    "requests": ("Requests", None, _REQUEST),
    "constraints": ("Constraints", None, _CONSTRAINT),
    "config": ("Config", None, _CONFIG),
}


def _shown_spec(spec: Json) -> causes.Struct:
    return causes.Struct({"Devices": shown(texts.part(spec, "devices"), _CLAIM)})

"""What is wrong with what stands behind a Service: Endpoints and EndpointSlices; and with what is allotted to it."""

from __future__ import annotations

import ipaddress
from typing import Any, Final, TypeAlias, cast

from trimtab.apiserver import causes, names
from trimtab.apiserver.builtin import texts
from trimtab.apiserver.causes import Cause

Json: TypeAlias = dict[str, Any]

_PROTOCOLS: Final = ("SCTP", "TCP", "UDP")
_FAMILIES: Final = ("FQDN", "IPv4", "IPv6")
_MOST_ENDPOINTS: Final = 1000
_MOST_ADDRESSES: Final = 100
_MOST_PORTS: Final = 20000
_MOST_CIDRS: Final = 2


def check_endpoints(obj: Json) -> list[Cause]:
    """What is wrong with Endpoints."""
    found: list[Cause] = []
    for where, subset in texts.numbered(obj, "", "subsets"):
        if not subset.get("addresses") and not subset.get("notReadyAddresses"):
            found.append(causes.required(where, "must specify `addresses` or `notReadyAddresses`"))
        for name in ("addresses", "notReadyAddresses"):
            for at, each in texts.numbered(subset, where, name):
                found += _check_address(each, at)
        ports = texts.numbered(subset, where, "ports")
        for at, port in ports:
            found += _check_port(port, at, named=len(ports) > 1)
    return found


def _check_address(address: Json, where: str) -> list[Cause]:
    ip = address.get("ip", "")
    found = texts.strict_ip(f"{where}.ip", ip)
    found += texts.given_following(address, where, "hostname", names.label)
    if address.get("nodeName") is not None:
        found += texts.follows(f"{where}.nodeName", address["nodeName"], names.subdomain)
    return found + _check_place(ip, f"{where}.ip")


def _check_place(ip: str, field: str) -> list[Cause]:
    """An address that others can reach."""
    address = texts.address(ip)
    if address is None:
        return [] if texts.is_old_ip(ip) else [causes.invalid(field, ip, "must be a valid IP address")]
    found: list[Cause] = []
    if address.is_unspecified:
        found.append(causes.invalid(field, ip, f"may not be unspecified ({ip})"))
    if address.is_loopback:
        found.append(causes.invalid(field, ip, "may not be in the loopback range (127.0.0.0/8, ::1/128)"))
    if address.is_link_local:
        found.append(causes.invalid(field, ip, "may not be in the link-local range (169.254.0.0/16, fe80::/10)"))
    if address in ipaddress.ip_network("224.0.0.0/24") or address in ipaddress.ip_network("ff02::/16"):
        why = "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)"
        found.append(causes.invalid(field, ip, why))
    return found


def _check_port(port: Json, where: str, *, named: bool) -> list[Cause]:
    name = port.get("name", "")
    found = [causes.required(f"{where}.name")] if named and not name else []
    found += texts.follows(f"{where}.name", name, names.label) if name else []
    found += texts.port(f"{where}.port", port.get("port", 0))
    if not port.get("protocol"):
        found.append(causes.required(f"{where}.protocol"))
    found += texts.one_of(port, where, "protocol", _PROTOCOLS)
    return found + _check_app_protocol(port, where)


def _check_app_protocol(port: Json, where: str) -> list[Cause]:
    if port.get("appProtocol") is None:
        return []
    return texts.follows(f"{where}.appProtocol", port["appProtocol"], names.qualified)


def fill_slice(obj: Json) -> None:
    """What an older version knew of where an endpoint is has fields of its own since."""
    for _, each in texts.numbered(obj, "", "endpoints"):
        each.pop("deprecatedTopology", None)


def check_slice(obj: Json) -> list[Cause]:
    """What is wrong with an EndpointSlice."""
    family = obj.get("addressType", "")
    found = texts.one_of_needed("addressType", family, _FAMILIES) if family else [causes.required("addressType")]
    found += _check_endpoints_of(obj, family)
    return found + _check_slice_ports(obj)


def _check_endpoints_of(obj: Json, family: str) -> list[Cause]:
    items = texts.numbered(obj, "", "endpoints")
    if len(items) > _MOST_ENDPOINTS:
        return [causes.too_many("endpoints", len(items), _MOST_ENDPOINTS)]
    return [fault for where, each in items for fault in _check_endpoint(each, where, family)]


def _check_endpoint(endpoint: Json, where: str, family: str) -> list[Cause]:
    found: list[Cause] = []
    addresses = texts.numbered(endpoint, where, "addresses")
    if not addresses:
        found.append(causes.required(f"{where}.addresses", "must contain at least 1 address"))
    elif len(addresses) > _MOST_ADDRESSES:
        found.append(causes.too_many(f"{where}.addresses", len(addresses), _MOST_ADDRESSES))
    for at, each in addresses:
        found += _check_one(each, at, family)
    if endpoint.get("nodeName") is not None:
        found += texts.follows(f"{where}.nodeName", endpoint["nodeName"], names.subdomain)
    found += _check_labels(texts.part(endpoint, "deprecatedTopology"), f"{where}.deprecatedTopology")
    if endpoint.get("hostname") is not None:
        found += texts.follows(f"{where}.hostname", endpoint["hostname"], names.label)
    return found + _check_hints(texts.part(endpoint, "hints"), f"{where}.hints")


def _check_labels(labels: dict[str, str], where: str) -> list[Cause]:
    found: list[Cause] = []
    for key, value in labels.items():
        found += texts.follows(where, key, names.qualified) + texts.follows(where, value, names.label_value)
    return found


def _check_one(address: str, at: str, family: str) -> list[Cause]:
    if family == "FQDN":
        return texts.follows(at, address, _fully_qualified)
    if family not in _FAMILIES:
        return []
    found = texts.strict_ip(at, address)
    read = texts.address(address)
    if read is not None and read.version != int(family[-1]):
        found.append(causes.invalid(at.rpartition("[")[0], address, f"must be an {family} address"))
    return found + ([] if found and read is None else _check_place(address, at))


def _fully_qualified(name: str) -> list[str]:
    why = "should be a domain with at least two segments separated by dots"
    faults = names.subdomain(name.removesuffix("."))
    return faults or ([] if "." in name.removesuffix(".") else [why])


def _check_hints(hints: Json, where: str) -> list[Cause]:
    found: list[Cause] = []
    for name, rule in (("forZones", names.label_value), ("forNodes", names.subdomain)):
        taken: set[str] = set()
        for at, each in texts.numbered(hints, where, name):
            value = each.get("name", "")
            if value in taken:
                found.append(causes.duplicate(f"{at}.name", value))
            taken.add(value)
            found += texts.follows(f"{at}.name", value, rule)
    return found


def _check_slice_ports(obj: Json) -> list[Cause]:
    found: list[Cause] = []
    ports = texts.numbered(obj, "", "ports")
    if len(ports) > _MOST_PORTS:
        return [causes.too_many("ports", len(ports), _MOST_PORTS)]
    taken: set[str] = set()
    for where, port in ports:
        name = cast("str", port.get("name") or "")
        found += texts.follows(f"{where}.name", name, names.label) if name else []
        if name in taken:
            found.append(causes.duplicate(f"{where}.name", name))
        taken.add(name)
        found += texts.one_of_needed(f"{where}.protocol", port.get("protocol"), _PROTOCOLS)
        found += _check_app_protocol(port, where)
    return found


def check_slice_change(new: Json, old: Json) -> list[Cause]:
    """What of an EndpointSlice cannot change."""
    return texts.unchanged("addressType", new.get("addressType"), old.get("addressType"))


# What is allotted


def check_address(obj: Json) -> list[Cause]:
    """What is wrong with an IPAddress."""
    ref = texts.spec_of(obj).get("parentRef")
    if ref is None:
        return [causes.required("spec.parentRef")]
    where = "spec.parentRef"
    found = texts.given_following(ref, where, "group", names.subdomain)
    found += texts.needed_following(ref, where, "resource", names.path_segment)
    found += texts.needed_following(ref, where, "name", names.path_segment)
    return found + texts.given_following(ref, where, "namespace", names.path_segment)


def address_name(name: str) -> list[str]:
    """What is wrong with the name of an IPAddress, which is the address in its shortest form."""
    address = texts.address(name)
    if address is not None:
        return [] if str(address) == name else [f'must be in canonical form ("{address}")']
    return ["must not have leading 0s"] if texts.is_old_ip(name) else [texts.NO_IP]


def check_address_change(new: Json, old: Json) -> list[Cause]:
    """What of an IPAddress cannot change."""
    ref = texts.part(texts.spec_of(new), "parentRef")
    if ref == texts.part(texts.spec_of(old), "parentRef"):
        return []
    shown = causes.Struct(
        Group=ref.get("group", ""),
        Resource=ref.get("resource", ""),
        Namespace=ref.get("namespace", ""),
        Name=ref.get("name", ""),
    )
    return [causes.invalid("spec.parentRef", shown, texts.IMMUTABLE)]


def check_service_cidr(obj: Json) -> list[Cause]:
    """What is wrong with a ServiceCIDR."""
    cidrs = cast("list[str]", texts.spec_of(obj).get("cidrs") or [])
    if not cidrs:
        return [causes.required("spec.cidrs", "at least one CIDR required")]
    if len(cidrs) > _MOST_CIDRS:
        shown = causes.Struct(CIDRs=cidrs)
        return [causes.invalid("spec.cidrs", shown, f"may only hold up to {_MOST_CIDRS} values")]
    found = [fault for index, each in enumerate(cidrs) for fault in texts.strict_cidr(f"spec.cidrs[{index}]", each)]
    families = [ipaddress.ip_network(each, strict=False).version for each in cidrs if texts.is_cidr(each)]
    if not found and len(set(families)) < len(families):
        why = "may specify no more than one IP for each IP family, i.e 192.168.0.0/24 and 2001:db8::/64"
        found.append(causes.invalid("spec.cidrs", cidrs, why))
    return found


def check_service_cidr_change(new: Json, old: Json) -> list[Cause]:
    """What of a ServiceCIDR cannot change: a second family may come."""
    now, was = (cast("list[str]", texts.spec_of(each).get("cidrs") or []) for each in (new, old))
    if len(now) < len(was):
        return [causes.invalid("spec.cidrs", now, texts.IMMUTABLE)]
    return [
        causes.invalid(f"spec.cidrs[{index}]", now[index], texts.IMMUTABLE)
        for index, before in enumerate(was)
        if now[index] != before
    ]

"""What stands in the tables of Services and of what leads to them."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final, TypeAlias

from trimtab.apiserver.cells.words import (
    NONE,
    UNKNOWN,
    UNSET,
    addresses,
    age_of,
    items,
    joined,
    labels,
    name_of,
    part,
    selector_text,
    set_or,
    some,
    texts,
)

Json: TypeAlias = dict[str, Any]

_MOST: Final = 3


def service(obj: Json, now: datetime) -> list[Any]:
    """Name, Type, Cluster-IP, External-IP, Port(s), Age, Selector."""
    spec = part(obj, "spec")
    inside = texts(spec, "clusterIPs") or [spec.get("clusterIP") or NONE]
    return [
        name_of(obj), spec.get("type", ""), inside[0], _external(obj), _ports(spec) or NONE, age_of(obj, now),
        labels(part(spec, "selector")),
    ]  # fmt: skip


def _external(obj: Json) -> str:
    spec = part(obj, "spec")
    given = texts(spec, "externalIPs")
    match spec.get("type"):
        case "ClusterIP" | "NodePort":
            return joined(given)
        case "LoadBalancer":
            return ",".join([*filter(None, [addresses(obj)]), *given]) or "<pending>"
        case "ExternalName":
            return spec.get("externalName", "")
        case _:
            return UNKNOWN


def _ports(spec: Json) -> str:
    made: list[str] = []
    for port in items(spec, "ports"):
        node = f":{port['nodePort']}" if port.get("nodePort") else ""
        made.append(f"{port.get('port', 0)}{node}/{port.get('protocol', '')}")
    return ",".join(made)


def endpoints(obj: Json, now: datetime) -> list[Any]:
    """Name, Endpoints, Age."""
    found: list[str] = []
    for subset in items(obj, "subsets"):
        ips = [each.get("ip", "") for each in items(subset, "addresses")]
        ports = items(subset, "ports")
        found += ips if not ports else [f"{_host(ip)}:{port.get('port', 0)}" for port in ports for ip in ips]
    shown = some(found, len(found), _MOST) if obj.get("subsets") else NONE
    return [name_of(obj), shown, age_of(obj, now)]


def _host(ip: str) -> str:
    return f"[{ip}]" if ":" in ip else ip


def endpoint_slice(obj: Json, now: datetime) -> list[Any]:
    """Name, AddressType, Ports, Endpoints, Age."""
    ports = [str(set_or(port.get("port"), set_or(port.get("name"), "*"))) for port in items(obj, "ports")]
    found = [address for each in items(obj, "endpoints") for address in texts(each, "addresses")]
    shown = [some(each, len(each), _MOST) or UNSET for each in (ports, found)]
    return [name_of(obj), obj.get("addressType", ""), *shown, age_of(obj, now)]


def ingress(obj: Json, now: datetime) -> list[Any]:
    """Name, Class, Hosts, Address, Ports, Age."""
    spec = part(obj, "spec")
    ports = "80, 443" if items(spec, "tls") else "80"
    kind = set_or(spec.get("ingressClassName"), NONE)
    return [name_of(obj), kind, _hosts(items(spec, "rules")), addresses(obj), ports, age_of(obj, now)]


def _hosts(rules: list[Json]) -> str:
    shown: list[str] = []
    for rule in rules:
        if len(shown) == _MOST:
            return f"{','.join(shown)} + {len(rules) - _MOST} more..."
        shown += [rule["host"]] if rule.get("host") else []
    return ",".join(shown) or "*"


def ingress_class(obj: Json, now: datetime) -> list[Any]:
    """Name, Controller, Parameters, Age."""
    spec = part(obj, "spec")
    given = spec.get("parameters")
    parameters = NONE
    if given is not None:
        group = f".{given['apiGroup']}" if given.get("apiGroup") is not None else ""
        parameters = f"{given.get('kind', '')}{group}/{given.get('name', '')}"
    by_default = part(obj, "metadata", "annotations").get("ingressclass.kubernetes.io/is-default-class") == "true"
    name = f"{name_of(obj)} (default)" if by_default else name_of(obj)
    return [name, spec.get("controller", ""), parameters, age_of(obj, now)]


def network_policy(obj: Json, now: datetime) -> list[Any]:
    """Name, Pod-Selector, Age."""
    return [name_of(obj), selector_text(part(obj, "spec", "podSelector")), age_of(obj, now)]


def service_cidr(obj: Json, now: datetime) -> list[Any]:
    """Name, CIDRs, Age."""
    return [name_of(obj), ",".join(texts(part(obj, "spec"), "cidrs")), age_of(obj, now)]


def ip_address(obj: Json, now: datetime) -> list[Any]:
    """Name, ParentRef, and the age, for which Kubernetes has no column."""
    ref = part(obj, "spec").get("parentRef")
    parent = NONE
    if ref is not None:
        resource, group = ref.get("resource", ""), ref.get("group", "")
        what = f"{resource}.{group}" if group else resource
        parent = "/".join(filter(None, [what.lower(), ref.get("namespace", ""), ref.get("name", "")]))
    return [name_of(obj), parent, age_of(obj, now)]

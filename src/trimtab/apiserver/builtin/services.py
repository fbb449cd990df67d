"""Services: what is wrong with them, and what of them cannot change."""

from __future__ import annotations

import ipaddress
from typing import Any, Final, TypeAlias, cast

from trimtab.apiserver import causes, names
from trimtab.apiserver.builtin import texts
from trimtab.apiserver.builtin.selectors import check_labels
from trimtab.apiserver.causes import Cause

Json: TypeAlias = dict[str, Any]

RANGE: Final = ipaddress.IPv4Network("10.0.0.0/16")
"""Whence addresses of clusters are taken."""
NODE_PORTS: Final = range(30000, 32768)
"""Those at which each node can listen for a Service."""
_TYPES: Final = ("ClusterIP", "ExternalName", "LoadBalancer", "NodePort")
_PROTOCOLS: Final = ("SCTP", "TCP", "UDP")
_LONGEST_AFFINITY: Final = 86400
_LOOPBACK: Final = "may not be in the loopback range (127.0.0.0/8, ::1/128)"


def _spec(obj: Json) -> Json:
    return cast("Json", obj.get("spec") or {})


def check_service(obj: Json) -> list[Cause]:
    """What is wrong with a Service."""
    spec = _spec(obj)
    kind, headless = spec.get("type", ""), spec.get("clusterIP") == "None"
    found: list[Cause] = []
    if not spec.get("ports") and not headless and kind != "ExternalName":
        found.append(causes.required("spec.ports"))
    if kind == "LoadBalancer" and headless:
        why = "may not be set to 'None' for LoadBalancer services"
        found.append(causes.invalid("spec.clusterIPs[0]", "None", why))
    elif kind == "ExternalName":
        found += _check_external(spec)
    found += _check_ports(spec)
    if spec.get("selector"):
        found += check_labels(spec["selector"], "spec.selector")
    found += _check_affinity(spec)
    found += texts.one_of(spec, "spec", "type", _TYPES)
    if kind != "ExternalName":
        found += _check_addresses(spec)
    found += _check_outside(spec)
    for name in ("externalTrafficPolicy", "internalTrafficPolicy"):
        found += texts.one_of(spec, "spec", name, ("Cluster", "Local"))
    if kind not in ("LoadBalancer", "NodePort") and spec.get("externalTrafficPolicy") and not spec.get("externalIPs"):
        why = "may only be set for externally-accessible services"
        found.append(causes.invalid("spec.externalTrafficPolicy", spec["externalTrafficPolicy"], why))
    if spec.get("healthCheckNodePort") and not checks_health(spec):
        why = "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'"
        found.append(causes.invalid("spec.healthCheckNodePort", spec["healthCheckNodePort"], why))
    near = ("PreferClose", "PreferSameZone", "PreferSameNode")
    return found + texts.one_of(spec, "spec", "trafficDistribution", near)


def _check_external(spec: Json) -> list[Cause]:
    found = [
        causes.forbidden(f"spec.{name}", "may not be set for ExternalName services")
        for name in ("clusterIPs", "ipFamilies", "ipFamilyPolicy")
        if spec.get(name)
    ]
    name = spec.get("externalName", "").removesuffix(".")
    if not name:
        return [*found, causes.required("spec.externalName")]
    return found + [causes.invalid("spec.externalName", name, why) for why in names.subdomain(name)]


def _check_ports(spec: Json) -> list[Cause]:
    found: list[Cause] = []
    ports = cast("list[Json]", spec.get("ports") or [])
    kind = spec.get("type", "")
    taken: set[str] = set()
    seen: set[tuple[str, int]] = set()
    for index, each in enumerate(ports):
        where, name = f"spec.ports[{index}]", each.get("name", "")
        if not name:
            if len(ports) > 1:
                found.append(causes.required(f"{where}.name"))
        else:
            found += [causes.invalid(f"{where}.name", name, why) for why in names.label(name)]
            if name in taken:
                found.append(causes.duplicate(f"{where}.name", name))
            taken.add(name)
        number, protocol = each.get("port", 0), each.get("protocol", "")
        found += texts.port(f"{where}.port", number)
        if not protocol:
            found.append(causes.required(f"{where}.protocol"))
        found += texts.one_of(each, where, "protocol", _PROTOCOLS)
        target = each.get("targetPort", 0)
        found += texts.port_or_name(f"{where}.targetPort", target)
        if scheme := each.get("appProtocol"):
            found += [causes.invalid(f"{where}.appProtocol", scheme, why) for why in names.qualified(scheme)]
        if each.get("nodePort") and kind not in ("NodePort", "LoadBalancer"):
            why = f"may not be used when `type` is '{kind}'"
            found.append(causes.forbidden(f"{where}.nodePort", why))
        if (protocol, number) in seen:
            shown = causes.Struct(Name="", Protocol=protocol, AppProtocol=None, Port=number, TargetPort=0, NodePort=0)
            found.append(causes.duplicate(where, shown))
        seen.add((protocol, number))
    return found


def _check_affinity(spec: Json) -> list[Cause]:
    kind = spec.get("sessionAffinity", "")
    if not kind:
        return [causes.required("spec.sessionAffinity")]
    found = texts.one_of(spec, "spec", "sessionAffinity", ("ClientIP", "None"))
    config = cast("Json | None", spec.get("sessionAffinityConfig"))
    where = "spec.sessionAffinityConfig"
    if kind == "None" and config is not None:
        why = "must not be set when session affinity is None"
        return [*found, causes.forbidden(where, why)]
    if kind == "ClientIP":
        inner = cast("Json", (config or {}).get("clientIP") or {})
        seconds = inner.get("timeoutSeconds")
        if seconds is None:
            found.append(causes.required(f"{where}.clientIP.timeoutSeconds"))
        elif not 0 < seconds <= _LONGEST_AFFINITY:
            why = f"must be greater than 0 and less than {_LONGEST_AFFINITY}"
            found.append(causes.invalid(f"{where}.clientIP.timeoutSeconds", seconds, why))
    return found


def _check_addresses(spec: Json) -> list[Cause]:
    first, given = spec.get("clusterIP", ""), cast("list[str]", spec.get("clusterIPs") or [])
    found: list[Cause] = []
    families = cast("list[str]", spec.get("ipFamilies") or [])
    found += texts.one_of(spec, "spec", "ipFamilyPolicy", ("PreferDualStack", "RequireDualStack", "SingleStack"))
    anywhere = first == "None" and not spec.get("selector")  # whoever lists its addresses may list any
    for index, family in enumerate(families):
        if family not in ("IPv4", "IPv6"):
            found.append(causes.unsupported(f"spec.ipFamilies[{index}]", family, ("IPv4", "IPv6")))
        elif family == "IPv6" and not anywhere:
            found.append(causes.invalid(f"spec.ipFamilies[{index}]", family, "not configured on this cluster"))
    if spec.get("ipFamilyPolicy") == "RequireDualStack" and not anywhere:
        why = "this cluster is not configured for dual-stack services"
        found.append(causes.invalid("spec.ipFamilyPolicy", "RequireDualStack", why))
    if not first and given:
        found.append(causes.invalid("spec.clusterIPs", given, "must be empty when `clusterIP` is not specified"))
    if "None" in given and len(given) > 1:
        found.append(causes.invalid("spec.clusterIPs", given, "'None' must be the first and only value"))
    for index, each in enumerate(given):
        if each != "None" or index:
            found += texts.ip(f"spec.clusterIPs[{index}]", each)
    return found


def _check_outside(spec: Json) -> list[Cause]:
    found: list[Cause] = []
    balanced = spec.get("type") == "LoadBalancer"
    for index, each in enumerate(spec.get("externalIPs") or ()):
        field = f"spec.externalIPs[{index}]"
        address = texts.address(each)
        if address is None:
            found.append(causes.invalid(field, each, texts.NO_IP))
        elif address.is_loopback:
            found.append(causes.invalid(field, each, _LOOPBACK))
    ranges = cast("list[str]", spec.get("loadBalancerSourceRanges") or [])
    why = "may only be used when `type` is 'LoadBalancer'"
    if ranges and not balanced:
        found.append(causes.forbidden("spec.LoadBalancerSourceRanges", why))
    elif ranges:
        found += [
            causes.invalid(f"spec.LoadBalancerSourceRanges[{index}]", each, texts.NO_CIDR)
            for index, each in enumerate(ranges)
            if not texts.is_cidr(each.strip())
        ]
    if spec.get("loadBalancerClass") and not balanced:
        found.append(causes.forbidden("spec.loadBalancerClass", why))
    return found


def check_service_change(new: Json, old: Json) -> list[Cause]:
    """What of a Service cannot change."""
    spec, was = _spec(new), _spec(old)
    if spec.get("type") == "ExternalName" or was.get("type") == "ExternalName":
        return []
    now, before = (cast("list[str]", each.get("clusterIPs") or []) for each in (spec, was))
    if before and now[:1] != before[:1]:
        return [causes.invalid("spec.clusterIPs[0]", now, "may not change once set")]
    return []


def check_service_status(new: Json, _: Json) -> list[Cause]:
    """What is wrong with a status: who is let in from outside can tell of it, and nobody else."""
    balancer = cast("Json", cast("Json", new.get("status") or {}).get("loadBalancer") or {})
    kind = cast("Json", new.get("spec") or {}).get("type")
    if not balancer.get("ingress") or kind == "LoadBalancer":
        return []
    return [causes.forbidden("status.loadBalancer.ingress", "may only be used when `spec.type` is 'LoadBalancer'")]


def allots_ports(spec: Json) -> bool:
    """Whether a Service gets ports of the nodes that it did not ask for."""
    kind = spec.get("type")
    return kind == "NodePort" or (
        kind == "LoadBalancer" and spec.get("allocateLoadBalancerNodePorts", True) is not False
    )


def checks_health(spec: Json) -> bool:
    """Whether balancers ask each node if it has what the Service leads to."""
    return spec.get("type") == "LoadBalancer" and spec.get("externalTrafficPolicy") == "Local"

"""What a Service keeps when it changes: what it was given, where a writer left it out and it still makes sense."""

from __future__ import annotations

from typing import Any, Final, TypeAlias, cast

from trimtab.apiserver.builtin.services import checks_health

Json: TypeAlias = dict[str, Any]

_ADDRESSES: Final = ("clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy")
_OUTSIDE: Final = ("NodePort", "LoadBalancer")


def prepare_service(new: Json, old: Json | None) -> None:
    """Make the two names of an address agree, and keep what a writer left out."""
    spec = new["spec"] = {**cast("Json", new.get("spec") or {})}
    was = cast("Json", (old or {}).get("spec") or {})
    if old is not None:
        _keep_given(spec, was)
    if spec.get("type") == "ExternalName":
        _forget_addresses(spec, was)
        return
    if old is not None and was.get("type") != "ExternalName":
        first, before = spec.get("clusterIP"), was.get("clusterIP")
        if not first and (spec.get("clusterIPs") or []) in ([], was.get("clusterIPs")):
            spec["clusterIP"], spec["clusterIPs"] = before, was.get("clusterIPs")
        elif first != before and spec.get("clusterIPs") in (None, [], was.get("clusterIPs")):
            spec["clusterIPs"] = [first]
        for name in ("ipFamilies", "ipFamilyPolicy"):
            if name in was and not spec.get(name):
                spec[name] = was[name]
    elif spec.get("clusterIP") and not spec.get("clusterIPs"):
        spec["clusterIPs"] = [spec["clusterIP"]]


def _forget_addresses(spec: Json, was: Json) -> None:
    """A name outside has no address inside."""
    for name in _ADDRESSES if was.get("type") != "ExternalName" else ():
        if spec.get(name) == was.get(name):
            spec.pop(name, None)
    if spec.get("clusterIP"):
        spec["clusterIPs"] = [spec["clusterIP"]]
    if spec.get("internalTrafficPolicy") == "Cluster":  # a default of the others
        del spec["internalTrafficPolicy"]


def _keep_given(spec: Json, was: Json) -> None:
    """What was given stays, and goes with the type that has it, unless somebody asks for it by name."""
    outside, before = (each.get("type") in _OUTSIDE for each in (spec, was))
    if outside and before:
        _keep_ports(spec, was)
    elif before:
        _forget_ports(spec, was)
    if checks_health(was) and checks_health(spec):
        spec["healthCheckNodePort"] = spec.get("healthCheckNodePort") or was.get("healthCheckNodePort", 0)
    gone: list[str] = [] if outside or not before else ["externalTrafficPolicy"]
    if checks_health(was) and not checks_health(spec):
        gone.append("healthCheckNodePort")
    if was.get("type") == "LoadBalancer" != spec.get("type"):
        gone += ["allocateLoadBalancerNodePorts", "loadBalancerClass"]
    for name in gone:
        if spec.get(name) == was.get(name):
            spec.pop(name, None)


def _keep_ports(spec: Json, was: Json) -> None:
    """The ports of the nodes stay with the ports of the Service, by their names."""
    ports, before = _ports(spec), _ports(was)
    used = {each["nodePort"] for each in ports if each.get("nodePort")}
    given = {each.get("name", ""): each.get("nodePort", 0) for each in before}
    made: list[Json] = []
    for each in ports:
        number = given.get(each.get("name", ""), 0)
        if not each.get("nodePort") and number and number not in used:
            used.add(number)
            made.append({**each, "nodePort": number})
        else:
            made.append(each)
    if made:
        spec["ports"] = made


def _forget_ports(spec: Json, was: Json) -> None:
    ports, before = ([each.get("nodePort", 0) for each in _ports(some)] for some in (spec, was))
    if ports and ports == before:
        spec["ports"] = [{k: v for k, v in each.items() if k != "nodePort"} for each in _ports(spec)]


def _ports(spec: Json) -> list[Json]:
    return cast("list[Json]", spec.get("ports") or [])

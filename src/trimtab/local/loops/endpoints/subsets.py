"""What Endpoints say: addresses with the same ports together, those that are ready apart from those that are not."""

from __future__ import annotations

from collections.abc import Sequence
from ipaddress import ip_address
from typing import Any, Final, TypeAlias

from trimtab.kube.core.v1 import Service
from trimtab.local.loops.endpoints.members import Member, addresses, belongs, hostname, is_ready, ports, reference

Json: TypeAlias = dict[str, Any]

MOST: Final = 1000
"""Addresses in an Endpoints object; the rest is cut off."""


def subsets(pods: Sequence[Member], service: Service) -> list[Json]:
    """The subsets of a Service's Endpoints. Ports that lead to the same addresses stand together."""
    anyway = bool(service.spec.publish_not_ready_addresses)
    family = next(iter(service.spec.ip_families), "IPv4")
    told: dict[str, tuple[Json, bool]] = {}
    at_port: dict[tuple[Any, ...], tuple[Json | None, list[str]]] = {}
    for pod in pods:
        if not belongs(pod, also_terminating=anyway) or not (found := addresses(pod, family)):
            continue
        told[pod.metadata.uid] = _address(pod, service, found[0]), anyway or is_ready(pod)
        every: list[Json | None] = [*ports(pod, service)]
        for port in every or ([None] if not service.spec.ports else []):
            key = () if port is None else (port["name"], port["port"], port["protocol"])
            at_port.setdefault(key, (port, []))[1].append(pod.metadata.uid)
    groups: dict[tuple[str, ...], list[Json]] = {}
    for _, (port, uids) in sorted(at_port.items()):
        there = groups.setdefault(tuple(sorted(uids)), [])
        if port is not None:
            there.append(port if port["name"] else {key: port[key] for key in port if key != "name"})
    return [_subset([told[uid] for uid in uids], each) for uids, each in groups.items()]


def _address(pod: Member, service: Service, address: str) -> Json:
    made: Json = {"ip": address, "targetRef": reference(pod)}
    if pod.spec.node_name:
        made["nodeName"] = pod.spec.node_name
    if (name := hostname(pod, service)) is not None:
        made["hostname"] = name
    return made


def _subset(told: Sequence[tuple[Json, bool]], at: Sequence[Json]) -> Json:
    in_order = sorted(told, key=lambda each: (ip_address(each[0]["ip"]), each[0]["targetRef"]["uid"]))
    parts = {
        "addresses": [address for address, ready in in_order if ready],
        "notReadyAddresses": [address for address, ready in in_order if not ready],
        "ports": list(at),
    }
    return {name: part for name, part in parts.items() if part}


def truncated(every: Sequence[Json], most: int = MOST) -> list[Json] | None:
    """The same with no more addresses than it may have, those that are ready first; None where it has not more."""
    ready = sum(len(each.get("addresses", ())) for each in every)
    waiting = sum(len(each.get("notReadyAddresses", ())) for each in every)
    if ready + waiting <= most:
        return None
    if ready > most:
        cut, kept = _cut([each.get("addresses", []) for each in every], most), [list[Json]()] * len(every)
    else:
        kept = _cut([each.get("notReadyAddresses", []) for each in every], most - ready)
        cut = [each.get("addresses", []) for each in every]
    made = [
        {"addresses": one, "notReadyAddresses": other, "ports": each.get("ports", [])}
        for each, one, other in zip(every, cut, kept, strict=True)
    ]
    return [{name: part for name, part in each.items() if part} for each in made]


def _cut(lists: Sequence[list[Json]], most: int) -> list[list[Json]]:
    """From each its share; the last has what is left."""
    total, left, made = sum(map(len, lists)), most, list[list[Json]]()
    for place, each in enumerate(lists):
        share = left if place == len(lists) - 1 else min(left, len(each) * most // max(total, 1))
        made.append(each[:share])
        left -= len(made[-1])
    return made

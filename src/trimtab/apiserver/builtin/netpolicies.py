"""What is wrong with NetworkPolicies."""

from __future__ import annotations

import ipaddress
from typing import Any, Final, TypeAlias, cast

from trimtab.apiserver import causes
from trimtab.apiserver.builtin import texts
from trimtab.apiserver.builtin.selectors import check_selector
from trimtab.apiserver.causes import Cause

Json: TypeAlias = dict[str, Any]

_TYPES: Final = ("Ingress", "Egress")
_PROTOCOLS: Final = ("TCP", "UDP", "SCTP")


def fill_policy(obj: Json) -> None:
    """A policy that does not say what it is about is about what comes in, and what goes out if it tells of that."""
    spec = obj["spec"] = texts.spec_of(obj)
    if not spec.get("policyTypes"):
        spec["policyTypes"] = ["Ingress", *(["Egress"] if spec.get("egress") else [])]


def check_policy(obj: Json) -> list[Cause]:
    """What is wrong with a NetworkPolicy."""
    spec = texts.spec_of(obj)
    found = check_selector(texts.part(spec, "podSelector"), "spec.podSelector")
    for rules, peers in (("ingress", "from"), ("egress", "to")):
        for where, rule in texts.numbered(spec, "spec", rules):
            for at, port in texts.numbered(rule, where, "ports"):
                found += _check_port(port, at)
            for at, peer in texts.numbered(rule, where, peers):
                found += _check_peer(peer, at)
    types = cast("list[str]", spec.get("policyTypes") or [])
    if len(types) > len(_TYPES):
        found.append(causes.invalid("spec.policyTypes", types, "may not specify more than two policyTypes"))
        return found
    for index, each in enumerate(types):
        found += texts.one_of_needed(f"spec.policyTypes[{index}]", each, _TYPES)
    return found


def _check_port(each: Json, where: str) -> list[Cause]:
    found = texts.one_of(each, where, "protocol", _PROTOCOLS)
    port, end = each.get("port"), each.get("endPort")
    if port is None:
        if end is not None:
            found.append(causes.invalid(f"{where}.endPort", end, "may not be specified when `port` is not specified"))
        return found
    found += texts.port_or_name(f"{where}.port", port)
    if end is None:
        return found
    if not isinstance(port, int):
        found.append(causes.invalid(f"{where}.endPort", end, "may not be specified when `port` is non-numeric"))
        return found
    if end < port:
        found.append(causes.invalid(f"{where}.endPort", port, "must be greater than or equal to `port`"))
    return found + texts.port(f"{where}.endPort", end)


def _check_peer(peer: Json, where: str) -> list[Cause]:
    found: list[Cause] = []
    count = 0
    for name in ("podSelector", "namespaceSelector"):
        if peer.get(name) is not None:
            count += 1
            found += check_selector(peer[name], f"{where}.{name}")
    block = peer.get("ipBlock")
    if block is not None:
        count += 1
        found += _check_block(block, f"{where}.ipBlock")
    if not count:
        found.append(causes.required(where, "must specify a peer"))
    elif count > 1 and block is not None:
        found.append(causes.forbidden(where, "may not specify both ipBlock and another peer"))
    return found


def _check_block(block: Json, where: str) -> list[Cause]:
    cidr = block.get("cidr", "")
    if not cidr:
        return [causes.required(f"{where}.cidr")]
    if not texts.is_cidr(cidr):
        return [causes.invalid(f"{where}.cidr", cidr, texts.NO_CIDR)]
    whole = ipaddress.ip_network(cidr, strict=False)
    found: list[Cause] = []
    for at, each in texts.numbered(block, where, "except"):
        if not texts.is_cidr(each):
            found.append(causes.invalid(at, each, texts.NO_CIDR))
            continue
        part = ipaddress.ip_network(each, strict=False)
        inside = part.version == whole.version and part.network_address in whole
        if not inside or part.prefixlen <= whole.prefixlen:
            found.append(causes.invalid(at, each, "must be a strict subset of `cidr`"))
    return found

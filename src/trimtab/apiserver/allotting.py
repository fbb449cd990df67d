"""The station that gives Services what each has for itself: an address of the cluster, ports of its nodes.

Who holds what stands in the Services, and nowhere else. It is read from them once, and then from the log of their
bucket, so nothing can be lost or leak, whatever happens to the server. Between the choice and the commit, while
admission takes its time, what was chosen is reserved.
"""

from __future__ import annotations

import random
from collections.abc import Iterable
from ipaddress import IPv4Address
from typing import Any, Final, TypeAlias, cast

from trimtab.apiserver import causes, names, statuses
from trimtab.apiserver.builtin import texts
from trimtab.apiserver.builtin.services import NODE_PORTS, RANGE, allots_ports, checks_health
from trimtab.apiserver.causes import Cause
from trimtab.apiserver.objects import decode
from trimtab.apiserver.statuses import Refused
from trimtab.apiserver.storage import Store

Json: TypeAlias = dict[str, Any]

_BUCKET: Final = "services"
_AT_ONCE: Final = 10_000
_TRIES: Final = 32
_NO_PORT: Final = "provided port is not in the valid range. The range of valid ports is 30000-32767"
_LIKELY: Final = 32768
_TAKEN_PORT: Final = "provided port is already allocated"
_HEALTH: Final = "failed to allocate requested HealthCheck NodePort"


class Pool:
    """Numbers of which each is held by one."""

    def __init__(self, numbers: range, aside: int, dice: random.Random) -> None:
        self._numbers = numbers
        self._aside = aside  # so many at the beginning are for those who ask for one: others get them last
        self._dice = dice
        self._holders: dict[int, list[str]] = {}

    def hold(self, numbers: Iterable[int], key: str) -> None:
        """Somebody holds these."""
        for number in numbers:
            self._holders.setdefault(number, []).append(key)

    def release(self, numbers: Iterable[int], key: str) -> None:
        """And no longer."""
        for number in numbers:
            holders = self._holders[number]
            holders.remove(key)
            if not holders:
                del self._holders[number]

    def clear(self) -> None:
        """Nobody holds anything."""
        self._holders.clear()

    def is_free(self, number: int, key: str) -> bool:
        """Whether nobody else holds it."""
        return all(holder == key for holder in self._holders.get(number, ()))

    def find(self, chosen: Iterable[int]) -> int | None:
        """One that nobody holds, nor has just chosen; None where all are held."""
        taken = set(chosen)
        size = len(self._numbers)
        for _ in range(_TRIES):  # enough, unless most are held
            number = self._numbers[self._dice.randrange(self._aside, size)]
            if number not in self._holders and number not in taken:
                return number
        places = (*range(self._aside, size), *range(self._aside))
        free = (self._numbers[place] for place in places)
        return next((number for number in free if number not in self._holders and number not in taken), None)


class Allotments:
    """Who holds what."""

    def __init__(self, store: Store, dice: random.Random) -> None:
        self._bucket = store.bucket(_BUCKET)
        self._store = store
        self._place = -1
        first = int(RANGE.network_address)
        self._addresses = Pool(range(first + 1, first + RANGE.num_addresses - 1), 256, dice)
        self._ports = Pool(NODE_PORTS, 86, dice)
        self._held: dict[str, _Claim] = {}
        self._reserved: dict[str, _Claim] = {}

    def check_name(self, service: Json) -> list[Cause]:
        """Whether an address can be written down under the Service's name: that is tried before all else."""
        name, spec = service["metadata"].get("name", ""), cast("Json", service.get("spec") or {})
        if spec.get("type") == "ExternalName" or spec.get("clusterIP") == "None":
            return []
        wrong = [f"Invalid value: {causes.quoted(name)}: {why}" for why in names.path_segment(name)]
        if name and not wrong:
            return []
        number = self._addresses.find(()) or int(RANGE.network_address)
        address = spec.get("clusterIP") or str(IPv4Address(number))
        fault = f"spec.parentRef.name: {wrong[0] if wrong else 'Required value'}"
        why = (
            f"failed to allocate IP {address}: IPAddress.networking.k8s.io {causes.quoted(address)} is invalid: {fault}"
        )
        return [causes.invalid("spec.clusterIPs", spec.get("clusterIPs") or None, why)]

    def allot(self, key: str, service: Json, *, dry_run: bool = False) -> list[Cause]:
        """Give a Service that makes sense what it wants, or say why not. It is reserved until it is settled.

        For a trial nothing is looked for: it is told the first address of the range, and the port after the highest
        that it has, of those that most likely are none. Kubernetes has other words then, too.
        """
        self._catch_up()
        self.settle(key)
        spec = cast("Json", service.get("spec") or {})
        if spec.get("type") == "ExternalName":
            return []
        found = self._allot_address(key, service, spec, dry_run=dry_run)
        found = found or self._allot_ports(key, spec, dry_run=dry_run)
        if not found:
            self._allot_health_port(key, spec)
            claim = self._reserved[key] = _claim_of(service)
            self._hold(claim, key)
        return found

    def settle(self, key: str) -> None:
        """The Service is stored, or will not be."""
        claim = self._reserved.pop(key, None)
        if claim is not None:
            self._release(claim, key)

    # Who holds what

    def _catch_up(self) -> None:
        """Read what happened to Services since."""
        while True:
            records = None if self._place < 0 else self._bucket.read(self._place, _AT_ONCE)
            if records is None:
                self._begin()
                return
            if not records:
                return
            self._place += len(records)
            for record in records:
                self._keep(record.key, None if record.gone else record.data)

    def _begin(self) -> None:
        self._held.clear()
        self._addresses.clear()
        self._ports.clear()
        for key, claim in self._reserved.items():
            self._hold(claim, key)
        for record in self._store.scan(_BUCKET):
            self._keep(record.key, record.data)
        self._place = self._bucket.place_after(self._store.revision)

    def _keep(self, key: str, data: bytes | None) -> None:
        before = self._held.pop(key, None)
        if before is not None:
            self._release(before, key)
        if data is not None:
            claim = self._held[key] = _claim_of(decode(data))
            self._hold(claim, key)

    def _hold(self, claim: _Claim, key: str) -> None:
        self._addresses.hold(claim[0], key)
        self._ports.hold(claim[1], key)

    def _release(self, claim: _Claim, key: str) -> None:
        self._addresses.release(claim[0], key)
        self._ports.release(claim[1], key)

    # What one gets

    def _allot_address(self, key: str, service: Json, spec: Json, *, dry_run: bool) -> list[Cause]:
        first = spec.get("clusterIP", "")
        if not first:
            number = int(RANGE.network_address) if dry_run else self._addresses.find(())
            if number is None:
                name = causes.quoted(service["metadata"].get("name", ""))
                raise statuses.internal(f"failed to allocate a serviceIP for Service {name}: range is full")
            first = spec["clusterIP"] = str(IPv4Address(number))
            spec["clusterIPs"] = [first]
        elif first != "None":
            address, given = texts.address(first), spec.get("clusterIPs")
            why = ""
            if address is not None and address not in RANGE:
                told = f"the provided IP ({first}) is not in the valid range. The range of valid IPs is {RANGE}"
                why = told if dry_run else "the provided network does not match the current range"
            elif address is not None and not self._addresses.is_free(int(address), key):
                why = "provided IP is already allocated"
            if why:
                return [causes.invalid("spec.clusterIPs", given, f"failed to allocate IP {first}: {why}")]
        both = first == "None" and not spec.get("selector")  # whoever lists its addresses may list any
        if both and "ipFamilies" not in spec and spec.get("ipFamilyPolicy") != "SingleStack":
            spec["ipFamilies"] = ["IPv4", "IPv6"]
            spec.setdefault("ipFamilyPolicy", "RequireDualStack")
        spec.setdefault("ipFamilies", ["IPv4"])
        spec.setdefault("ipFamilyPolicy", "SingleStack")
        return []

    def _allot_ports(self, key: str, spec: Json, *, dry_run: bool) -> list[Cause]:
        """Ports of nodes. What listens at one port by two protocols gets one port of the nodes."""
        if spec.get("type") not in ("NodePort", "LoadBalancer"):
            return []
        gives = allots_ports(spec)
        chosen: dict[int, int] = {}
        ports = [dict(each) for each in cast("list[Json]", spec.get("ports") or [])]
        for index, each in enumerate(ports):
            if not each.get("nodePort") and not gives:
                continue
            number = each.get("port", 0)
            asked = each.get("nodePort") or chosen.get(number) or _asked(ports, number)
            if not asked:
                asked = max(chosen.values(), default=_LIKELY) + 1 if dry_run else self._free_port(chosen.values())
            elif asked != chosen.get(number):
                taken = asked in chosen.values()
                why = _TAKEN_PORT if taken else self._refuses_port(key, asked, anywhere=dry_run)
                if why:
                    return [causes.invalid(f"spec.ports[{index}].nodePort", asked, why)]
            each["nodePort"] = asked
            chosen.setdefault(number, asked)
        if ports:
            spec["ports"] = ports
        return []

    def _allot_health_port(self, key: str, spec: Json) -> None:
        if not checks_health(spec):
            return
        used = {each.get("nodePort", 0) for each in cast("list[Json]", spec.get("ports") or [])}
        asked = spec.get("healthCheckNodePort")
        if not asked:
            spec["healthCheckNodePort"] = self._free_port(used)
            return
        why = _TAKEN_PORT if asked in used else self._refuses_port(key, asked)
        if why:
            raise statuses.internal(f"{_HEALTH} {asked}: {why}")

    def _free_port(self, chosen: Iterable[int]) -> int:
        number = self._ports.find(chosen)
        if number is None:
            raise _no_ports()
        return number

    def _refuses_port(self, key: str, number: int, *, anywhere: bool = False) -> str:
        """Why a port cannot be had, or ""; `anywhere` lets it be none of the nodes' range."""
        if number not in NODE_PORTS and not anywhere:
            return _NO_PORT
        return "" if self._ports.is_free(number, key) else _TAKEN_PORT


_Claim: TypeAlias = tuple[frozenset[int], frozenset[int]]
"""Addresses and ports, as numbers."""


def _claim_of(service: Json) -> _Claim:
    spec = cast("Json", service.get("spec") or {})
    addresses = (texts.address(each) for each in cast("list[str]", spec.get("clusterIPs") or []))
    ports = [each.get("nodePort", 0) for each in cast("list[Json]", spec.get("ports") or [])]
    ports.append(spec.get("healthCheckNodePort", 0))
    return frozenset(int(each) for each in addresses if each is not None), frozenset(filter(None, ports))


def _asked(ports: list[Json], number: int) -> int:
    """The port of the nodes that somebody asked for, for the other protocol of a port."""
    return next((each["nodePort"] for each in ports if each.get("port") == number and each.get("nodePort")), 0)


def _no_ports() -> Refused:
    return statuses.internal("failed to allocate a nodePort: range is full")

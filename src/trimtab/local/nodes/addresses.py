"""Addresses of simulated nodes, and of the Pods on them. Nothing listens at any of them."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from ipaddress import IPv4Address, IPv4Network
from typing import Final

from trimtab.controller import Options
from trimtab.errors import TrimtabError

_PODS: Final = IPv4Network("10.128.0.0/9")
_PREFIX: Final = 22  # about a thousand Pods on each node
_HOSTS: Final = IPv4Address("172.18.0.2")
_RESERVED: Final = 2  # the network's own address, and its gateway's


class NoAddress(TrimtabError):
    """All addresses are taken."""


def free_network(taken: Iterable[str]) -> str:
    """The first network for the Pods of a node that no other node has."""
    used = set(taken)
    for network in _PODS.subnets(new_prefix=_PREFIX):
        if str(network) not in used:
            return str(network)
    raise NoAddress(f"all networks of {_PODS} are taken: delete nodes that are not needed")


@cache
def host_address(network: str) -> str:
    """The address of a node, by the network of its Pods."""
    first = IPv4Network(network).network_address
    number = (int(first) - int(_PODS.network_address)) >> (32 - _PREFIX)
    return str(_HOSTS + number) if first in _PODS else str(first + 1)


class Addresses:
    """Who has which address. What is known of Pods that are there is told by `claim` before any is given out."""

    def __init__(self, _: Options | None = None) -> None:
        self.complete = False
        """Whether all that is there was claimed."""
        self._of: dict[str, tuple[str, str]] = {}  # by the Pod's key: its uid and its address
        self._taken: set[str] = set()
        self._next: dict[str, int] = {}

    def claim(self, key: str, uid: str, address: str) -> None:
        """A Pod has this address already."""
        self.release(key)
        self._of[key] = uid, address
        self._taken.add(address)

    def take(self, key: str, uid: str, network: str) -> str:
        """An address for a Pod on the node with this network; the same one, if it is asked for again."""
        if (there := self._of.get(key)) is not None and there[0] == uid:
            return there[1]
        within = IPv4Network(network)
        size, start = within.num_addresses, self._next.get(network, _RESERVED)
        for step in range(size):
            place = (start + step) % size
            address = str(within.network_address + place)
            if _RESERVED <= place < size - 1 and address not in self._taken:
                self._next[network] = place + 1
                self.claim(key, uid, address)
                return address
        raise NoAddress(f"all addresses of {network} are taken: its node has more Pods than it can have addresses")

    def release(self, key: str) -> None:
        """The Pod is gone."""
        if (there := self._of.pop(key, None)) is not None:
            self._taken.discard(there[1])

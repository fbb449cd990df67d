"""Which addresses may be fetched from. Pure.

Users write URLs, and the controller fetches them from where it stands: inside of the cluster, where metadata services,
the API server and everybody's databases are. So it goes only where anybody on the internet could go, unless whoever
runs it allows more.
"""

from __future__ import annotations

from collections.abc import Iterable
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Final, TypeAlias

Address: TypeAlias = IPv4Address | IPv6Address
Network: TypeAlias = IPv4Network | IPv6Network

_SPECIAL_4: Final = {
    IPv4Network("0.0.0.0/8"): "this host",
    IPv4Network("10.0.0.0/8"): "private",
    IPv4Network("100.64.0.0/10"): "a provider's inside",
    IPv4Network("127.0.0.0/8"): "loopback",
    IPv4Network("169.254.0.0/16"): "link-local, where clouds keep their metadata",
    IPv4Network("168.63.129.16/32"): "a cloud's metadata",
    IPv4Network("172.16.0.0/12"): "private",
    IPv4Network("192.0.0.0/24"): "special",
    IPv4Network("192.0.2.0/24"): "for documentation",
    IPv4Network("192.88.99.0/24"): "a relay",
    IPv4Network("192.168.0.0/16"): "private",
    IPv4Network("198.18.0.0/15"): "for benchmarks",
    IPv4Network("198.51.100.0/24"): "for documentation",
    IPv4Network("203.0.113.0/24"): "for documentation",
    IPv4Network("224.0.0.0/4"): "multicast",
    IPv4Network("240.0.0.0/4"): "reserved",
}
_GLOBAL_6: Final = IPv6Network("2000::/3")
_SPECIAL_6: Final = {
    IPv6Network("2001::/23"): "special",
    IPv6Network("2001:db8::/32"): "for documentation",
    IPv6Network("2002::/16"): "an IPv4 address in disguise",
    IPv6Network("3fff::/20"): "for documentation",
}


def network(text: str) -> Network:
    """Read a network such as `10.0.0.0/8`; one address is a network too."""
    return ip_network(text)


def refusal(text: str, allowed: Iterable[Network] = ()) -> str | None:
    """Why nothing is fetched from this address, in a few words; None where it may be."""
    address = ip_address(text.partition("%")[0])
    if isinstance(address, IPv6Address) and address.ipv4_mapped is not None:
        address = address.ipv4_mapped  # the kernel connects to that one
    if any(address in each for each in allowed):
        return None
    if isinstance(address, IPv4Address):
        return next((why for special, why in _SPECIAL_4.items() if address in special), None)
    if address not in _GLOBAL_6:
        return "loopback" if address.is_loopback else "link-local" if address.is_link_local else "not public"
    return next((why for special, why in _SPECIAL_6.items() if address in special), None)

"""URLs, IP addresses and networks."""

from __future__ import annotations

import ipaddress
import math
from dataclasses import dataclass
from typing import Final, TypeAlias

from trimtab.apiserver.cel import types as t
from trimtab.apiserver.cel.errors import EvaluationError
from trimtab.apiserver.cel.functions import Library
from trimtab.apiserver.cel.uris import Uri, UriError, go_quote, parse_request_uri

URLS: Final = Library()
IPS: Final = Library()
CIDRS: Final = Library()

_Address: TypeAlias = ipaddress.IPv4Address | ipaddress.IPv6Address


@dataclass(frozen=True, slots=True)
class Ip:
    """An IP address."""

    address: _Address
    type_name = "net.IP"

    @property
    def cost_size(self) -> int:
        """Its bytes."""
        return self.address.max_prefixlen // 8


@dataclass(frozen=True, slots=True)
class Cidr:
    """A network: an address with the length of its prefix."""

    address: _Address
    bits: int
    type_name = "net.CIDR"

    @property
    def cost_size(self) -> int:
        """The bytes of its prefix."""
        return math.ceil(self.bits / 8)

    @property
    def network(self) -> ipaddress.IPv4Network | ipaddress.IPv6Network:
        """All its addresses."""
        return ipaddress.ip_network(f"{self.address}/{self.bits}", strict=False)


class _AddressError(Exception):
    """Why a text is no address, as Go's net/netip says."""


def _url(text: str) -> Uri:
    try:
        parse_request_uri(text)
        return parse_request_uri(text.partition("#")[0])
    except UriError as error:
        raise EvaluationError(f"URL parse error during conversion from string: {error}") from None


def _is_url(text: str) -> bool:
    try:
        parse_request_uri(text)
    except UriError:
        return False
    return True


_S = t.STRING
URLS.function("url", "string_to_url", [_S], t.URL, _url)
URLS.function("isURL", "is_url_string", [_S], t.BOOL, _is_url)
URLS.member("getScheme", "url_get_scheme", [t.URL], _S, lambda url: url.scheme)
URLS.member("getHost", "url_get_host", [t.URL], _S, lambda url: url.host)
URLS.member("getHostname", "url_get_hostname", [t.URL], _S, lambda url: url.hostname)
URLS.member("getPort", "url_get_port", [t.URL], _S, lambda url: url.port)
URLS.member("getEscapedPath", "url_get_escaped_path", [t.URL], _S, lambda url: url.escaped_path)
URLS.member("getQuery", "url_get_query", [t.URL], t.map_of(_S, t.list_of(_S)), lambda url: url.parameters())


def parse_address(text: str) -> tuple[_Address, str]:
    """Read an address and its zone, or raise _AddressError."""
    for c in text:
        if c == ".":
            return _v4(text), ""
        if c == ":":
            return _v6(text)
        if c == "%":
            raise _AddressError(f"ParseAddr({go_quote(text)}): missing IPv6 address")
    raise _AddressError(f"ParseAddr({go_quote(text)}): unable to parse IP")


def _v4(text: str) -> ipaddress.IPv4Address:
    def wrong(problem: str, at: str = "") -> _AddressError:
        return _AddressError(f"ParseAddr({go_quote(text)}): {problem}" + (f" (at {go_quote(at)})" if at else ""))

    fields: list[int] = []
    value = digits = 0
    for n, c in enumerate(text):
        if "0" <= c <= "9":
            if digits == 1 and value == 0:
                raise wrong("IPv4 field has octet with leading zero")
            value = value * 10 + int(c)
            digits += 1
            if value > 255:
                raise wrong("IPv4 field has value >255")
        elif c == ".":
            if digits == 0 or n == len(text) - 1:
                raise wrong("IPv4 field must have at least one digit", text[n:])
            if len(fields) == 3:
                raise wrong("IPv4 address too long")
            fields.append(value)
            value = digits = 0
        else:
            raise wrong("unexpected character", text[n:])
    if len(fields) < 3:
        raise wrong("IPv4 address too short")
    return ipaddress.IPv4Address(bytes([*fields, value]))


def _v6(text: str) -> tuple[ipaddress.IPv6Address, str]:
    address, percent, zone = text.partition("%")
    if percent and not zone:
        raise _AddressError(f"ParseAddr({go_quote(text)}): zone must be a non-empty string")
    try:
        return ipaddress.IPv6Address(address), zone
    except ValueError:
        raise _AddressError(f"ParseAddr({go_quote(text)}): {_v6_problem(address)}") from None


def _v6_problem(text: str) -> str:
    if text.count("::") > 1 or ":::" in text:
        return (
            f"each colon-separated field must have at least one digit (at {go_quote(text[text.find(':::') + 2 :])})"
            if ":::" in text
            else "multiple :: in address"
        )
    at = 0
    for group in text.split(":"):
        rest = text[at:]
        if len(group) > 4 and "." not in group:
            return f"each group must have 4 or less digits (at {go_quote(rest)})"
        digits = len(group) - len(group.lstrip("0123456789abcdefABCDEF"))
        if digits < len(group) and "." not in group:
            if digits == 0:
                return f"each colon-separated field must have at least one digit (at {go_quote(rest)})"
            return f"unexpected character, want colon (at {go_quote(rest[digits:])})"
        at += len(group) + 1
    if text.endswith(":"):
        return f"colon must be followed by more characters (at {go_quote(':')})"
    groups = text.count(":") + 1
    if groups > 8:
        return f"trailing garbage after address (at {go_quote(':'.join(text.split(':')[8:]))})"
    return "address string too short"


def ip(text: str) -> Ip:
    """Read an address, or raise EvaluationError."""
    try:
        address, zone = parse_address(text)
    except _AddressError as error:
        raise EvaluationError(
            f"IP Address {go_quote(text)} parse error during conversion from string: {error}"
        ) from None
    if zone:
        raise EvaluationError(f"IP address {go_quote(text)} with zone value is not allowed")
    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped:
        raise EvaluationError(f"IPv4-mapped IPv6 address {go_quote(text)} is not allowed")
    return Ip(address)


def _is_ip(text: str) -> bool:
    try:
        ip(text)
    except EvaluationError:
        return False
    return True


def _is_canonical(text: str) -> bool:
    return str(ip(text).address) == text


def _is_global_unicast(value: Ip) -> bool:
    address = value.address
    if isinstance(address, ipaddress.IPv4Address) and int(address) == 0xFFFFFFFF:
        return False
    return not (address.is_unspecified or address.is_loopback or address.is_multicast or address.is_link_local)


def _is_link_local_multicast(value: Ip) -> bool:
    packed = value.address.packed
    return packed[:3] == b"\xe0\x00\x00" if len(packed) == 4 else packed[0] == 0xFF and packed[1] & 0x0F == 0x02


IPS.function("ip", "string_to_ip", [_S], t.IP, ip)
IPS.member("family", "ip_family", [t.IP], t.INT, lambda value: value.address.version)
IPS.function("ip.isCanonical", "ip_is_canonical", [_S], t.BOOL, _is_canonical)
IPS.member("isUnspecified", "ip_is_unspecified", [t.IP], t.BOOL, lambda value: value.address.is_unspecified)
IPS.member("isLoopback", "ip_is_loopback", [t.IP], t.BOOL, lambda value: value.address.is_loopback)
IPS.member("isLinkLocalMulticast", "ip_is_link_local_multicast", [t.IP], t.BOOL, _is_link_local_multicast)
IPS.member("isLinkLocalUnicast", "ip_is_link_local_unicast", [t.IP], t.BOOL, lambda value: value.address.is_link_local)
IPS.member("isGlobalUnicast", "ip_is_global_unicast", [t.IP], t.BOOL, _is_global_unicast)
IPS.function("isIP", "is_ip", [_S], t.BOOL, _is_ip)
IPS.function("string", "ip_to_string", [t.IP], _S, lambda value: str(value.address))


def cidr(text: str) -> Cidr:
    """Read a network, or raise EvaluationError."""
    prefix = "network address parse error during conversion from string: "
    try:
        return _cidr(text)
    except _AddressError as error:
        problem = f"netip.ParsePrefix({go_quote(text)}): {error}"
        raise EvaluationError(f"{prefix}{prefix}{problem}") from None
    except EvaluationError as error:
        raise EvaluationError(f"{prefix}{error}") from None


def _cidr(text: str) -> Cidr:
    before, slash, bits = text.rpartition("/")
    if not slash:
        raise _AddressError("no '/'")
    address, zone = parse_address(before)
    if zone:
        raise _AddressError("IPv6 zones cannot be present in a prefix")
    if not (bits.isascii() and bits.isdigit()) or (len(bits) > 1 and bits[0] == "0") or len(bits) > 18:
        raise _AddressError(f"bad bits after slash: {go_quote(bits)}")
    if int(bits) > address.max_prefixlen:
        raise _AddressError("prefix length out of range")
    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped:
        raise EvaluationError(f"IPv4-mapped IPv6 address {go_quote(text)} is not allowed")
    return Cidr(address, int(bits))


def _is_cidr(text: str) -> bool:
    try:
        cidr(text)
    except EvaluationError:
        return False
    return True


def _contains_ip(network: Cidr, address: Ip) -> bool:
    return address.address.version == network.address.version and address.address in network.network


def _contains_ip_string(network: Cidr, text: str) -> bool:
    try:
        return _contains_ip(network, ip(text))
    except EvaluationError:
        raise EvaluationError("no such overload") from None


def _contains_cidr(network: Cidr, other: Cidr) -> bool:
    if network.address.version != other.address.version or network.bits > other.bits:
        return False
    return other.address in network.network


def _masked(network: Cidr) -> Cidr:
    return Cidr(network.network.network_address, network.bits)


def _text(network: Cidr) -> str:
    return f"{network.address}/{network.bits}"


CIDRS.function("cidr", "string_to_cidr", [_S], t.CIDR, cidr)
CIDRS.member("containsIP", "cidr_contains_ip_string", [t.CIDR, _S], t.BOOL, _contains_ip_string)
CIDRS.member("containsIP", "cidr_contains_ip_ip", [t.CIDR, t.IP], t.BOOL, _contains_ip)
CIDRS.member(
    "containsCIDR",
    "cidr_contains_cidr_string",
    [t.CIDR, _S],
    t.BOOL,
    lambda network, text: _contains_cidr(network, cidr(text)),
)
CIDRS.member("containsCIDR", "cidr_contains_cidr", [t.CIDR, t.CIDR], t.BOOL, _contains_cidr)
CIDRS.member("ip", "cidr_ip", [t.CIDR], t.IP, lambda network: Ip(network.address))
CIDRS.member("prefixLength", "cidr_prefix_length", [t.CIDR], t.INT, lambda network: network.bits)
CIDRS.member("masked", "cidr_masked", [t.CIDR], t.CIDR, _masked)
CIDRS.function("isCIDR", "is_cidr", [_S], t.BOOL, _is_cidr)
CIDRS.function("string", "cidr_to_string", [t.CIDR], _S, _text)

"""Which HTTP proxy, if any, stands between a client and its server.

The rules are Go's, so that kubectl and a controller in the same shell take the same way.
"""

import ipaddress
from collections.abc import Mapping
from urllib.parse import SplitResult, urlsplit

from trimtab.client.config.errors import ConfigError

_Address = ipaddress.IPv4Address | ipaddress.IPv6Address
_DEFAULT_PORTS = {"http": 80, "https": 443}


def proxy_from_environment(server: str, environ: Mapping[str, str]) -> str | None:
    """Return the proxy that HTTPS_PROXY, HTTP_PROXY and NO_PROXY, in either case, name for a server's URL."""
    url = urlsplit(server)
    variable = f"{url.scheme.upper()}_PROXY"
    proxy = _either_case(environ, variable)
    if not proxy or _is_exempt(url, _either_case(environ, "NO_PROXY")):
        return None
    return check_proxy(proxy if "://" in proxy else f"http://{proxy}", f"the environment's {variable}")


def check_proxy(proxy: str, origin: str) -> str:
    """Return a proxy's URL if it can be used; the ConfigError otherwise does not repeat it: it may hold a password."""
    try:
        url = urlsplit(proxy)
        usable = bool(url.hostname) and url.port != 0
    except ValueError:
        raise ConfigError(f"{origin} is not a URL") from None  # the cause would quote the password
    if url.scheme not in _DEFAULT_PORTS:
        raise ConfigError(
            f"{origin} has the scheme {url.scheme!r}, which is not supported; use an http:// or https:// proxy"
        )
    if not usable:
        raise ConfigError(f"{origin} names no host")
    return proxy


def _either_case(environ: Mapping[str, str], name: str) -> str:
    return environ.get(name) or environ.get(name.lower()) or ""


def _is_exempt(url: SplitResult, no_proxy: str) -> bool:
    host = (url.hostname or "").strip()
    port = url.port or _DEFAULT_PORTS.get(url.scheme)
    address = _address(host)
    if host == "localhost" or (address is not None and address.is_loopback):
        return True
    return any(_matches(entry.strip().lower(), host, port, address) for entry in no_proxy.split(","))


def _matches(entry: str, host: str, port: int | None, address: _Address | None) -> bool:
    """Whether an entry of NO_PROXY covers a host: a network, or an address or a domain with or without a port."""
    if entry in ("", "*"):
        return entry == "*"
    name, only_port = _split_port(entry)
    if address is not None:
        return (
            _in_network(address, entry) if "/" in entry else _address(name) == address and only_port in ("", str(port))
        )
    if name in ("", "*.") or only_port not in ("", str(port)):
        return False
    if name.startswith("*."):
        name = name[1:]
    if name.startswith("."):  # its subdomains alone
        return host.endswith(name)
    return host == name or host.endswith(f".{name}")


def _split_port(entry: str) -> tuple[str, str]:
    if entry.startswith("["):
        name, _, port = entry[1:].partition("]:")
        return name, port
    if entry.count(":") > 1:  # an IPv6 address
        return entry, ""
    name, _, port = entry.partition(":")
    return name, port


def _address(text: str) -> _Address | None:
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return None
    return getattr(address, "ipv4_mapped", None) or address


def _in_network(address: _Address, entry: str) -> bool:
    try:
        return address in ipaddress.ip_network(entry, strict=False)
    except ValueError:
        return False

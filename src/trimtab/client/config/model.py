"""What it takes to talk to one server as somebody. Where that is found is in loading.py."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from trimtab.client.config.credentials import Credentials, Fixed
from trimtab.client.config.errors import ConfigError
from trimtab.client.config.tls import TLS
from trimtab.errors import one_line


@dataclass(frozen=True, slots=True, kw_only=True)
class Impersonate:
    """Whom to act as. The server asks whether one may."""

    user: str
    uid: str | None = None
    groups: tuple[str, ...] = ()
    extra: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])

    @property
    def headers(self) -> tuple[tuple[str, str], ...]:
        """The headers of each request, some of them more than once."""
        headers = [("Impersonate-User", self.user)]
        if self.uid:
            headers.append(("Impersonate-Uid", self.uid))
        headers += [("Impersonate-Group", group) for group in self.groups]
        headers += [
            (f"Impersonate-Extra-{_header_name(key)}", value) for key, values in self.extra.items() for value in values
        ]
        return tuple(headers)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Config:
    """One server, and who talks to it.

    `server` is its URL, perhaps with a path before `/api`. `source` says in errors where all this was found. `proxy` is
    the URL of the proxy to go through, with its password if it has one; `proxy_tls` is for reaching an https:// proxy.
    `compress`: whether answers may be compressed.
    """

    server: str
    source: str = "the given configuration"
    namespace: str | None = None
    context: str | None = None
    tls: TLS = field(default_factory=TLS)
    credentials: Credentials = field(default_factory=Fixed)
    proxy: str | None = None
    proxy_tls: TLS = field(default_factory=TLS)
    impersonate: Impersonate | None = None
    compress: bool = True

    def __post_init__(self) -> None:
        check_server(self.server, self.source)

    def __repr__(self) -> str:
        return f"Config(server={self.server!r}, source={self.source!r}, namespace={self.namespace!r})"


def check_server(server: str, origin: str) -> None:
    """Raise a ConfigError that begins with `origin` unless a server can be reached by this URL."""
    if not server:
        raise ConfigError(f"{origin} has no server")
    shown = one_line(server.rpartition("@")[2], 80)  # without a password
    if not (server.isascii() and server.isprintable() and " " not in server):
        raise ConfigError(f"{origin} has the server {shown!r}, with a character that no URL has")
    try:
        url = urlsplit(server)
        usable = url.scheme in ("http", "https") and bool(url.hostname) and url.port != 0
    except ValueError:
        url, usable = urlsplit(""), False
    if not usable:
        raise ConfigError(f"{origin} has the server {shown!r}, which is not an http:// or https:// URL")
    if url.username is not None:
        raise ConfigError(f"{origin} has a user in its server's URL; write it under users, or into credentials")


_UNRESERVED = frozenset(b"!#$&'*+-.^_`|~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz")


def _header_name(key: str) -> str:
    """Percent-encode what a header's name cannot hold, and the percent sign."""
    return "".join(chr(byte) if byte in _UNRESERVED else f"%{byte:02X}" for byte in key.encode())

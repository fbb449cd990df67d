"""What it takes to talk to one server as somebody. Where that is found is in loading.py."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from trimtab.client.config.credentials import Credentials, Fixed
from trimtab.client.config.tls import TLS


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
    the URL of the proxy to go through, with its password if it has one. `compress`: whether answers may be compressed.
    """

    server: str
    source: str = "the given configuration"
    namespace: str | None = None
    context: str | None = None
    tls: TLS = field(default_factory=TLS)
    credentials: Credentials = field(default_factory=Fixed)
    proxy: str | None = None
    impersonate: Impersonate | None = None
    compress: bool = True

    def __repr__(self) -> str:
        return f"Config(server={self.server!r}, source={self.source!r}, namespace={self.namespace!r})"


_UNRESERVED = frozenset(b"!#$&'*+-.^_`|~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz")


def _header_name(key: str) -> str:
    """Percent-encode what a header's name cannot hold, and the percent sign."""
    return "".join(chr(byte) if byte in _UNRESERVED else f"%{byte:02X}" for byte in key.encode())

"""URLs as Go's net/url reads them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final
from urllib.parse import unquote_to_bytes

from trimtab.apiserver.cel.errors import CelError

_SCHEME: Final = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]*")
_BAD_ESCAPE: Final = re.compile(r"%(?![0-9a-fA-F]{2}).{0,2}", re.DOTALL)
_PORT: Final = re.compile(r"(?::[0-9]*)?")
_HOST_BAD: Final = re.compile(r"[^-A-Za-z0-9_.~!$&'()*+,;=:\[\]<>\"%\x80-\U0010ffff]")
_USER_BAD: Final = re.compile(r"[^-A-Za-z0-9._:~!$&'()*+,;=%@]")
_PATH_KEPT: Final = re.compile(r"[-A-Za-z0-9_.~$&+,/:;=@!'()*\[\]%]*")
_SAFE_IN_PATH: Final = frozenset(b"-_.~$&+,/:;=@abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789")


class UriError(CelError):
    """A text is no URL that a request can go to."""

    def __init__(self, text: str, problem: str) -> None:
        super().__init__(f"parse {go_quote(text)}: {problem}")


@dataclass(frozen=True, slots=True)
class Uri:
    """A parsed URL."""

    scheme: str
    host: str
    path: str
    query: str
    text: str
    type_name = "kubernetes.URL"

    @property
    def hostname(self) -> str:
        """The host without its port, and without the brackets of IPv6."""
        host, colon, port = self.host.rpartition(":")
        if not colon or not ((port.isascii() and port.isdigit()) or not port) or port.endswith("]"):
            host = self.host
        return host[1:-1] if host.startswith("[") and host.endswith("]") else host

    @property
    def port(self) -> str:
        """The port, if one is written."""
        _, colon, port = self.host.rpartition(":")
        return port if colon and (port.isascii() and port.isdigit()) else ""

    @property
    def escaped_path(self) -> str:
        """The path as it has to be sent."""
        if _PATH_KEPT.fullmatch(self.path):
            return self.path
        if self.path == "*":
            return "*"
        raw = unquote_to_bytes(self.path)
        return "".join(chr(b) if b in _SAFE_IN_PATH else f"%{b:02X}" for b in raw)

    def parameters(self) -> dict[str, list[str]]:
        """The query's values by name; parts that are malformed are left out."""
        found: dict[str, list[str]] = {}
        for part in self.query.split("&"):
            if not part or ";" in part or _BAD_ESCAPE.search(part):
                continue
            key, _, value = part.partition("=")
            found.setdefault(_decoded(key), []).append(_decoded(value))
        return found


def go_quote(text: str) -> str:
    """A text in double quotes, as Go's %q writes it."""
    parts: list[str] = []
    for c in text:
        if c in '"\\':
            parts.append("\\" + c)
        elif c in _ESCAPES:
            parts.append(_ESCAPES[c])
        elif c.isprintable():
            parts.append(c)
        else:
            code = ord(c)
            parts.append(f"\\x{code:02x}" if code < 0x80 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}")
    return '"' + "".join(parts) + '"'


_ESCAPES: Final = {
    "\a": "\\a", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\v": "\\v",
}  # fmt: skip


def parse_request_uri(text: str) -> Uri:
    """Read an absolute URL or an absolute path, or raise UriError."""
    if any(ord(c) < 0x20 or c == "\x7f" for c in text):
        raise UriError(text, "net/url: invalid control character in URL")
    if not text:
        raise UriError(text, "empty url")
    scheme, rest = _split_scheme(text)
    before, mark, query = rest.partition("?")
    rest, query = (before, query) if mark else (rest, "")
    host = ""
    if not rest.startswith("/"):
        if scheme:
            return Uri(scheme.lower(), "", "", query, text)
        raise UriError(text, "invalid URI for request")
    if (scheme or not rest.startswith("///")) and rest.startswith("//"):
        authority, slash, path = rest[2:].partition("/")
        rest = slash + path
        host = _host(text, authority)
    _check_escapes(text, rest)
    return Uri(scheme.lower(), host, rest, query, text)


def _split_scheme(text: str) -> tuple[str, str]:
    for at, c in enumerate(text):
        if c == ":":
            if at == 0:
                raise UriError(text, "missing protocol scheme")
            return text[:at], text[at + 1 :]
        if not (c.isascii() and (c.isalpha() or (at and (c.isdigit() or c in "+-.")))):
            if at and c.isascii() and (c.isdigit() or c in "+-."):
                continue
            break
    return "", text


def _host(text: str, authority: str) -> str:
    user, at, host = authority.rpartition("@")
    if at:
        if _USER_BAD.search(user):
            raise UriError(text, "net/url: invalid userinfo")
        _check_escapes(text, user)
    if host.startswith("["):
        close = host.rfind("]")
        if close < 0:
            raise UriError(text, "missing ']' in host")
        port = host[close + 1 :]
    elif host.count(":") > 1:
        port = host[host.index(":") :]
    else:
        port = host[host.rfind(":") :] if ":" in host else ""
    if not _PORT.fullmatch(port):
        raise UriError(text, f"invalid port {go_quote(port)} after host")
    bad = _HOST_BAD.search(host)
    if bad:
        raise UriError(text, f"invalid character {go_quote(bad.group())} in host name")
    if "%" in host:
        if not (host.startswith("[") and "%25" in host):
            escape = host[host.index("%") : host.index("%") + 3]
            raise UriError(text, f"invalid URL escape {go_quote(escape)}")
        host = host.replace("%25", "%", 1)
    return host


def _check_escapes(text: str, part: str) -> None:
    bad = _BAD_ESCAPE.search(part)
    if bad:
        raise UriError(text, f"invalid URL escape {go_quote(bad.group())}")


def _decoded(text: str) -> str:
    return unquote_to_bytes(text.replace("+", " ")).decode("utf-8", "replace")

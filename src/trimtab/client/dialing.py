"""Opening a connection: TCP, a tunnel where a proxy stands between, TLS."""

from __future__ import annotations

import asyncio
import base64
import re
import socket
import ssl
from collections.abc import Callable
from typing import TypeVar
from urllib.parse import SplitResult, unquote, urlsplit

from aiohappyeyeballs import start_connection  # pyright: ignore[reportUnknownVariableType]  # it says `tuple`, of what not

from trimtab.client.config.model import Config
from trimtab.client.config.tls import TLS
from trimtab.client.connection import Connection
from trimtab.client.encryption import Encryption
from trimtab.client.failures import ProxyError, reason

P = TypeVar("P", bound=asyncio.Protocol)
_PORTS = {"http": 80, "https": 443}
_KEEPALIVE = {"TCP_KEEPIDLE": 30, "TCP_KEEPINTVL": 10, "TCP_KEEPCNT": 3}  # seconds, seconds, tries
_HEAD_END = b"\r\n\r\n"
_LARGEST_HEAD = 64 << 10
_STATUS_LINE = re.compile(rb"HTTP/1\.[01] (\d{3}) ?([^\r\n]*)")


async def dial(config: Config, context: ssl.SSLContext | None, make: Callable[[], Connection]) -> Connection:
    """Open a connection to the server; without a context, an unencrypted one."""
    loop = asyncio.get_running_loop()
    host, port = _address(urlsplit(config.server))
    name = (config.tls.server_name or host) if context else None
    if config.proxy is None:
        opened = await _open_socket(host, port)
        if context is None:
            _, connection = await loop.create_connection(make, sock=opened)
            return connection
        connection = make()
        transport, encryption = await loop.create_connection(lambda: Encryption(connection, context, name), sock=opened)
        return await _encrypted(transport, encryption, connection)
    proxy = urlsplit(config.proxy)
    if context is None:  # nothing to hide from the proxy, which reads the whole URL in each request
        _, connection = await _reach(proxy, config.proxy_tls, make)
        return connection
    transport, tunnel = await _reach(proxy, config.proxy_tls, _Tunnel)
    try:
        target = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        await tunnel.dig(transport, target, proxy_authorization(proxy))
    except BaseException:
        transport.abort()
        raise
    connection = make()
    encryption = Encryption(connection, context, name)
    transport.set_protocol(encryption)
    encryption.connection_made(transport)
    return await _encrypted(transport, encryption, connection)


async def _encrypted(transport: asyncio.Transport, encryption: Encryption, connection: Connection) -> Connection:
    try:
        await encryption.ready
    except BaseException:
        transport.abort()
        raise
    return connection


async def _reach(proxy: SplitResult, tls: TLS, make: Callable[[], P]) -> tuple[asyncio.Transport, P]:
    host, port = _address(proxy)
    context = tls.context() if proxy.scheme == "https" else None
    try:
        opened = await _open_socket(host, port)
        return await asyncio.get_running_loop().create_connection(
            make, sock=opened, ssl=context, server_hostname=(tls.server_name or host) if context else None
        )
    except OSError as error:
        raise ProxyError(f"the proxy {host}:{port} does not answer ({reason(error)})") from error


async def _open_socket(host: str, port: int) -> socket.socket:
    """Connect to a host, by IPv6 and IPv4 at nearly the same time where it has both: one of them may lead nowhere."""
    addresses = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return await start_connection(addresses, happy_eyeballs_delay=0.25, interleave=1, socket_factory=_make_socket)


def _make_socket(address: tuple[int, int, int, str, tuple[object, ...]]) -> socket.socket:
    """A socket that notices when the other side is gone for good, also where silence is allowed, as in a log."""
    family, kind, protocol, _, _ = address
    made = socket.socket(family, kind, protocol)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for option, value in _KEEPALIVE.items():
        if hasattr(socket, option):  # not every system has all three
            made.setsockopt(socket.IPPROTO_TCP, getattr(socket, option), value)
    return made


def proxy_authorization(proxy: SplitResult) -> str:
    """The header's line that shows the user and password of the proxy's URL, if it has them."""
    if proxy.username is None:
        return ""
    pair = f"{unquote(proxy.username)}:{unquote(proxy.password or '')}".encode()
    return f"Proxy-Authorization: Basic {base64.b64encode(pair).decode('ascii')}\r\n"


def _address(url: SplitResult) -> tuple[str, int]:
    if not url.hostname or url.scheme not in _PORTS:
        raise ValueError("neither http:// nor https:// and a host")
    return url.hostname, url.port or _PORTS[url.scheme]


class _Tunnel(asyncio.Protocol):
    """Asks a proxy to connect. Nothing may follow its answer: in TLS the client speaks first."""

    def __init__(self) -> None:
        self._heard = b""
        self._open: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    async def dig(self, transport: asyncio.Transport, target: str, authorization: str) -> None:
        transport.write(f"CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n{authorization}\r\n".encode("latin-1"))
        await self._open

    def data_received(self, data: bytes) -> None:
        self._heard += data
        head, end, more = self._heard.partition(_HEAD_END)
        if not end and len(head) <= _LARGEST_HEAD:
            return
        status = _STATUS_LINE.match(head)
        if status is None:
            self._refuse("it answers in no HTTP")
        elif not status[1].startswith(b"2"):
            self._refuse(b" ".join(status.groups()).decode("latin-1"))
        elif len(head) > _LARGEST_HEAD:
            self._refuse("its answer has no end")
        elif more:
            self._refuse("it goes on talking after its answer")
        elif not self._open.done():
            self._open.set_result(None)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002  # named as asyncio has it
        self._refuse("it hung up")

    def _refuse(self, why: str) -> None:
        if not self._open.done():
            self._open.set_exception(ProxyError(f"the proxy refuses to connect ({why})"))

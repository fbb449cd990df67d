"""Ports and plain requests on loopback: what is needed to start a local server and to see that it is up."""

import http.client
import json
import random
import socket
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HOST = "127.0.0.1"

# Below the ports that kernels hand to outgoing connections (from 32768 on Linux, 49152 elsewhere): a client that keeps
# dialing a killed server would otherwise sooner or later get that very port as its own, connect to itself, and the
# server could never come back on it.
_PORTS = range(20_000, 32_768)


def free_ports(count: int) -> list[int]:
    """Find ports that nobody listens on now. Somebody may before they are used: be ready to try again."""
    found: list[int] = []
    for port in random.sample(_PORTS, len(_PORTS)):
        with socket.socket() as probe:
            # As Go's listeners do; without it, a server's port would look taken for a minute after its end.
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((HOST, port))
            except OSError:
                continue
        found.append(port)
        if len(found) == count:
            return found
    raise OSError(f"no {count} free ports on {HOST} from {_PORTS.start} to {_PORTS.stop - 1}")


@dataclass(frozen=True)
class Answer:
    """The status and the body of an answer."""

    status: int
    body: bytes

    def json(self) -> Any:
        """Decode the body."""
        return json.loads(self.body)


@dataclass(frozen=True)
class LocalServer:
    """A server on this machine that answers short requests: on a port, with TLS if there is a context, or a socket."""

    address: int | Path
    tls: ssl.SSLContext | None = None

    def request(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        headers: Mapping[str, str] | None = None,
        timeout: float = 30,
    ) -> Answer:
        """Send one request with a JSON body, on a connection of its own."""
        connection = self._connection(timeout)
        try:
            data = None if body is None else json.dumps(body)
            connection.request(method, path, data, {"Content-Type": "application/json", **(headers or {})})
            response = connection.getresponse()
            return Answer(response.status, response.read())
        finally:
            connection.close()

    def _connection(self, timeout: float) -> http.client.HTTPConnection:
        if isinstance(self.address, Path):
            return _UnixConnection(self.address, timeout)
        if self.tls:
            return http.client.HTTPSConnection(HOST, self.address, timeout=timeout, context=self.tls)
        return http.client.HTTPConnection(HOST, self.address, timeout=timeout)


class _UnixConnection(http.client.HTTPConnection):
    def __init__(self, path: Path, timeout: float) -> None:
        super().__init__("localhost", timeout=timeout)
        self._path = path
        self._timeout = timeout

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self._timeout)
        self.sock.connect(str(self._path))

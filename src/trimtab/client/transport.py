"""The seam between what is asked and how it travels.

The HTTP library stands behind it, and so can a server in the same process, a faulty network made on purpose,
or a guard that lets no write pass without the lease.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import Protocol

from trimtab.client.request import Request
from trimtab.errors import TrimtabError


@dataclass(frozen=True, slots=True)
class Response:
    """A whole answer. The names of headers may be looked up in any case."""

    status: int
    headers: Mapping[str, str]
    body: bytes = field(repr=False)  # it may be a Secret


class Stream(Protocol):
    """An answer that goes on arriving."""

    @property
    def status(self) -> int:
        """The HTTP status code."""
        ...

    @property
    def headers(self) -> Mapping[str, str]:
        """As `Response.headers`."""
        ...

    async def read(self) -> bytes:
        """What of the body came next, b"" at its end. Raises TransportError where it breaks off."""
        ...

    def rest(self, seconds: float) -> None:
        """Read nothing for so long: what comes in many pieces meanwhile is then read together, for less."""
        ...


class Transport(Protocol):
    """Sends requests. Raises TransportError where no answer comes; any answer, 500 too, is a Response.

    Whoever hands a request to the network calls its `before_sending` as the last thing before that.
    """

    async def send(self, request: Request) -> Response:
        """Send, and wait for the whole answer."""
        ...

    def stream(self, request: Request) -> AbstractAsyncContextManager[Stream]:
        """Send, and hand out the answer as it arrives. Leaving the context cuts the connection."""
        ...

    async def close(self) -> None:
        """Give back what it holds."""
        ...


class TransportError(TrimtabError):
    """No answer, or not all of it. `sent` is False where the request surely did not reach the server."""

    sent: bool = True
    permanent: bool = False  # asking again will not help


class Unreachable(TransportError):
    """No connection: refused, no such host, no route, a proxy that says no."""

    sent = False


class Untrusted(TransportError):
    """The TLS handshake failed: the server's certificate, or ours."""

    sent = False
    permanent = True


class Closed(TransportError):
    """The client was closed before, or meanwhile."""

    permanent = True


class Broken(TransportError):
    """The connection ended before the answer did."""


class Stalled(TransportError):
    """Nothing came for too long."""

"""Calling a webhook: one bounded HTTPS request, with nothing that has to be closed in the end."""

from __future__ import annotations

import asyncio
import ssl
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final
from urllib.parse import urlsplit

import httptools

from trimtab.errors import TrimtabError

_LARGEST: Final = 4 << 20  # bytes of an answer
_CHUNK: Final = 64 << 10


class CallFailed(TrimtabError):
    """Nobody answered; the words are those of Kubernetes, where it has some."""

    what = "failed to call webhook"


class BadAnswer(CallFailed):
    """The answer is none that a webhook may give."""

    what = "received invalid webhook response"


@dataclass(frozen=True, slots=True)
class Place:
    """Where a webhook is."""

    url: str
    bundle: bytes = b""  # the authorities to trust, as PEM; those of the system without
    address: tuple[str, int] | None = None  # to go to, where that is not what the URL says
    server_name: str = ""  # whom the certificate has to be for, if not the host


async def post(place: Place, body: bytes, timeout: float) -> tuple[int, bytes]:
    """Send a body, and return the status and the body of the answer. Raises CallFailed."""
    shown = f'Post "{place.url}"'
    try:
        async with asyncio.timeout(timeout):
            return await _exchange(place, body)
    except TimeoutError as error:
        raise CallFailed(f"{shown}: context deadline exceeded") from error
    except ConnectionRefusedError as error:
        host, port = _address(place)
        raise CallFailed(f"{shown}: dial tcp {host}:{port}: connect: connection refused") from error
    except ssl.SSLCertVerificationError as error:
        raise CallFailed(f"{shown}: tls: failed to verify certificate: x509: {error.verify_message}") from error
    except (OSError, httptools.HttpParserError, EOFError, ValueError) as error:
        raise CallFailed(f"{shown}: {str(error) or type(error).__name__}") from error


async def _exchange(place: Place, body: bytes) -> tuple[int, bytes]:
    parts = urlsplit(place.url)
    if parts.scheme != "https":
        raise ValueError("webhooks are called over https only")
    host, port = _address(place)
    reader, writer = await asyncio.open_connection(
        host, port, ssl=_context(place.bundle), server_hostname=place.server_name or parts.hostname or host
    )
    try:
        target = f"{parts.path or '/'}?{parts.query}" if parts.query else parts.path or "/"
        head = (
            f"POST {target} HTTP/1.1\r\nHost: {parts.netloc}\r\nUser-Agent: kube-apiserver-admission\r\n"
            f"Content-Type: application/json\r\nAccept: application/json\r\nContent-Length: {len(body)}\r\n"
            "Connection: close\r\n\r\n"
        )
        writer.write(head.encode("ascii") + body)
        await writer.drain()
        return await _answer(reader)
    finally:
        writer.transport.abort()


class _Answer:
    """Collects what the parser finds."""

    def __init__(self) -> None:
        self.body = bytearray()
        self.done = False

    def on_body(self, body: bytes) -> None:
        self.body += body
        if len(self.body) > _LARGEST:
            raise ValueError(f"the answer is larger than {_LARGEST} bytes")

    def on_message_complete(self) -> None:
        self.done = True


async def _answer(reader: asyncio.StreamReader) -> tuple[int, bytes]:
    answer = _Answer()
    parser: Any = httptools.HttpResponseParser(answer)
    while not answer.done:
        data = await reader.read(_CHUNK)
        if not data:
            raise EOFError("EOF")
        parser.feed_data(data)
    return parser.get_status_code(), bytes(answer.body)


def _address(place: Place) -> tuple[str, int]:
    if place.address is not None:
        return place.address
    parts = urlsplit(place.url)
    return parts.hostname or "", parts.port or 443


@lru_cache(maxsize=64)
def _context(bundle: bytes) -> ssl.SSLContext:
    context = ssl.create_default_context(cadata=bundle.decode("ascii") if bundle else None)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    return context

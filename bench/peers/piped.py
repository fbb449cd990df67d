"""A Transport on which every watch is read from a pipe: what a server would send, without one."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import BinaryIO

from trimtab.client import Request, Response, Stream, Unreachable

_READ = 64 << 10  # bytes: about as many as a read from a connection gives


class Piped:
    """Answers the first watch that asks, and nothing else."""

    def __init__(self, lines: BinaryIO) -> None:
        self._lines = lines

    async def send(self, request: Request) -> Response:
        """There is nobody to send it to."""
        raise Unreachable(f"{request.path}: there is no server")

    @asynccontextmanager
    async def stream(self, request: Request) -> AsyncIterator[Stream]:  # noqa: ARG002 (whatever is asked)
        """Give what comes through the pipe."""
        yield _Lines(self._lines)

    async def close(self) -> None:
        """Give back nothing: the pipe is somebody else's."""


class _Lines:
    """What comes through the pipe; after that, the silence of a server where nothing changes."""

    status = 200
    headers: Mapping[str, str] = {}

    def __init__(self, lines: BinaryIO) -> None:
        self._lines = lines

    async def read(self) -> bytes:
        """Wait for the pipe as if nobody else had anything to do: here that is so."""
        await asyncio.sleep(0)
        return self._lines.read(_READ) or await asyncio.Event().wait() or b""

    def rest(self, seconds: float) -> None:
        """No piece is too small to be read at once."""

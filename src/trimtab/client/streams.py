"""Answers that go on arriving: cut into lines, and not silent for ever."""

from __future__ import annotations

from collections.abc import AsyncIterator

from trimtab.client.deadlines import Deadlines
from trimtab.client.request import Request
from trimtab.client.transport import Broken, Stalled

_LARGEST_LINE = 64 << 20


async def not_silent(
    chunks: AsyncIterator[bytes], request: Request, silence: float, deadlines: Deadlines
) -> AsyncIterator[bytes]:
    """The chunks, unless none comes for too long: a connection can be half dead and never say so."""
    while True:
        try:
            with deadlines.within(silence):
                chunk = await anext(chunks)
        except StopAsyncIteration:
            return
        except TimeoutError:
            raise Stalled(f"cannot {request}: nothing came for {silence:g} s") from None
        yield chunk


async def split_lines(
    chunks: AsyncIterator[bytes], request: Request, largest: int = _LARGEST_LINE
) -> AsyncIterator[bytes]:
    """Whole lines. Raises Broken where the stream ends inside one: half an event is none."""
    parts: list[bytes] = []  # of the line under way
    size = 0
    async for chunk in chunks:
        *lines, rest = chunk.split(b"\n")
        for line in lines:
            yield b"".join((*parts, line)) if parts else line
            parts, size = [], 0
        if rest:
            parts.append(rest)
            size += len(rest)
            if size > largest:
                raise Broken(f"cannot {request}: an event is larger than {largest} bytes")
    if parts:
        raise Broken(f"cannot {request}: the connection broke in the middle of an event")

"""The lines of a container's log."""

from __future__ import annotations

from collections.abc import AsyncIterator

_LONGEST = 1 << 20  # a line without an end is handed out in parts


async def log_lines(chunks: AsyncIterator[bytes]) -> AsyncIterator[str]:
    """Lines without their ends; the last one even where its end is missing. What is no UTF-8 is replaced."""
    rest = b""
    async for chunk in chunks:
        *lines, rest = (rest + chunk).split(b"\n")
        for line in lines:
            yield line.decode("utf-8", "replace")
        if len(rest) > _LONGEST:
            yield rest.decode("utf-8", "replace")
            rest = b""
    if rest:
        yield rest.decode("utf-8", "replace")

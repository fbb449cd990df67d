"""The lines of a container's log."""

from __future__ import annotations

from collections import deque
from typing import Self

from trimtab.client.streams import LineReader


class LogLines:
    """Iterates over lines, without their ends. What is no UTF-8 is replaced."""

    def __init__(self, reader: LineReader) -> None:
        self._reader = reader
        self._lines: deque[bytes] = deque()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> str:
        if not self._lines:
            self._lines.extend(await self._reader.lines())
        if not self._lines:
            raise StopAsyncIteration
        return self._lines.popleft().decode("utf-8", "replace")

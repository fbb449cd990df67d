"""Answers that go on arriving, line by line, and not silent for ever."""

from __future__ import annotations

from trimtab.client.deadlines import Deadlines
from trimtab.client.request import Request
from trimtab.client.transport import Broken, Stalled, Stream

_LARGEST_LINE = 64 << 20


class ChunkReader:
    """What of an answer comes, as it comes; Stalled where nothing does for too long.

    `silence` is how long nothing may come, None for ever; it can be changed between reads.
    """

    def __init__(self, stream: Stream, request: Request, deadlines: Deadlines, *, silence: float | None = None) -> None:
        self.silence = silence
        self._stream = stream
        self._request = request
        self._deadlines = deadlines

    async def chunk(self) -> bytes:
        """What came next; nothing at the end."""
        if self.silence is None:
            return await self._stream.read()
        try:
            with self._deadlines.within(self.silence):
                return await self._stream.read()
        except TimeoutError:
            raise Stalled(f"cannot {self._request}: nothing came for {self.silence:g} s") from None

    def rest(self, seconds: float) -> None:
        """Read nothing for so long: what comes in small pieces meanwhile is then read together."""
        self._stream.rest(seconds)


class LineReader(ChunkReader):
    """Cuts a stream into lines. A line without its end is half an event, which is none: Broken.

    `ragged` allows the last line to lack its end, as in a log.
    """

    def __init__(
        self,
        stream: Stream,
        request: Request,
        deadlines: Deadlines,
        *,
        silence: float | None = None,
        largest: int = _LARGEST_LINE,
        ragged: bool = False,
    ) -> None:
        super().__init__(stream, request, deadlines, silence=silence)
        self._largest = largest
        self._ragged = ragged
        self._begun: list[bytes] = []  # parts of the line under way
        self._size = 0

    async def lines(self) -> list[bytes]:
        """The whole lines that came next; none at the end of the stream."""
        while chunk := await self.chunk():
            *lines, rest = chunk.split(b"\n")
            if lines:
                lines[0] = b"".join((*self._begun, lines[0]))
                self._begun.clear()
                self._size = 0
            if rest:
                self._begun.append(rest)
                self._size += len(rest)
                if self._size > self._largest:
                    raise Broken(f"cannot {self._request}: a line is larger than {self._largest} bytes")
            if lines:
                return lines
        if not self._begun:
            return []
        if not self._ragged:
            raise Broken(f"cannot {self._request}: the connection broke in the middle of an event")
        last = b"".join(self._begun)
        self._begun.clear()
        return [last]

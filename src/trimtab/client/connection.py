"""One HTTP/1.1 connection: a request goes out, its answer comes in. The parser is llhttp, which Node.js has too."""

from __future__ import annotations

import asyncio
import zlib
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from typing import cast

from httptools import HttpParserError, HttpParserUpgrade, HttpResponseParser

_MOST_WAITING = 1 << 20  # bytes of a stream that may wait for its reader before the server has to
_LARGEST_HEAD = 256 << 10
_LARGEST_ERROR = 1 << 20
_LARGEST_BODY = 2 << 30  # a list of some 200,000 Pods; a page of one is a thousandth
_NO_SUCCESS = 300
_GZIP = 16 + zlib.MAX_WBITS
_OK = 200


class Headers(Mapping[str, str]):
    """Of an answer. Names may be written in any case; what came more than once is joined by commas.

    Go sends text as it is, in UTF-8: a warning may quote it.
    """

    __slots__ = ("_values",)

    def __init__(self, values: dict[bytes, bytes]) -> None:
        self._values = values

    def __getitem__(self, name: str) -> str:
        return self._values[name.lower().encode()].decode("utf-8", "replace")

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and name.lower().encode() in self._values

    def __iter__(self) -> Iterator[str]:
        return (name.decode("latin-1") for name in self._values)

    def __len__(self) -> int:
        return len(self._values)


class Answer:
    """What the server said. Its body is there at once (`body`), or comes in pieces (`read`)."""

    __slots__ = ("_connection", "_ended", "_error", "_packed", "_pieces", "_size", "_waiter", "headers", "status")

    def __init__(self, connection: Connection, status: int, headers: dict[bytes, bytes]) -> None:
        self.status = status
        self.headers = Headers(headers)
        self._connection = connection
        self._pieces: deque[bytes] = deque()
        self._size = 0  # of the pieces
        self._waiter: asyncio.Future[None] | None = None
        self._ended = False
        self._error: Exception | None = None
        self._packed = headers.get(b"content-encoding") == b"gzip"

    @property
    def body(self) -> bytes:
        """All of it; only for an answer that was asked for whole."""
        pieces = self._pieces
        body = pieces[0] if len(pieces) == 1 else b"".join(pieces)
        return _inflate(body, self._limit) if self._packed and body else body

    @property
    def _limit(self) -> int:
        return _LARGEST_BODY if self.status < _NO_SUCCESS else _LARGEST_ERROR

    async def read(self) -> bytes:
        """What of the body came since, b"" at its end. Raises what broke it off."""
        if self._packed:
            raise HttpParserError("it is compressed, which nobody asked for")
        while not self._pieces:
            if self._error is not None:
                raise self._error
            if self._ended:
                return b""
            self._waiter = asyncio.get_running_loop().create_future()
            await self._waiter
        pieces = self._pieces
        data = pieces[0] if len(pieces) == 1 else b"".join(pieces)
        pieces.clear()
        self._size = 0
        self._connection.go_on()
        return data

    def rest(self, seconds: float) -> None:
        """Let what comes wait for so long, and be read in one go."""
        if not self._ended:
            self._connection.rest(seconds)

    def add(self, piece: bytes) -> None:
        """Take what came."""
        self._pieces.append(piece)
        self._size += len(piece)
        if self._size > self._limit:
            raise HttpParserError(f"it is larger than {self._limit} bytes")

    def add_for_reader(self, piece: bytes) -> None:
        """Take what came of a stream, and hold the server back while the reader is behind."""
        self._pieces.append(piece)
        self._size += len(piece)
        if self._size > _MOST_WAITING:
            self._connection.hold()
        self._wake()

    def end(self, error: Exception | None = None) -> None:
        """Nothing more will come."""
        self._ended = True
        self._error = error
        self._wake()

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)


class Connection(asyncio.Protocol):
    """Carries one request at a time. `context` is the TLS context it was opened with."""

    def __init__(self, context: object, on_lost: Callable[[Connection], None]) -> None:
        self.context = context
        self.idle_since = 0.0
        self.answered = False  # at least a byte of the answer to the last request came
        self.reusable = False
        self._on_lost = on_lost
        self._transport: asyncio.Transport | None = None
        self._parser = HttpResponseParser(self)
        self._future: asyncio.Future[Answer] | None = None
        self._answer: Answer | None = None
        self._whole = True
        self._held = self._full = False  # whether the transport is paused, and why: a reader is behind, or rests
        self._resting: asyncio.TimerHandle | None = None
        self._headers: dict[bytes, bytes] = {}
        self._head_size = 0
        self.lost = asyncio.get_running_loop().create_future()

    def ask(self, request: bytes, *, whole: bool) -> asyncio.Future[Answer]:
        """Send a request; the future is the answer, with all of its body or (not whole) when its head is there."""
        self.answered = self.reusable = False
        self._whole = whole
        self._answer = None
        self.go_on()  # the last reader may have left while the server was held back
        self._future = future = asyncio.get_running_loop().create_future()
        if self.closing or self._transport is None:
            future.set_exception(ConnectionResetError("closed by the server"))
        else:
            self._transport.write(request)
        return future

    @property
    def closing(self) -> bool:
        """Whether it is of no more use."""
        return self._transport is None or self._transport.is_closing()

    def abort(self) -> None:
        """Cut the connection."""
        self.reusable = False
        if self._transport is not None:
            self._transport.abort()

    def hold(self) -> None:
        """Read no further for now."""
        self._full = True
        self._steer()

    def go_on(self) -> None:
        """Read again."""
        if self._full:
            self._full = False
            self._steer()

    def rest(self, seconds: float) -> None:
        """Read no further for so long."""
        if self._resting is None:
            self._resting = asyncio.get_running_loop().call_later(seconds, self._wake)
            self._steer()

    def _wake(self) -> None:
        self._resting = None
        self._steer()

    def _steer(self) -> None:
        hold = self._full or self._resting is not None
        if hold is not self._held and self._transport is not None:
            self._held = hold
            if hold:
                self._transport.pause_reading()
            else:
                self._transport.resume_reading()

    # What the event loop calls

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """It is open."""
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes | memoryview) -> None:
        """Something came."""
        self.answered = True
        try:
            self._parser.feed_data(data)
        except HttpParserUpgrade:
            self._fail(HttpParserError("another protocol, which nobody asked for"))
            self.abort()
        except HttpParserError as error:
            ours = error.__context__  # where one of the methods that the parser calls refused
            self._fail(ours if isinstance(ours, HttpParserError) else error)
            self.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        """It is closed."""
        self._transport = None
        self.reusable = False
        if self._resting is not None:
            self._resting.cancel()
        answer = self._answer
        if exc is None and answer is not None and _lasts_until_the_end(answer):
            self._finish(answer)
        else:
            self._fail(exc or ConnectionResetError("closed by the server"))
        self._on_lost(self)
        if not self.lost.done():  # who waited for it may have been cancelled
            self.lost.set_result(None)

    # What the parser calls

    def on_message_begin(self) -> None:
        """An answer begins."""
        self._headers = {}
        self._head_size = 0
        if self._future is None:
            self.abort()  # nobody asked: the two sides no longer agree on which answer is whose

    def on_header(self, name: bytes, value: bytes) -> None:
        """A header is read."""
        name = name.lower()
        headers = self._headers
        self._head_size += len(name) + len(value)
        if self._head_size > _LARGEST_HEAD:
            raise HttpParserError(f"its head is larger than {_LARGEST_HEAD} bytes")
        headers[name] = headers[name] + b", " + value if name in headers else value

    def on_headers_complete(self) -> None:
        """The head is read."""
        status = self._parser.get_status_code()
        if status < _OK:  # 100 Continue and its like: the answer follows
            return
        self._answer = Answer(self, status, self._headers)
        if not self._whole:
            self._resolve(self._answer)

    def on_body(self, body: bytes) -> None:
        """A part of the body is read."""
        assert self._answer is not None
        if self._whole:
            self._answer.add(body)
        else:
            self._answer.add_for_reader(body)

    def on_message_complete(self) -> None:
        """The answer is read."""
        if self._answer is not None:
            self.reusable = self._parser.should_keep_alive()
            self._finish(self._answer)

    def _finish(self, answer: Answer) -> None:
        self._answer = None
        answer.end()
        if self._whole:
            self._resolve(answer)

    def _resolve(self, answer: Answer) -> None:
        future, self._future = self._future, None
        if future is not None and not future.done():
            future.set_result(answer)

    def _fail(self, error: Exception) -> None:
        future, self._future = self._future, None
        answer, self._answer = self._answer, None
        if answer is not None:
            answer.end(error)
        if future is not None and not future.done():
            future.set_exception(error)


def _inflate(data: bytes, limit: int) -> bytes:
    """Unpack gzip, of one or several members, that may not grow beyond limit: a little of it can become very much."""
    parts: list[bytes] = []
    left = limit
    while data:
        member = zlib.decompressobj(_GZIP)
        try:
            part = member.decompress(data, left + 1)
        except zlib.error as error:
            raise HttpParserError(f"gzip: {error}") from error
        left -= len(part)
        if left < 0:
            raise HttpParserError(f"it is larger than {limit} bytes")
        if not member.eof:
            raise HttpParserError("gzip: it is cut off")
        parts.append(part)
        data = member.unused_data
    return b"".join(parts)


def _lasts_until_the_end(answer: Answer) -> bool:
    """Whether the end of the connection is the end of the body: nothing else says where that is."""
    return "content-length" not in answer.headers and "transfer-encoding" not in answer.headers

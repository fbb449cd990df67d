"""The log of a container, as people want to see it: which lines, from where on, and whether to wait for more.

What was said is a `Log`, which belongs to whoever runs the container. Everything else that kubectl's flags ask for is
done here, so that a Log need only have lines.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final, Protocol

from trimtab.apiserver import causes, options, statuses
from trimtab.apiserver.causes import Cause
from trimtab.apiserver.options import Query

_STREAMS: Final = {"Stdout": "stdout", "Stderr": "stderr"}
_PIECE: Final = 1 << 16
_AT_MOST_ONE: Final = "at most one of `sinceTime` or `sinceSeconds` may be specified"


@dataclass(frozen=True, slots=True)
class Line:
    """What a container said at once, without the end of the line."""

    time: datetime
    text: bytes
    stream: str = "stdout"


class Log(Protocol):
    """What a container has said so far."""

    @property
    def lines(self) -> Sequence[Line]:
        """All of it, the oldest first. It only grows."""
        ...

    @property
    def ended(self) -> bool:
        """Whether nothing more will come."""
        ...

    @property
    def listeners(self) -> set[Callable[[], None]]:
        """Who is to be called when there is another line, and when it has ended."""
        ...


@dataclass(frozen=True, slots=True)
class LogOptions:
    """What somebody wants to see of a log."""

    container: str = ""
    follow: bool = False
    previous: bool = False
    timestamps: bool = False
    since: datetime | None = None
    tail: int | None = None
    most_bytes: int | None = None
    stream: str = ""  # "" for all


def log_options(query: Query, name: str, now: datetime) -> LogOptions:
    """Read them."""
    seconds, tail, most = (options.number(query, each) for each in ("sinceSeconds", "tailLines", "limitBytes"))
    since = _time(options.first(query, "sinceTime"))
    stream = options.first(query, "stream") or "All"
    found: list[Cause] = []
    if tail is not None and tail < 0:
        found.append(causes.invalid("tailLines", tail, "must be greater than or equal to 0"))
    if most is not None and most < 1:
        found.append(causes.invalid("limitBytes", most, "must be greater than 0"))
    if seconds is not None and since is not None:
        found.append(causes.forbidden("", _AT_MOST_ONE))
    elif seconds is not None and seconds < 1:
        found.append(causes.invalid("sinceSeconds", seconds, "must be greater than 0"))
    if stream not in ("All", *_STREAMS):
        found.append(causes.unsupported("stream", stream, ("All", "Stderr", "Stdout")))
    if stream != "All" and tail is not None:
        why = "`tailLines` and specific `stream` are mutually exclusive for now"
        found.append(causes.forbidden("", why))
    if found:
        raise statuses.invalid("PodLogOptions", "", name, found)
    if seconds is not None:
        since = now - timedelta(seconds=min(seconds, 10**9))
    follow, previous, timestamps = (options.flag(query, each) for each in ("follow", "previous", "timestamps"))
    container = options.first(query, "container")
    return LogOptions(container, follow, previous, timestamps, since, tail, most, _STREAMS.get(stream, ""))


def _time(text: str) -> datetime | None:
    if not text:
        return None
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        found = None
    if found is None or found.tzinfo is None:
        layout = "2006-01-02T15:04:05Z07:00"
        shown = causes.quoted(text)
        raise statuses.bad_request(f'parsing time {shown} as "{layout}": cannot parse {shown} as "2006"')
    return found


class LogSource:
    """The body of an answer with a log in it: what was said, and what is said while somebody listens."""

    def __init__(self, log: Log, wanted: LogOptions) -> None:
        self._log = log
        self._wanted = wanted
        self._left = wanted.most_bytes
        self._place = _first(log.lines, wanted)
        self._over = False
        self._waiter: asyncio.Future[None] | None = None
        log.listeners.add(self._wake)

    async def read(self) -> bytes:
        """What comes next, b"" at its end."""
        while not self._over:
            ended = self._log.ended
            if piece := self._take():
                return piece
            if ended or not self._wanted.follow or self._left == 0:
                break
            self._waiter = asyncio.get_running_loop().create_future()
            try:
                await self._waiter
            finally:
                self._waiter = None
        self.close()
        return b""

    def close(self) -> None:
        """Nobody reads on."""
        self._over = True
        self._log.listeners.discard(self._wake)
        self._wake()

    def _take(self) -> bytes:
        lines, told, size = self._log.lines, list[bytes](), 0
        while self._place < len(lines) and size < _PIECE and self._left != 0:
            line = lines[self._place]
            self._place += 1
            if not _is_meant(line, self._wanted):
                continue
            text = _stamped(line) if self._wanted.timestamps else line.text + b"\n"
            if self._left is not None:
                text = text[: self._left]
                self._left -= len(text)
            told.append(text)
            size += len(text)
        return b"".join(told)

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)


def _first(lines: Sequence[Line], wanted: LogOptions) -> int:
    """The place of the first line that is to be shown."""
    left = wanted.tail
    place = len(lines)
    if left is None:
        return 0
    while place and left:
        place -= 1
        left -= _is_meant(lines[place], wanted)
    return place


def _is_meant(line: Line, wanted: LogOptions) -> bool:
    if wanted.stream and line.stream != wanted.stream:
        return False
    return wanted.since is None or line.time >= wanted.since


def _stamped(line: Line) -> bytes:
    stamp = line.time.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%f") + "000Z"  # kubelets tell of nanoseconds
    return b"%b %b\n" % (stamp.encode(), line.text)

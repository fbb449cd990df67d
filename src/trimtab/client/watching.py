"""A watch: from bytes to frames to typed events."""

from __future__ import annotations

import logging
from collections import deque
from dataclasses import dataclass
from typing import Generic, Literal, Self, TypeAlias, cast

import msgspec

from trimtab.client.answers import Head
from trimtab.client.apierrors import UNREADABLE, ApiError, error_from_body
from trimtab.client.request import Request
from trimtab.client.streams import LineReader
from trimtab.errors import one_line
from trimtab.kube.base import Struct
from trimtab.kube.kinds import Resource
from trimtab.kube.meta.v1 import ObjectMeta
from trimtab.kube.wire import K, decode

EventType: TypeAlias = Literal["ADDED", "MODIFIED", "DELETED"]
_log = logging.getLogger("trimtab.client")
_INTERNAL_ERROR = 500
INITIAL_EVENTS_END = "k8s.io/initial-events-end"


class Frame(msgspec.Struct, gc=False):
    """One line of a watch. `object` holds the bytes of that line alone."""

    type: Literal["ADDED", "MODIFIED", "DELETED", "BOOKMARK", "ERROR"]
    object: msgspec.Raw


@dataclass(frozen=True, slots=True)
class WatchEvent(Generic[K]):
    """An object was added, modified or deleted; `object` is its state after that, or its last one."""

    type: EventType
    object: K


class Bookmark(Struct):
    """What a bookmark says: everything up to a resource version has been sent."""

    metadata: ObjectMeta = msgspec.field(default_factory=ObjectMeta)

    @property
    def ends_initial_events(self) -> bool:
        """True for the one after which a watch that began with the state goes on with changes."""
        return self.metadata.annotations.get(INITIAL_EVENTS_END) == "true"


class Watch(Generic[K]):
    """The events of a watch, until the server ends it in good order.

    What else can end it is raised: `Expired` where the resource version is too old (list anew), another ApiError that
    the server sent, `Broken` for a connection that was cut, `Stalled` for one that went silent.
    `resource_version` is where to go on: it follows the events and the bookmarks. `skipped` counts what was of another
    kind or could not be decoded; each is logged.
    """

    def __init__(
        self,
        kind: type[K],
        resource: Resource,
        request: Request,
        lines: LineReader,
        resource_version: str,
        silence_after_bookmark: float | None,
    ) -> None:
        self.resource_version = resource_version
        self.initial_events_ended = False
        self.skipped = 0
        self._kind = kind
        self._request = request
        self._lines = lines
        self._silence_after_bookmark = silence_after_bookmark
        self._waiting: deque[Frame] = deque()
        self._error: ApiError | None = None
        # Go's encoder begins each built-in object so, and each custom one in the other order: no need to look further.
        kind_first = f'{{"kind":"{resource.kind}","apiVersion":"{resource.api_version}",'
        version_first = f'{{"apiVersion":"{resource.api_version}","kind":"{resource.kind}",'
        self._beginnings = (kind_first.encode(), version_first.encode())
        self._identity = (resource.api_version, resource.kind)

    async def lines(self) -> list[bytes]:
        """The events that came next, a line of JSON each, for readers that decode them themselves; none at the end.

        Bookmarks are among them, and what ends the watch (`{"type":"ERROR",…}`), of which `refusal` makes an error.
        """
        return await self._lines.lines()

    def refusal(self, status: bytes) -> ApiError:
        """The error for the Status in the last event of a watch that the server ends."""
        return error_from_body(self._request, _INTERNAL_ERROR, status)

    def rest(self, seconds: float) -> None:
        """Read nothing for so long: events that come one by one meanwhile are then read together, for less."""
        self._lines.rest(seconds)

    async def frames(self) -> list[Frame]:
        """The events that came next, bookmarks too, with their objects as bytes; none at the end.

        Nothing of their objects is decoded here, so `resource_version` does not follow them.
        """
        frames: list[Frame] = []
        while not frames:
            if self._error is not None:
                raise self._error
            lines = await self.lines()
            if not lines:
                break
            for line in lines:
                try:
                    frame = _frame(line)
                except UNREADABLE as error:
                    self._skip(f"what came is no event: {error}")
                    continue
                if frame.type == "ERROR":  # the last thing that a server says: what came before is handed out first
                    self._error = self.refusal(bytes(frame.object))
                    break
                if frame.type == "BOOKMARK" and self._silence_after_bookmark is not None:
                    # Not every kind has them (core/v1 Events do not), so silence means something only from here on.
                    self._lines.silence = self._silence_after_bookmark
                frames.append(frame)
        return frames

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> WatchEvent[K]:
        while True:
            if not self._waiting:
                self._waiting.extend(await self.frames())
            if not self._waiting:
                raise StopAsyncIteration
            frame = self._waiting.popleft()
            try:
                obj = self._decode(frame)
                self.resource_version = obj.metadata.resource_version or self.resource_version
            except UNREADABLE as error:
                self._skip(f"its object cannot be decoded: {error}")
                continue
            if isinstance(obj, Bookmark):
                self.initial_events_ended |= obj.ends_initial_events
            else:
                return WatchEvent(cast("EventType", frame.type), obj)

    def _decode(self, frame: Frame) -> K | Bookmark:
        if not bytes(memoryview(frame.object)[: len(self._beginnings[0])]).startswith(self._beginnings):
            head = decode(Head, frame.object)
            if (head.api_version, head.kind) != self._identity:
                found = f"{head.kind or 'something'} of {head.api_version or 'no version'}"
                raise msgspec.ValidationError(f"it is {found}")
        return decode(Bookmark if frame.type == "BOOKMARK" else self._kind, frame.object)

    def _skip(self, why: str) -> None:
        self.skipped += 1
        _log.warning("skipped an event of %s: %s", self._request, one_line(why))


_frame = msgspec.json.Decoder(Frame).decode

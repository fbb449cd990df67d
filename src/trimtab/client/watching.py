"""A watch: from bytes to frames to typed events."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Generic, Literal, Self, TypeAlias, cast

import msgspec

from trimtab.client.answers import Head
from trimtab.client.apierrors import UNREADABLE, error_from_body
from trimtab.client.deadlines import Deadlines
from trimtab.client.request import Request
from trimtab.client.streams import not_silent, split_lines
from trimtab.client.transport import Stream
from trimtab.errors import TrimtabError
from trimtab.kube.base import Resource, Struct
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

    def __init__(self, kind: type[K], resource: Resource, request: Request, resource_version: str) -> None:
        self.resource_version = resource_version
        self.initial_events_ended = False
        self.skipped = 0
        self._kind = kind
        self._request = request
        self._frames: AsyncIterator[Frame] = _no_frames()
        # Go's encoder begins each built-in object so, and each custom one in the other order: no need to look further.
        kind_first = f'{{"kind":"{resource.kind}","apiVersion":"{resource.api_version}",'
        version_first = f'{{"apiVersion":"{resource.api_version}","kind":"{resource.kind}",'
        self._beginnings = (kind_first.encode(), version_first.encode())
        self._identity = (resource.api_version, resource.kind)

    def read(self, stream: Stream, silence: float, deadlines: Deadlines) -> None:
        """Take the events from this stream."""
        self._frames = self._read(
            split_lines(not_silent(stream.chunks(), self._request, silence, deadlines), self._request)
        )

    async def _read(self, lines: AsyncIterator[bytes]) -> AsyncIterator[Frame]:
        async for line in lines:
            try:
                frame = _frame(line)
            except UNREADABLE as error:
                self._skip(f"what came is no event: {error}")
                continue
            if frame.type == "ERROR":
                raise error_from_body(self._request, _INTERNAL_ERROR, bytes(frame.object))
            yield frame

    def frames(self) -> AsyncIterator[Frame]:
        """The events as they come, bookmarks too and nothing decoded, for readers that keep bytes."""
        return self._frames

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> WatchEvent[K]:
        while True:
            frame = await anext(self._frames)
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
        _log.warning("skipped an event of %s: %s", self._request, why)


_frame = msgspec.json.Decoder(Frame).decode


async def _no_frames() -> AsyncIterator[Frame]:
    raise TrimtabError("a watch is read inside `async with client.watch(...) as events:`")
    yield  # pyright: ignore[reportUnreachable]

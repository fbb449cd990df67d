"""The station where the bytes come in: a thin shell that carries out what the reflector decides."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from math import inf
from typing import Any, Generic, TypeAlias

import msgspec

from trimtab.cache.entry import Cached
from trimtab.cache.intake import Intake, Known
from trimtab.cache.pages import PageCutter
from trimtab.cache.reflector import AT_ONCE, ListPage, OpenWatch, Phase, Reflector, Wait
from trimtab.cache.store import Change, Store
from trimtab.client import ApiError, Bookmark, Closed, Reader, Stalled, TransportError, UnknownKind, Watch
from trimtab.client.apierrors import UNREADABLE
from trimtab.client.listing import collector_paused
from trimtab.errors import one_line
from trimtab.kube.dynamic import Dynamic
from trimtab.kube.fieldselectors import FieldSelector
from trimtab.kube.objects import Object
from trimtab.kube.selectors import Selector
from trimtab.kube.wire import K

_log = logging.getLogger("trimtab.cache")

SILENCE = 75.0
"""Seconds after which a silent watch is cut and resumed. Bookmarks come each minute, where a kind has them and where
there is progress to tell of; resuming a watch that was merely quiet costs one small request."""

_CLOSE = 0.02  # seconds: reads that follow each other so closely come thick and fast
_FEW = 8  # of them in a row are read as they come: what few do to each other should not take longer for our sake
_REST = 0.02  # seconds for which events are collected after that, which is how much later the first of them is seen
_LOADING_REST = 0.01
_CHANGES = ("ADDED", "MODIFIED", "DELETED")
_LARGE = 256 << 10  # bytes: there is nothing to be won by collecting more


@dataclass(frozen=True, slots=True)
class Scope:
    """What a watch is about: a kind, in one namespace or in all, and a selector."""

    kind: type[Object | Dynamic]
    namespace: str = ""
    labels: Selector | None = None
    fields: FieldSelector | None = None

    def __str__(self) -> str:
        resource = self.kind.resource
        where = f" in {self.namespace}" if self.namespace else ""
        which = "".join(f" with {selector}" for selector in (self.labels, self.fields) if selector is not None)
        return f"{resource if resource.plural else resource.kind}{where}{which}"


@dataclass(slots=True)
class Pulse:
    """How a feed is doing."""

    heard: float | None = None  # by the clock: when the server last said something
    problem: str = ""  # what is in the way right now
    synced: bool = False  # the state was whole at least once
    loads: int = 0  # times that the whole state was read
    events: int = 0
    skipped: int = 0  # what was of another kind or could not be decoded
    stalls: int = 0  # watches that were cut because they had gone silent
    since: float = field(default=0.0)  # by the clock: since when there is a problem


Deliver: TypeAlias = Callable[[list[Change[K]], bool], None]


class Feed(Generic[K]):
    """Keeps a store like the server, for as long as `run` runs. `deliver` is told of changes, and whether they are the
    first state that was read."""

    def __init__(
        self,
        client: Reader,
        scope: Scope,
        store: Store[K],
        intake: Intake[K],
        reflector: Reflector,
        deliver: Deliver[K],
        *,
        clock: Callable[[], float],
        silence: float = SILENCE,
        written: Known[K] | None = None,
    ) -> None:
        self.pulse = Pulse()
        self._written = written  # what a write was answered, which the watch will show: it is taken in once
        self._client = client
        self._scope = scope
        self._store = store
        self._intake = intake
        self._reflector = reflector
        self._deliver = deliver
        self._clock = clock
        self._silence = silence
        self._incoming: dict[str, Cached[K]] = {}
        self._read_at = -inf
        self._in_a_row = 0  # reads that were close to each other
        self._rested = False

    @property
    def resource_version(self) -> str:
        """The version as of which the store is known to be like the server."""
        return self._reflector.resource_version

    async def run(self) -> None:
        """Go on until it is cancelled, or the client is closed."""
        while True:
            step = self._reflector.step()
            try:
                match step:
                    case Wait():
                        self._say(step)
                        await asyncio.sleep(step.seconds)
                    case ListPage():
                        await self._list(step)
                    case OpenWatch():
                        await self._watch(step)
            except Closed:
                return
            except (ApiError, TransportError, UnknownKind) as error:
                self.pulse.stalls += isinstance(error, Stalled)
                if isinstance(error, ApiError):  # a refusal too is a word of the server
                    self._heard()
                self._reflector.failed(error)

    async def _list(self, step: ListPage) -> None:
        if not step.token:
            self._incoming = {}
        scope, page = self._scope, PageCutter()
        async with self._client.open_list(
            scope.kind,
            namespace=scope.namespace,
            labels=scope.labels,
            fields=scope.fields,
            resource_version=step.resource_version,
            limit=step.limit,
            token=step.token,
        ) as body:
            while chunk := await body.chunk():
                self._heard()
                with collector_paused():
                    for item in page.feed(chunk):
                        self._take_item(item)
                if len(chunk) < _LARGE:
                    body.rest(_LOADING_REST)
        try:
            items, metadata = page.end()
        except UNREADABLE as error:
            raise TransportError(f"cannot list {scope}: what came is no list: {one_line(str(error))}") from error
        for item in items:
            self._take_item(item)
        if self._reflector.page(metadata.resource_version, metadata.continue_):
            self._replace()

    async def _watch(self, step: OpenWatch) -> None:
        self._incoming = {}
        scope = self._scope
        async with self._client.watch(
            scope.kind,
            namespace=scope.namespace,
            labels=scope.labels,
            fields=scope.fields,
            resource_version=step.resource_version,
            initial_events=step.initial_events,
            timeout=step.timeout,
            silence=self._silence,
        ) as events:
            self._heard()
            # A watch that stands is well, however quiet; sooner, it could be one that the server ends at once.
            stands = asyncio.get_running_loop().call_later(AT_ONCE, self._stands)
            try:
                while lines := await events.lines():
                    self._heard()
                    self._take(lines, events)
                    self._stands()
                    if self._reflector.phase is Phase.NEEDS_STATE:
                        return
                    self._pace(lines, events)
                    del lines  # not kept while nothing comes
            finally:
                stands.cancel()
        self._reflector.closed()

    def _take(self, lines: list[bytes], events: Watch[Any]) -> None:
        """Events of one read, told of in one go, also where the last of them ends the watch."""
        changes: list[Change[K]] = []
        try:
            with collector_paused():
                for line in lines:
                    try:
                        changes += self._take_line(line, events)
                    except UNREADABLE as error:
                        self._skip(error)
                    if self._reflector.phase is Phase.NEEDS_STATE:
                        break
        finally:
            self._deliver(changes, False)  # of none too: a bookmark is progress

    def _take_line(self, line: bytes, events: Watch[Any]) -> list[Change[K]]:
        kind = self._intake.type_of(line)
        if kind == "BOOKMARK":
            bookmark = _decode_bookmark(line).object
            version = bookmark.metadata.resource_version
            if self._reflector.bookmark(version, ends_state=bookmark.ends_initial_events):
                self._replace()
            return []
        if kind == "ERROR":
            raise events.refusal(bytes(_decode_error(line).object))
        if kind not in _CHANGES:
            raise msgspec.ValidationError(f"its type is {one_line(kind)}")
        self.pulse.events += 1
        following = self._reflector.phase is Phase.FOLLOWING
        known = self._written if following else self._store.get
        entry = self._intake.from_line(line, known, later=following)
        changes: list[Change[K]] = []
        if not following:
            self._incoming[entry.key] = entry
        elif kind == "DELETED":
            changes = self._store.delete(entry)
        else:
            changes = self._store.put(entry)
        self._reflector.event(entry.resource_version, added=kind == "ADDED")
        return changes

    def _take_item(self, item: bytes) -> None:
        try:
            entry = self._intake.from_item(item, self._store.get)
        except UNREADABLE as error:
            self._skip(error)
        else:
            self._incoming[entry.key] = entry

    def _replace(self) -> None:
        with collector_paused():
            changes = self._store.replace(self._incoming)
        self._incoming = {}
        first = not self.pulse.synced
        self.pulse.synced = True
        self.pulse.loads += 1
        self._well()
        self._deliver(changes, first)

    def _pace(self, lines: list[bytes], events: Watch[Any]) -> None:
        """Where events come thick and fast, read them in batches: waking up for each costs more than the event."""
        last, self._read_at = self._read_at, self._clock()
        if self._reflector.phase is Phase.STREAMING:
            if sum(map(len, lines)) < _LARGE:
                events.rest(_LOADING_REST)
            return
        close = self._read_at - last < _CLOSE + (_REST if self._rested else 0)
        self._in_a_row = self._in_a_row + 1 if close else 0
        self._rested = self._in_a_row > _FEW and sum(map(len, lines)) < _LARGE
        if self._rested:
            events.rest(_REST)

    def _heard(self) -> None:
        self.pulse.heard = self._clock()

    def _skip(self, error: Exception) -> None:
        self.pulse.skipped += 1
        _log.warning("skipped what came of %s: %s", self._scope, one_line(str(error)))

    def _say(self, wait: Wait) -> None:
        """A problem is told of when it begins, and when it becomes another; how often it is tried again is not."""
        if not self.pulse.problem:
            self.pulse.since = self._clock()
        if wait.why != self.pulse.problem:
            self.pulse.problem = wait.why
            _log.warning("%s: waiting, and trying again: %s", self._scope, wait.why)

    def _stands(self) -> None:
        if self._reflector.phase is Phase.FOLLOWING:
            self._well()

    def _well(self) -> None:
        if self.pulse.problem:
            self.pulse.problem = ""
            _log.info("%s: works again after %.0f s", self._scope, self._clock() - self.pulse.since)


class _BookmarkFrame(msgspec.Struct, gc=False):
    object: Bookmark


class _ErrorFrame(msgspec.Struct, gc=False):
    object: msgspec.Raw


_decode_bookmark = msgspec.json.Decoder(_BookmarkFrame).decode
_decode_error = msgspec.json.Decoder(_ErrorFrame).decode

"""The station of watches: what happens to the objects of a collection, told as it does.

A watch is a place in the log of a bucket, from which it is read when there is something new: `Follower` decides what of
it is told, `WatchSource` waits.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, TypeAlias

import msgspec

from trimtab.apiserver import causes, options, statuses
from trimtab.apiserver.forms import Shown, event
from trimtab.apiserver.listing import parse_version
from trimtab.apiserver.messages import Torn
from trimtab.apiserver.objects import is_current, restamped, settled
from trimtab.apiserver.options import Query
from trimtab.apiserver.routing import Target
from trimtab.apiserver.selecting import Selection, selection
from trimtab.apiserver.statuses import Refused
from trimtab.apiserver.storage import Record, Store

Json: TypeAlias = dict[str, Any]

BETWEEN_BOOKMARKS: Final = 60.0
LONGEST: Final = 1800.0  # seconds that a watch lasts that names no end; up to twice that
_BEFORE_THE_END: Final = 2.0  # seconds: the last bookmark
_AFTER_INITIAL: Final = 0.5  # seconds: the first one, after the one that ends initial events, as Kubernetes sends it
_MOST_AT_ONCE: Final = 500  # changes that are told in one go
_TOLD_ALREADY: Final = 4096  # frames that are kept for the other watchers of a bucket
Show: TypeAlias = Callable[[Sequence[bytes]], Awaitable[list[bytes]]]
"""Stored objects as their kind shows them, where a webhook has to be asked."""


@dataclass(frozen=True, slots=True)
class WatchOptions:
    """What is to be told."""

    selection: Selection
    version: str = ""
    timeout: float | None = None
    bookmarks: bool = False
    initial: bool = False  # begin with what there is
    ends_initial: bool = False  # and say where that ends


def watch_options(target: Target, query: Query) -> WatchOptions:
    """Read them."""
    first = options.first
    version, match = first(query, "resourceVersion"), first(query, "resourceVersionMatch")
    streams = options.flag(query, "sendInitialEvents") if "sendInitialEvents" in query else None
    field = "resourceVersionMatch"
    found: list[causes.Cause] = []
    if streams is not None and match != "NotOlderThan":
        found.append(causes.forbidden(field, "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"))
    if match and streams is None:
        why = "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided"
        found.append(causes.forbidden(field, why))
    if match and match != "NotOlderThan":
        found.append(causes.unsupported(field, match, ("NotOlderThan",)))
    if match and first(query, "continue"):
        found.append(causes.forbidden(field, "resourceVersionMatch is forbidden when continue is provided"))
    if found:
        raise options.invalid_options("ListOptions", found)
    timeout = options.number(query, "timeoutSeconds")
    fields = first(query, "fieldSelector")
    if target.name:
        fields = f"metadata.name={target.name}" + (f",{fields}" if fields else "")
    selected = selection(target.kind, first(query, "labelSelector"), fields)
    parse_version(version)
    bookmarks = options.flag(query, "allowWatchBookmarks")
    initial = streams if streams is not None else version in ("", "0")
    return WatchOptions(selected, version, timeout, bookmarks, initial, initial and bookmarks)


class Frames:
    """What was told of each change lately, so that it is written once for all who watch."""

    def __init__(self) -> None:
        self._kept: dict[tuple[int, str, Shown], bytes] = {}

    def frame(self, kind: str, revision: int, shown: Shown, make: Callable[[], bytes]) -> bytes:
        """The line for a change."""
        key = (revision, kind, shown)
        found = self._kept.get(key)
        if found is None:
            found = make()
            self._kept[key] = found
            if len(self._kept) > _TOLD_ALREADY:
                for old in list(self._kept)[: _TOLD_ALREADY // 2]:
                    del self._kept[old]
        return found


class Follower:
    """What one watch is told, without any waiting; where a webhook converts, `prepare` is waited for before."""

    def __init__(
        self,
        store: Store,
        target: Target,
        wanted: WatchOptions,
        shown: Shown,
        frames: Frames,
        now: Callable[[], datetime],
        *,
        as_of: int = 0,
        show: Show | None = None,
    ) -> None:
        self._show = show
        self._known: dict[bytes, bytes] = {}  # by what is stored, what is shown
        self._ready = 0  # the place up to which that is known
        self._initial: list[Record] = []
        self._begins = show is not None and wanted.initial  # what there is is not told yet
        self._as_of = as_of or store.revision
        self.over = False
        self.ends_initial = wanted.ends_initial
        self._store = store
        self._bucket = store.bucket(target.kind.bucket)
        self._target = target
        self._wanted = wanted
        self._shown = shown
        self._frames = frames
        self._now = now
        self._first = True
        self._revision = parse_version(wanted.version)  # up to which everything is told
        self._pending: list[bytes] = []
        self._place = 0
        self._begin()

    def _begin(self) -> None:
        store, wanted = self._store, self._wanted
        if wanted.initial:
            if self._revision > store.revision:
                self._fail(statuses.version_too_large(self._revision, store.revision))
                return
            self._revision = self._as_of
            found = store.scan(self._target.kind.bucket, self._target.prefix, revision=self._as_of)
            if self._show is None:
                self._tell_initial(found)
            else:
                self._initial = list(found)
        elif wanted.version in ("", "0"):
            self._revision = self._as_of
        elif self._revision < store.oldest:
            message = f"too old resource version: {self._revision} ({store.oldest})"
            self._fail(statuses.expired(message))
            return
        self._place = self._ready = self._bucket.place_after(self._revision)

    def _tell_initial(self, records: Iterable[Record]) -> None:
        has = self._wanted.selection.has
        for record in records:
            data = self._of(record)
            if has(record.key, data):
                self._pending.append(self._line("ADDED", data))
        if self._wanted.ends_initial:
            self._pending.append(self._bookmark(ends_initial=True))

    async def prepare(self) -> None:
        """Have shown what is told next."""
        if self._show is None or self.over:
            return
        coming = self._bucket.read(self._place, _MOST_AT_ONCE) or []
        ready = self._place + len(coming)
        before = [record.before for record in coming if record.before is not None]
        initial, self._initial = self._initial, []
        stored = list(dict.fromkeys(record.data for record in (*initial, *coming, *before)))
        try:
            self._known = dict(zip(stored, await self._show(stored), strict=True))
        except Refused as refused:
            self._fail(refused)
            return
        self._ready = ready
        if initial or self._begins:
            self._begins = False
            self._tell_initial(initial)

    def _of(self, record: Record) -> bytes:
        """What a record has, as it is shown."""
        data, kind = record.data, self._target.kind
        if self._show is not None:
            return self._known[data]
        return data if kind.definition is None or is_current(kind, data) else settled(kind, data)

    def take(self) -> bytes:
        """What is new, b"" where nothing is."""
        lines, self._pending = self._pending, []
        while not self.over and not lines:
            most = _MOST_AT_ONCE if self._show is None else self._ready - self._place
            records = self._bucket.read(self._place, most)
            if records is None:
                self._fail(statuses.expired(f"too old resource version: {self._revision} ({self._store.oldest})"))
                lines, self._pending = self._pending, []
                break
            if not records:
                break
            self._place += len(records)
            try:
                for record in records:
                    line = self._tell(record)
                    if line is not None:
                        lines.append(line)
            except Refused as refused:  # they cannot be shown in the form that was asked for
                self._fail(refused)
                lines += self._pending
                self._pending = []
            self._revision = max(self._revision, records[-1].revision)
        return b"".join(lines)

    def passes_over(self) -> bool:
        """Go on over what is new and certainly not to be told; False where something may have to be."""
        if self.over or self._show is not None:
            return False
        records = self._bucket.read(self._place, _MOST_AT_ONCE)
        prefix = self._target.prefix
        if not records or any(record.key.startswith(prefix) for record in records):
            return False
        self._place += len(records)
        self._revision = max(self._revision, records[-1].revision)
        return True

    def bookmark(self) -> bytes:
        """Up to where everything is told."""
        if not self._wanted.bookmarks or self.over:
            return b""
        self._revision = max(self._revision, self._store.revision)
        return self._bookmark()

    def _tell(self, record: Record) -> bytes | None:
        if record.revision <= self._revision or not record.key.startswith(self._target.prefix):
            return None
        selected = self._wanted.selection
        before = record.before
        if selected.is_everything:
            is_there, was_there = not record.gone, before is not None
        else:
            is_there = not record.gone and selected.has(record.key, self._of(record))
            was_there = before is not None and selected.has(before.key, self._of(before))
        if is_there:
            kind = "MODIFIED" if was_there else "ADDED"
        elif was_there:
            kind = "DELETED"
        else:
            return None
        if self._shown.changes_with_time:
            return self._make(kind, record)
        return self._frames.frame(kind, record.revision, self._shown, lambda: self._make(kind, record))

    def _make(self, kind: str, record: Record) -> bytes:
        if kind == "DELETED" and not record.gone and record.before is not None:
            data = restamped(self._of(record.before), record.revision)  # as it was while it was selected
        else:
            data = self._of(record)
        return self._line(kind, data)

    def _line(self, kind: str, data: bytes) -> bytes:
        shown = self._shown.event(data, self._now(), first=self._first)
        self._first = False
        return event(self._shown.form, kind, shown)

    def _bookmark(self, *, ends_initial: bool = False) -> bytes:
        metadata: Json = {"resourceVersion": str(self._revision)}
        if ends_initial:
            metadata["annotations"] = {"k8s.io/initial-events-end": "true"}
        return event(self._shown.form, "BOOKMARK", self._shown.bookmark(metadata, self._now(), first=self._first))

    def _fail(self, refused: Refused) -> None:
        self._pending.append(event(self._shown.form, "ERROR", msgspec.json.encode(refused.body())))
        self.over = True


class WatchSource:
    """The body of a watch: waits until there is something to tell, or it is time for a bookmark or the end."""

    def __init__(self, follower: Follower, listeners: set[Callable[[], None]], timeout: float) -> None:
        self._follower = follower
        self._listeners = listeners
        self._loop = asyncio.get_running_loop()
        begun = self._loop.time()
        self._end = begun + timeout
        self._bookmark_at = begun + _AFTER_INITIAL if follower.ends_initial else self._next_bookmark(begun)
        self._waiter: asyncio.Future[None] | None = None
        self._torn = False
        self._closed = False
        listeners.add(self._hear)

    async def read(self) -> bytes:
        """What is new, b"" at the end."""
        while not self._closed:
            if self._torn:
                raise Torn
            await self._follower.prepare()
            told = self._follower.take()
            if told:
                return told
            now = self._loop.time()
            if self._follower.over or now >= self._end:
                break
            if now >= self._bookmark_at:
                self._bookmark_at = self._next_bookmark(now)
                if bookmark := self._follower.bookmark():
                    return bookmark
                continue
            await self._wait(min(self._bookmark_at, self._end))
        self.close()
        return b""

    def close(self) -> None:
        """Nobody reads on."""
        self._closed = True
        self._listeners.discard(self._hear)
        self._wake()

    def tear(self) -> None:
        """Break off, as a connection does."""
        self._torn = True
        self._wake()

    def _next_bookmark(self, now: float) -> float:
        last = self._end - _BEFORE_THE_END
        return min(now + BETWEEN_BOOKMARKS, last) if last > now else self._end

    async def _wait(self, until: float) -> None:
        self._waiter = self._loop.create_future()
        timer = self._loop.call_at(until, self._wake)
        try:
            await self._waiter
        finally:
            self._waiter = None
            timer.cancel()

    def _hear(self) -> None:
        """Something happened. Thousands may hear of it whom it does not concern: those are not even woken."""
        if self._waiter is not None and not self._follower.passes_over():
            self._wake()

    def _wake(self) -> None:
        waiter = self._waiter
        if waiter is not None and not waiter.done():
            waiter.set_result(None)

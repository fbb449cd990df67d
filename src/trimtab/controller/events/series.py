"""Occurrences to events: the first makes one, repeats make it a series. Pure: the clock is given, others send.

The times are client-go's: a series ends six minutes after its last occurrence, and what lasts is written anew every
half an hour, so that the server does not forget it. Between, client-go keeps the count to itself; here the server
holds at least half of it: a series is written when its count has doubled, and when it ends.
"""

from __future__ import annotations

import re
import uuid
from collections import Counter, OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final, Literal

from trimtab.errors import TrimtabError
from trimtab.kube.core.v1 import ObjectReference
from trimtab.kube.dynamic import Dynamic
from trimtab.kube.events.v1 import Event, EventSeries
from trimtab.kube.meta.v1 import ObjectMeta
from trimtab.kube.objects import Object

FINISH: Final = timedelta(minutes=6)
"""How long after its last occurrence a series has ended: the next one is a new event."""
REFRESH: Final = timedelta(minutes=30)
"""How often what goes on is written, whether or not its count has doubled."""
ALIKE: Final = 10
"""How many events that differ in their notes alone are kept apart. Further ones are counted as one."""
MOST: Final = 4096
"""How many events are remembered; the one that was quiet for longest is forgotten first."""

_LONGEST_NOTE: Final = 1024  # bytes, as the API server counts them
_LONGEST_WORD: Final = 128
_COMBINED: Final = "(combined from similar events): "
_SUBDOMAIN: Final = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")


@dataclass(frozen=True, slots=True)
class Occurrence:
    """Something that a controller tells of an object. What is equal happened again.

    The resource version is no part of the references: a later state of the object does not make it other news.
    """

    regarding: tuple[str, str, str, str, str]
    type: str
    reason: str
    action: str
    controller: str
    note: str | None  # None stands for any: such are counted together
    related: tuple[str, str, str, str, str] | None = None


def occurrence(
    regarding: Object | Dynamic,
    type: Literal["Normal", "Warning"],  # noqa: A002  # its name in the API
    reason: str,
    note: str,
    *,
    action: str,
    controller: str,
    related: Object | Dynamic | None = None,
) -> Occurrence:
    """What is told, cut to what the API server takes."""
    if type not in ("Normal", "Warning"):
        raise TrimtabError(f"an event of {regarding!r} is of type {type!r}: use 'Normal' or 'Warning'")
    if not reason:
        raise TrimtabError(f"an event of {regarding!r} has no reason: give it one in CamelCase, such as 'Restarted'")
    return Occurrence(
        regarding=_reference(regarding),
        type=type,
        reason=reason[:_LONGEST_WORD],
        action=(action or reason)[:_LONGEST_WORD],
        controller=controller,
        note=_cut(note),
        related=_reference(related) if related is not None else None,
    )


class Entry:
    """An event that goes on: what it is, how often it was seen, and how much of that the server has been told."""

    __slots__ = ("asked", "asked_at", "count", "event", "last", "said", "written")

    def __init__(self, said: Occurrence, event: Event, now: datetime) -> None:
        self.said = said
        self.event = event
        self.count = 1
        self.last = now
        self.asked = 0  # the count at which a request was last worth it
        self.asked_at = now
        self.written = 0  # the count that the server holds; 0 where it holds nothing

    def series(self) -> EventSeries | None:
        """How it repeats, if it does."""
        return EventSeries(count=self.count, last_observed_time=self.last) if self.count > 1 else None

    def __repr__(self) -> str:
        kind, _, namespace, name, _ = self.said.regarding
        where = f"{namespace}/{name}" if namespace else name
        return f"<event {self.said.reason} of {kind} {where}>"


class Aggregator:
    """Counts what was told. `observe` and `due` hand out what is worth a request now."""

    def __init__(self, *, now: Callable[[], datetime], instance: str, most: int = MOST) -> None:
        self._now = now
        self._instance = instance
        self._most = most
        self._entries: OrderedDict[Occurrence, Entry] = OrderedDict()  # the one quiet for longest first
        self._leaving: list[Entry] = []  # forgotten, and the server does not know the last of it
        self._alike: Counter[Occurrence] = Counter()  # how many are remembered that differ in their notes

    def __len__(self) -> int:
        return len(self._entries)

    def observe(self, said: Occurrence) -> Entry | None:
        """Take one more; the event, if the server should be told of it now."""
        now = self._now()
        entry = self._live(said, now)
        if entry is None and self._alike[_group(said)] >= ALIKE:
            first, said = said, _group(said)
            if (entry := self._live(said, now)) is None:
                entry = self._begin(said, _COMBINED + (first.note or ""), now)
                return self._worth(entry, now)
        if entry is None:
            entry = self._begin(said, said.note or "", now)
        else:
            entry.count += 1
            entry.last = now
        self._entries.move_to_end(entry.said)
        return self._worth(entry, now) if entry.count >= 2 * entry.asked else None

    def due(self) -> list[Entry]:
        """What has ended since the server was last told of it, and what lasts. What has ended is forgotten."""
        now = self._now()
        while self._entries and now - (oldest := next(iter(self._entries.values()))).last > FINISH:
            self._forget(oldest)
        ended, self._leaving = self._leaving, []
        lasting = [e for e in self._entries.values() if e.count > 1 and now - e.asked_at >= REFRESH]
        return [self._worth(entry, now) for entry in (*ended, *lasting)]

    def finish(self) -> list[Entry]:
        """End all: what the server was not told of yet."""
        for entry in [*self._entries.values()]:
            self._forget(entry)
        return self.due()

    def _live(self, said: Occurrence, now: datetime) -> Entry | None:
        """The event that this is a repeat of, unless that has ended."""
        entry = self._entries.get(said)
        return entry if entry is not None and now - entry.last <= FINISH else None

    def _begin(self, said: Occurrence, note: str, now: datetime) -> Entry:
        if (before := self._entries.get(said)) is not None:
            self._forget(before)
        while len(self._entries) >= self._most:
            self._forget(next(iter(self._entries.values())))
        entry = Entry(said, self._event(said, _cut(note), now), now)
        self._entries[said] = entry
        self._alike[_group(said)] += 1
        return entry

    def _forget(self, entry: Entry) -> None:
        del self._entries[entry.said]
        if entry.count > entry.asked:
            self._leaving.append(entry)
        group = _group(entry.said)
        self._alike[group] -= 1
        if not self._alike[group]:
            del self._alike[group]

    def _worth(self, entry: Entry, now: datetime) -> Entry:
        entry.asked = entry.count
        entry.asked_at = now
        return entry

    def _event(self, said: Occurrence, note: str, now: datetime) -> Event:
        regarding = _object_reference(said.regarding)
        return Event(
            metadata=ObjectMeta(
                name=_name(regarding.name, now),
                namespace=regarding.namespace or "default",  # where kubectl looks for those of kinds without one
            ),
            event_time=now,
            type=said.type,
            reason=said.reason,
            action=said.action,
            note=note,
            regarding=regarding,
            related=_object_reference(said.related) if said.related else None,
            reporting_controller=said.controller,
            reporting_instance=f"{said.controller}-{self._instance}"[:_LONGEST_WORD],
        )


def _group(said: Occurrence) -> Occurrence:
    return replace(said, note=None)


def _reference(obj: Object | Dynamic) -> tuple[str, str, str, str, str]:
    meta = obj.metadata
    return (obj.kind, obj.api_version, meta.namespace, meta.name, meta.uid)


def _object_reference(reference: tuple[str, str, str, str, str]) -> ObjectReference:
    kind, api_version, namespace, name, uid = reference
    return ObjectReference(kind=kind, api_version=api_version, namespace=namespace, name=name, uid=uid)


def _name(regarding: str, now: datetime) -> str:
    """A name of its own: the object's and a number. Some kinds' names, as `system:node`, cannot be part of one."""
    number = uuid.uuid4().hex[:8]
    name = f"{regarding}.{int(now.timestamp() * 1e6):x}{number}"
    return name if len(name) <= 253 and _SUBDOMAIN.fullmatch(name) else f"{int(now.timestamp() * 1e6):x}{number}"


def _cut(note: str) -> str:
    """The server refuses longer ones."""
    encoded = note.encode("utf-8", "replace")
    if len(encoded) <= _LONGEST_NOTE:
        return encoded.decode()
    return encoded[: _LONGEST_NOTE - 3].decode("utf-8", "ignore") + "…"

"""The store: buckets of keys, each key with its versions, and a log of what happened in each bucket.

A watcher is a place in the log of a bucket. So nothing is queued for anybody: all watchers see the same order, and one
that is slow costs nothing until the log goes on without it.
"""

from __future__ import annotations

import logging
from bisect import bisect_left, insort
from collections.abc import Callable, Iterator
from typing import Final

from trimtab.apiserver.storage.journal import Entry, Journal, StorageFailed
from trimtab.apiserver.storage.records import Compacted, Future, Occupied, Record
from trimtab.packing import Packer

_log = logging.getLogger("trimtab.apiserver")
_LAST: Final = chr(0x10FFFF)
MOST_REMEMBERED: Final = 100_000
"""Changes that are remembered: when there are more, the older half is forgotten."""


class Bucket:
    """The keys of one sort, in order. Made by the store."""

    def __init__(self) -> None:
        self.changed = 0  # the revision of the last change
        self.listeners: set[Callable[[], None]] = set()
        self._current: dict[str, Record] = {}
        self._keys: list[str] = []  # sorted; what is gone stays until it is forgotten
        self._log: list[Record] = []
        self._dropped = 0  # records that were at the front of the log
        self._packer = Packer()

    def __len__(self) -> int:
        """How many changes it remembers."""
        return len(self._log)

    def find(self, key: str) -> Record | None:
        """The newest version under a key, also of what is gone."""
        return self._current.get(key)

    def put(self, entry: Entry) -> Record:
        """Keep another version."""
        previous = self._current.get(entry.key)
        packed, codec = self._packer.pack(entry.data)
        record = Record(entry.key, entry.revision, packed, codec, previous, gone=entry.gone)
        if previous is None:
            insort(self._keys, entry.key)
        self._current[entry.key] = record
        self._log.append(record)
        self.changed = entry.revision
        return record

    def scan(self, prefix: str, start: str, revision: int) -> Iterator[Record]:
        """What there was as of a revision under the keys with this prefix, from `start` on."""
        for key in self._between(prefix, start):
            if (record := self._current[key].as_of(revision)) is not None:
                yield record

    def count(self, prefix: str, start: str, revision: int) -> int:
        """How much `scan` would yield."""
        return sum(1 for _ in self.scan(prefix, start, revision))

    def place_after(self, revision: int) -> int:
        """The place in the log of what came after a revision."""
        return self._dropped + bisect_left(self._log, revision + 1, key=lambda record: record.revision)

    def read(self, place: int, most: int) -> list[Record] | None:
        """What happened from a place in the log on; None where some of it is forgotten."""
        index = place - self._dropped
        return None if index < 0 else self._log[index : index + most]

    def revision_at(self, index: int) -> int:
        """The revision of the so many-th change that is remembered."""
        return self._log[index].revision

    def forget(self, revision: int) -> None:
        """Forget what was there before a revision."""
        count = bisect_left(self._log, revision + 1, key=lambda record: record.revision)
        emptied = False
        for record in self._log[:count]:
            record.previous = None
            if record.gone and self._current.get(record.key) is record:
                del self._current[record.key]
                emptied = True
        if emptied:
            self._keys = [key for key in self._keys if key in self._current]
        del self._log[:count]
        self._dropped += count

    def _between(self, prefix: str, start: str) -> list[str]:
        keys = self._keys
        return keys[bisect_left(keys, max(prefix, start)) : bisect_left(keys, prefix + _LAST) if prefix else len(keys)]


class Store:
    """Bytes under keys, in buckets, with one revision for all."""

    def __init__(self, journal: Journal | None = None, *, most_remembered: int = MOST_REMEMBERED) -> None:
        self.revision = 1
        self.oldest = 1  # versions as of earlier revisions are forgotten
        self._buckets: dict[str, Bucket] = {}
        self._journal = journal
        self._most_remembered = most_remembered
        self._remembered = 0
        if journal is not None:
            self._load(journal)

    def bucket(self, name: str) -> Bucket:
        """The bucket of this name, empty at first."""
        found = self._buckets.get(name)
        if found is None:
            found = self._buckets[name] = Bucket()
        return found

    def get(self, bucket: str, key: str) -> Record | None:
        """What is under a key now; None where there is nothing."""
        record = self.bucket(bucket).find(key)
        return None if record is None or record.gone else record

    def scan(self, bucket: str, prefix: str = "", start: str = "", revision: int = 0) -> Iterator[Record]:
        """What there was as of a revision (0: now) under the keys with this prefix, from `start` on."""
        return self.bucket(bucket).scan(prefix, start, self._checked(revision))

    def count(self, bucket: str, prefix: str = "", start: str = "", revision: int = 0) -> int:
        """How much `scan` would yield."""
        return self.bucket(bucket).count(prefix, start, self._checked(revision))

    def commit(self, bucket: str, key: str, data: bytes, *, expected: int | None = None, gone: bool = False) -> Record:
        """Keep a version, as of the next revision.

        `expected` is the revision of what has to be under the key, 0 for nothing, None for whatever there is. What
        cannot be stored raises StorageFailed, and nothing has happened.
        """
        there = self.bucket(bucket)
        current = there.find(key)
        found = 0 if current is None or current.gone else current.revision
        if expected is not None and expected != found:
            raise Occupied(key, current)
        entry = Entry(self.revision + 1, bucket, key, data, gone)
        if self._journal is not None:
            self._journal.append(entry)
        record = self._keep(there, entry)
        if self._remembered > self._most_remembered:
            self.compact(self.revision - self._most_remembered // 2)
        for told in list(there.listeners):
            told()
        return record

    def compact(self, revision: int) -> None:
        """Forget what was before a revision: it can no longer be read, and nothing watched from before it."""
        revision = min(revision, self.revision)
        if revision <= self.oldest:
            return
        self.oldest = revision
        for bucket in self._buckets.values():
            bucket.forget(revision)
        self._remembered = sum(map(len, self._buckets.values()))
        for bucket in self._buckets.values():
            for told in list(bucket.listeners):
                told()
        if self._journal is not None:
            try:
                self._journal.compact(revision)
            except StorageFailed as error:  # it stays as large as it is until the next time, and nothing is lost
                _log.warning("%s", error)

    def close(self) -> None:
        """Let go of the journal."""
        if self._journal is not None:
            self._journal.close()

    def _keep(self, bucket: Bucket, entry: Entry) -> Record:
        self.revision = entry.revision
        self._remembered += 1
        return bucket.put(entry)

    def _checked(self, revision: int) -> int:
        if not revision:
            return self.revision
        if revision < self.oldest:
            raise Compacted(revision, self.oldest)
        if revision > self.revision:
            raise Future(revision, self.revision)
        return revision

    def _load(self, journal: Journal) -> None:
        oldest, newest = journal.bounds()
        for entry in journal.load():
            self._keep(self.bucket(entry.bucket), entry)
        self.revision = max(self.revision, newest)
        self.oldest = max(self.oldest, oldest)
        for bucket in self._buckets.values():
            bucket.forget(self.oldest)
        self._remembered = sum(map(len, self._buckets.values()))

"""What makes a store last: a journal of its changes, on SQLite.

A change is in the journal before anybody hears of it. SQLite's write-ahead log is written through to the operating
system with each change, so nothing that was acknowledged is lost when the process is killed. It is forced to the disk
at checkpoints only: a loss of power may take the last of it, but never leaves half of a change.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple, Protocol

from trimtab.errors import TrimtabError, one_line

_LAYOUT: Final = 1
_TABLES: Final = """
CREATE TABLE IF NOT EXISTS changes (
    revision INTEGER PRIMARY KEY, bucket TEXT NOT NULL, key TEXT NOT NULL, gone INTEGER NOT NULL, data BLOB NOT NULL
) STRICT;
CREATE INDEX IF NOT EXISTS changes_by_key ON changes (bucket, key, revision);
CREATE TABLE IF NOT EXISTS bounds (one INTEGER PRIMARY KEY CHECK (one = 1), oldest INTEGER, newest INTEGER) STRICT;
INSERT OR IGNORE INTO bounds VALUES (1, 1, 1);
"""
_FORGET: Final = """
DELETE FROM changes WHERE revision <= ?1 AND (
    gone = 1 OR EXISTS (
        SELECT 1 FROM changes AS later
        WHERE later.bucket = changes.bucket AND later.key = changes.key
        AND later.revision > changes.revision AND later.revision <= ?1
    )
)
"""


class StorageFailed(TrimtabError):
    """What was to be stored was not: the disk is full, or the folder is not writable."""


class Entry(NamedTuple):
    """One change."""

    revision: int
    bucket: str
    key: str
    data: bytes
    gone: bool


class Journal(Protocol):
    """Keeps changes. What cannot be kept raises StorageFailed, and then it is not kept."""

    def append(self, entry: Entry) -> None:
        """Keep a change."""
        ...

    def compact(self, revision: int) -> None:
        """Forget what was before a revision."""
        ...

    def bounds(self) -> tuple[int, int]:
        """The oldest revision that is remembered, and the newest."""
        ...

    def load(self) -> Iterator[Entry]:
        """All changes that are kept, in their order."""
        ...

    def close(self) -> None:
        """Let go of what it holds."""
        ...


class Database:
    """A journal in a file of SQLite. One process has it at a time."""

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            path.touch(mode=0o600)
            self._connection = sqlite3.connect(path, isolation_level=None, timeout=0, check_same_thread=False)
            self._open()
        except (OSError, sqlite3.Error) as error:
            raise StorageFailed(f"cannot open the data in {path}: {one_line(str(error))}") from error

    def _open(self) -> None:
        run = self._connection.execute
        run("PRAGMA locking_mode = EXCLUSIVE")
        run("PRAGMA journal_mode = WAL")
        run("PRAGMA synchronous = NORMAL")
        run("PRAGMA temp_store = MEMORY")
        layout = run("PRAGMA user_version").fetchone()[0]
        if layout not in (0, _LAYOUT):
            self._connection.close()
            raise StorageFailed(f"the data in {self._path} is of another version of Trimtab (layout {layout})")
        run("BEGIN IMMEDIATE")  # now rather than at the first write: whether another process has it
        for statement in _TABLES.split(";"):
            run(statement)
        run(f"PRAGMA user_version = {_LAYOUT}")
        run("COMMIT")

    def append(self, entry: Entry) -> None:
        """Keep a change."""
        values = (entry.revision, entry.bucket, entry.key, entry.gone, entry.data)
        self._write(f"revision {entry.revision}", [("INSERT INTO changes VALUES (?, ?, ?, ?, ?)", values)])

    def compact(self, revision: int) -> None:
        """Forget what was before a revision."""
        newest = "UPDATE bounds SET oldest = ?, newest = max(newest, (SELECT coalesce(max(revision), 1) FROM changes))"
        self._write("a compaction", [(newest, (revision,)), (_FORGET, (revision,))])

    def bounds(self) -> tuple[int, int]:
        """The oldest revision that is remembered, and the newest."""
        query = "SELECT oldest, max(newest, (SELECT coalesce(max(revision), 1) FROM changes)) FROM bounds"
        oldest, newest = self._connection.execute(query).fetchone()
        return oldest, newest

    def load(self) -> Iterator[Entry]:
        """All changes that are kept, in their order."""
        query = "SELECT revision, bucket, key, data, gone FROM changes ORDER BY revision"
        for revision, bucket, key, data, gone in self._connection.execute(query):
            yield Entry(revision, bucket, key, data, bool(gone))

    def close(self) -> None:
        """Let go of the file."""
        self._connection.close()

    def _write(self, what: str, statements: list[tuple[str, tuple[object, ...]]]) -> None:
        connection = self._connection
        try:
            connection.execute("BEGIN IMMEDIATE")
            for statement, values in statements:
                connection.execute(statement, values)
            connection.execute("COMMIT")
        except sqlite3.Error as error:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise StorageFailed(f"cannot store {what} in {self._path}: {one_line(str(error))}") from error

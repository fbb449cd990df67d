"""The store against a model that keeps everything, in memory and across restarts from its journal."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from trimtab.apiserver.storage import Compacted, Database, Future, Occupied, Record, StorageFailed, Store
from trimtab.apiserver.storage.journal import Entry

BUCKETS = ("pods", "configmaps")
KEYS = [f"{namespace}/{name}" for namespace in ("a", "a-b", "b") for name in ("x", "y")]


class StoreMachine(RuleBasedStateMachine):
    """A store with a journal, whose process may end at any time."""

    @initialize()
    def begin(self) -> None:
        self.folder = tempfile.TemporaryDirectory()
        self.path = Path(self.folder.name) / "objects.db"
        self.store = Store(Database(self.path))
        self.history: list[Entry] = []
        self.oldest = 1
        self.told: dict[str, list[tuple[int, str]]] = {bucket: [] for bucket in BUCKETS}
        self.places = {bucket: self.store.bucket(bucket).place_after(1) for bucket in BUCKETS}

    def teardown(self) -> None:
        self.store.close()
        self.folder.cleanup()

    def there(self, bucket: str, key: str, revision: int) -> Entry | None:
        last = [e for e in self.history if (e.bucket, e.key) == (bucket, key) and e.revision <= revision]
        return last[-1] if last and not last[-1].gone else None

    @rule(bucket=st.sampled_from(BUCKETS), key=st.sampled_from(KEYS), size=st.integers(1, 2000), gone=st.booleans())
    def commit(self, bucket: str, key: str, size: int, gone: bool) -> None:
        current = self.there(bucket, key, self.store.revision)
        expected = current.revision if current else 0
        entry = Entry(self.store.revision + 1, bucket, key, b"%d" % size * size, gone)
        self.store.commit(bucket, key, entry.data, expected=expected, gone=gone)
        self.history.append(entry)

    @rule(bucket=st.sampled_from(BUCKETS), key=st.sampled_from(KEYS), wrong=st.integers(1, 5))
    def commit_what_is_not_so(self, bucket: str, key: str, wrong: int) -> None:
        current = self.there(bucket, key, self.store.revision)
        with pytest.raises(Occupied):
            self.store.commit(bucket, key, b"x", expected=(current.revision if current else 0) + wrong)

    @rule(back=st.integers(0, 5))
    def compact(self, back: int) -> None:
        self.store.compact(self.store.revision - back)
        self.oldest = max(self.oldest, self.store.revision - back)
        for bucket in BUCKETS:  # who had not read on is told, and begins anew
            if self.store.bucket(bucket).read(self.places[bucket], 1) is None:
                self.places[bucket] = self.store.bucket(bucket).place_after(self.store.revision)
                self.told[bucket] = [(e.revision, e.key) for e in self.history if e.bucket == bucket]

    @rule()
    def restart(self) -> None:
        self.watch()
        self.store.close()
        self.store = Store(Database(self.path))
        for bucket in BUCKETS:
            self.places[bucket] = self.store.bucket(bucket).place_after(self.store.revision)

    @rule(most=st.integers(1, 3))
    def watch(self, most: int = 100) -> None:
        for bucket in BUCKETS:
            while records := self.store.bucket(bucket).read(self.places[bucket], most):
                self.places[bucket] += len(records)
                self.told[bucket] += [(record.revision, record.key) for record in records]
            assert self.told[bucket] == [(e.revision, e.key) for e in self.history if e.bucket == bucket]

    @invariant()
    def every_revision_reads_as_it_was(self) -> None:
        if not hasattr(self, "store"):
            return
        assert self.store.revision == (self.history[-1].revision if self.history else 1)
        assert self.store.oldest == self.oldest
        for revision in range(self.oldest, self.store.revision + 1):
            for bucket in BUCKETS:
                for prefix, start in (("", ""), ("a/", ""), ("", "a/y")):
                    found = list(self.store.scan(bucket, prefix, start, revision))
                    wanted = [self.there(bucket, key, revision) for key in sorted(KEYS)]
                    wanted = [e for e in wanted if e and e.key.startswith(prefix) and e.key >= start]
                    assert [(r.key, r.revision, r.data) for r in found] == [(e.key, e.revision, e.data) for e in wanted]

    @invariant()
    def nothing_else_reads(self) -> None:
        if not hasattr(self, "store"):
            return
        with pytest.raises(Future):
            self.store.scan("pods", revision=self.store.revision + 1)
        if self.oldest > 1:
            with pytest.raises(Compacted):
                self.store.scan("pods", revision=self.oldest - 1)


TestStore = StoreMachine.TestCase
TestStore.settings = settings(max_examples=30, stateful_step_count=30, deadline=None)


def test_a_full_disk_ends_a_write_and_nothing_else(tmp_path: Path) -> None:
    database = Database(tmp_path / "objects.db")
    store = Store(database)
    kept = store.commit("pods", "a", b"x" * 4000)
    pages = database._connection.execute("PRAGMA page_count").fetchone()[0]
    database._connection.execute(f"PRAGMA max_page_count = {pages + 2}")
    with pytest.raises(StorageFailed, match="full"):
        _fill(store)
    there = [record.key for record in store.scan("pods")]
    database._connection.execute("PRAGMA max_page_count = 100000")
    store.commit("pods", "c", b"y")
    store.close()
    again = Store(Database(tmp_path / "objects.db"))
    assert [record.key for record in again.scan("pods")] == [*there, "c"]
    record = again.get("pods", "a")
    assert record is not None
    assert (record.revision, record.data) == (kept.revision, b"x" * 4000)
    again.close()


def _fill(store: Store) -> None:
    for n in range(100):
        store.commit("pods", f"b{n}", bytes(range(256)) * 40)


def test_one_process_has_the_data_at_a_time(tmp_path: Path) -> None:
    database = Database(tmp_path / "objects.db")
    with pytest.raises(StorageFailed, match="locked"):
        Database(tmp_path / "objects.db")
    database.close()


def test_the_past_is_bounded() -> None:
    store = Store(most_remembered=100)
    for n in range(1000):
        store.commit("pods", "a", b"%d" % n)
    assert len(store.bucket("pods")) <= 100
    assert store.revision - store.oldest >= 50  # and never all of it is forgotten
    assert isinstance(store.get("pods", "a"), Record)


def test_what_is_gone_is_forgotten_with_its_past() -> None:
    store = Store()
    for n in range(100):
        store.commit("pods", f"{n}", b"x")
        store.commit("pods", f"{n}", b"x", gone=True)
    store.compact(store.revision)
    bucket = store.bucket("pods")
    assert (len(bucket), bucket._keys, bucket._current) == (0, [], {})

"""Objects are found again by namespace, labels, owner and what a user's function says, and what is empty is gone."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from trimtab.cache.entry import Cached
from trimtab.cache.indexes import Indexer
from trimtab.cache.store import Store
from trimtab.errors import TrimtabError
from trimtab.kube import Selector
from trimtab.kube.core.v1 import Pod
from trimtab.packing import PLAIN

NAMESPACES = ["shop", "bank", ""]
SELECTORS = [None, Selector.nothing(), *map(Selector.parse, ["", "app=web", "app=db,tier=1", "app in (web,db),!tier"])]
SELECTORS += map(Selector.parse, ["app!=web", "app=none", "app in (web),tier notin (2)"])
LABELS = [b"", b'{"app":"web"}', b'{ "app":"web" }', b'{"app":"web","tier":"1"}', b'{"app":"db","tier":"1"}', b"null"]


def owners(*uids: str, controller: int | None = 0, more: bool = False) -> bytes:
    """Owner references, one of which may be a controller."""
    made = [{"apiVersion": "v1", "kind": "Node", "name": "n", "uid": uid} for uid in uids]
    if controller is not None:
        made[controller]["controller"] = True  # type: ignore[assignment]
    if more:
        made[0]["blockOwnerDeletion"] = True  # type: ignore[assignment]
    return json.dumps(made).encode()


OWNERS = [
    b"",
    b"[]",
    b"null",
    owners("o1"),
    owners("o1", more=True),
    owners("o2", "o1"),
    owners("o1", "o2", controller=1),
]
OWNERS += [owners("o3", controller=None), owners("o2")]


def entry_of(
    indexer: Indexer[Pod], key: str, version: str = "1", uid: str = "u", labels: bytes = b"", owner: bytes = b""
) -> Cached[Pod]:
    """An entry as the intake makes it."""
    namespace = key.rpartition("/")[0]
    found = indexer.groups.intern(namespace, labels), indexer.owners.intern(owner)
    return Cached(key, version, uid, *found, False, b"{}", PLAIN, Pod)


def by_uid(entry: Cached[Any]) -> Iterable[str]:
    return [entry.uid]


def by_version(entry: Cached[Any]) -> Iterator[str]:
    """Several values, some twice, at times none, and at times it fails with some of them given."""
    yield from (entry.resource_version, entry.resource_version, f"even {int(entry.resource_version) % 2}")
    if int(entry.resource_version) % 5 == 0:
        raise LookupError("no such thing")


def by_name(entry: Cached[Any]) -> Iterable[str]:
    return () if entry.name == "a" else (entry.name,)


FUNCTIONS = {"uid": by_uid, "version": by_version, "name": by_name}
# Each once: the log is not what this is about.
logging.getLogger("trimtab.cache").addFilter(lambda record: "index version" not in record.getMessage())


class AnyOrder(RuleBasedStateMachine):
    """A store and its indexes against a dict of what was put, with entries that are made, and kept for a while."""

    @initialize()
    def begin(self) -> None:
        self.store: Store[Pod] = Store()
        self.held: dict[str, Cached[Pod]] = {}
        self.waiting: list[Cached[Pod]] = []  # made, and not put yet
        self.added: set[str] = set()
        self.number = 0

    @rule(
        namespace=st.sampled_from(NAMESPACES),
        name=st.sampled_from("abc"),
        uid=st.sampled_from(["u1", "u2"]),
        labels=st.sampled_from(LABELS),
        owner=st.sampled_from(OWNERS),
        at_once=st.booleans(),
    )
    def make(self, namespace: str, name: str, uid: str, labels: bytes, owner: bytes, at_once: bool) -> None:
        self.number += 1
        key = f"{namespace}/{name}" if namespace else name
        entry = entry_of(self.store.indexer, key, str(self.number), uid, labels, owner)
        self.waiting.append(entry)
        if at_once:
            self.put(-1)

    @rule(which=st.integers(0))
    def put(self, which: int) -> None:
        if self.waiting:
            entry = self.waiting.pop(which % len(self.waiting))
            self.store.put(entry)
            self.held[entry.key] = entry

    @rule(which=st.integers(0))
    def delete(self, which: int) -> None:
        if self.held:
            entry = self.held.pop(sorted(self.held)[which % len(self.held)])
            self.store.delete(entry)

    @rule(kept=st.sets(st.integers(0, 8)))
    def replace(self, kept: set[int]) -> None:
        entries = {key: entry for n, (key, entry) in enumerate(sorted(self.held.items())) if n in kept}
        entries |= {entry.key: entry for entry in self.waiting}
        self.store.replace(entries)
        self.held, self.waiting = entries, []

    @rule(name=st.sampled_from(sorted(FUNCTIONS)))
    def add_index(self, name: str) -> None:
        self.store.ensure_index(name, FUNCTIONS[name])
        self.added.add(name)

    @invariant()
    def everything_is_found_by_labels_and_namespace_and_nothing_else_is(self) -> None:
        for selector in SELECTORS:
            for namespace in (None, "shop", "none"):
                found = list(self.store.select(selector, namespace))
                wanted = [
                    entry
                    for entry in self.held.values()
                    if (not namespace or entry.namespace == namespace)
                    and (selector is None or selector.matches(entry.labels))
                ]
                assert sorted(map(id, found)) == sorted(map(id, wanted))

    @invariant()
    def everything_is_found_by_its_controller(self) -> None:
        for uid in ("o1", "o2", "o3", "none"):
            wanted = [e for e in self.held.values() if e.controller is not None and e.controller.uid == uid]
            assert sorted(map(id, self.store.indexer.owners.of(uid))) == sorted(map(id, wanted))

    @invariant()
    def everything_is_found_by_functions(self) -> None:
        for name in self.added:
            by_value: dict[str, dict[str, Cached[Pod]]] = {}
            for entry in self.held.values():
                try:
                    values = list(FUNCTIONS[name](entry))
                except LookupError:
                    values = []
                assert self.store.indexer.values_of(name, entry) == tuple(dict.fromkeys(values))
                for value in values:
                    by_value.setdefault(value, {})[entry.key] = entry
            index = self.store.indexer._functions[name]
            assert index.members == by_value, "and there is no value without objects"
            assert index._values.keys() == {key for found in by_value.values() for key in found}
            for value, found in by_value.items():
                assert self.store.indexer.find(name, value) == found

    @invariant()
    def nothing_that_is_empty_is_kept(self) -> None:
        indexer = self.store.indexer
        for index in (indexer.groups, indexer.owners):
            for name, table in vars(index).items():
                if name != "_interned":  # there are labels in there, which may be none
                    assert all(len(inner) for inner in table.values() if isinstance(inner, dict)), name
        pairs = {pair for entry in self.held.values() for pair in entry.labels.items()}
        assert indexer.groups._by_pair.keys() == pairs
        assert indexer.groups._by_namespace.keys() == {entry.namespace for entry in self.held.values()}

    @invariant()
    def what_is_kept_is_interned_and_nothing_that_is_of_the_past(self) -> None:
        indexer = self.store.indexer
        interned = {(labels.namespace, labels.raw) for labels in indexer.groups._interned.values()}
        assert {(entry.namespace, entry.labels.raw) for entry in self.held.values()} <= interned
        assert interned <= {(entry.namespace, entry.labels.raw) for entry in self.alive}
        owners_interned = {owner.raw for owner in indexer.owners._interned.values() if owner}
        assert {entry.owner.raw for entry in self.held.values() if entry.owner} <= owners_interned, "lost to siblings"
        assert owners_interned <= {entry.owner.raw for entry in self.alive if entry.owner}

    @property
    def alive(self) -> list[Cached[Pod]]:
        return [*self.held.values(), *self.waiting]

    def teardown(self) -> None:
        self.store.clear()
        indexer = self.store.indexer
        for index in (indexer.groups, indexer.owners, *indexer._functions.values()):
            assert not any(table for table in vars(index).values() if isinstance(table, dict))


TestAnyOrder = AnyOrder.TestCase
TestAnyOrder.settings = settings(max_examples=60, stateful_step_count=25, deadline=None)


@pytest.fixture
def store() -> Store[Pod]:
    return Store()


def test_labels_are_one_for_all_objects_of_a_namespace_that_have_them(store: Store[Pod]) -> None:
    groups = store.indexer.groups
    assert groups.intern("shop", LABELS[1]) is groups.intern("shop", LABELS[1])
    assert groups.intern("shop", LABELS[1]) is not groups.intern("bank", LABELS[1])


def test_a_selector_looks_at_no_group_that_its_namespace_or_a_label_rules_out(
    store: Store[Pod], monkeypatch: pytest.MonkeyPatch
) -> None:
    """So it reads what it returns, however many others there are."""
    for number in range(100):
        labels = msgspec.json.encode({"app": f"app-{number}", "tier": str(number % 2)})
        store.put(entry_of(store.indexer, f"ns-{number % 10}/{number}", uid=str(number), labels=labels))
    looked_at: list[object] = []
    matches = Selector.matches
    monkeypatch.setattr(Selector, "matches", lambda self, labels: looked_at.append(0) or matches(self, labels))
    for labels, namespace, looks in (
        ("app=app-7,tier=1", None, 1),
        ("tier in (1),app=app-7", "ns-7", 1),
        ("tier=1,app=none", None, 0),
        ("app", "ns-3", 10),
        ("app=app-7", "none", 0),
    ):
        looked_at.clear()
        list(store.select(Selector.parse(labels), namespace))
        assert len(looked_at) <= looks


def test_an_owner_that_is_no_controller_owns_nothing(store: Store[Pod]) -> None:
    entry = entry_of(store.indexer, "a", owner=owners("o1", controller=None))
    store.put(entry)
    assert entry.controller is None
    assert list(store.indexer.owners.of("o1")) == []


def test_owners_that_are_no_controllers_are_not_kept_for_ever(store: Store[Pod]) -> None:
    """Each Lease of a node names its node so: where nodes come and go, and nothing is listed again, these add up."""
    for number in range(100):
        entry = entry_of(store.indexer, "a", uid=str(number), owner=owners(f"node-{number}", controller=None))
        store.put(entry)
        store.delete(entry)
    assert len(store.indexer.owners._interned) < 10


def test_what_was_made_and_never_put_is_swept_away_with_the_next_list(store: Store[Pod]) -> None:
    for number in range(10):
        entry_of(store.indexer, "a", labels=b'{"a":"%d"}' % number, owner=owners(f"o{number}"))
    kept = entry_of(store.indexer, "b", labels=LABELS[1], owner=owners("o"))
    store.replace({"b": kept})
    assert list(store.indexer.groups._interned.values()) == [kept.labels]
    assert list(store.indexer.owners._interned.values()) == [kept.owner]


# -- Functions of users


def test_a_function_that_fails_says_so_in_the_log_and_its_object_is_not_found_by_it(
    store: Store[Pod], caplog: pytest.LogCaptureFixture
) -> None:
    def fails_on_b(entry: Cached[Any]) -> list[str]:
        return [{"a": "x"}[entry.name]]

    for name in "ab":
        store.put(entry_of(store.indexer, name, uid=name))
    store.ensure_index("by letter", fails_on_b)
    assert list(store.indexer.find("by letter", "x")) == ["a"]
    (record,) = caplog.records
    assert "index by letter: its function failed on <Pod b at 1>" in record.getMessage()
    assert record.exc_info


def test_another_function_under_the_same_name_is_an_error(store: Store[Pod]) -> None:
    store.ensure_index("uid", by_uid)
    store.put(entry_of(store.indexer, "a"))
    store.ensure_index("uid", by_uid)  # informers that share a watch share their indexes
    assert list(store.indexer.find("uid", "u")) == ["a"]
    with pytest.raises(TrimtabError, match="another index 'uid'"):
        store.ensure_index("uid", by_name)


def test_an_index_that_is_not_there_says_which_are(store: Store[Pod]) -> None:
    with pytest.raises(TrimtabError, match=r"no index 'uid' \(there are: none\): add it with add_index"):
        store.indexer.find("uid", "u")
    store.ensure_index("name", by_name)
    store.ensure_index("app", by_uid)
    with pytest.raises(TrimtabError, match="there are: app, name"):
        store.indexer.values_of("uid", entry_of(store.indexer, "a"))

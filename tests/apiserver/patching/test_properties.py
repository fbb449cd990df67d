"""What holds of field sets and of apply whatever the objects are."""

from __future__ import annotations

import copy
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tests.apiserver.patching.cases import TOY

from trimtab.apiserver.facts import kubernetes
from trimtab.apiserver.patching import (
    ApplyConflict,
    apply,
    keep_times,
    place_of,
    record_update,
    to_parent,
    to_scale,
)
from trimtab.apiserver.patching.fieldsets import (
    as_read,
    difference,
    has,
    in_order,
    intersection,
    of,
    paths,
    union,
    without,
)
from trimtab.apiserver.patching.typedsets import below, compare, field_set, grouped

Json = dict[str, Any]

unhurried = settings(deadline=None)  # the first example resolves schemas

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
LATER = datetime(2026, 1, 2, 3, 4, 6, tzinfo=UTC)

ELEMENT = st.sampled_from(["f:a", "f:b", 'k:{"name":"a"}', 'k:{"name":"a","port":80}', 'v:"a"', "v:1"])
PATHS = st.frozensets(st.lists(ELEMENT, min_size=1, max_size=3).map(tuple), max_size=6)

# No empty lists and maps: kube-apiserver takes a struct away with those that nobody owns, and so do we.
WORD = st.sampled_from(["a", "b", "c"])
ITEMS = st.lists(
    st.fixed_dictionaries(
        {"name": WORD}, optional={"port": st.sampled_from([80, 9]), "tags": st.lists(WORD, max_size=2)}
    ),
    min_size=1,
    max_size=3,
    unique_by=lambda item: (item["name"], item.get("port", 80)),
)
SPEC = st.fixed_dictionaries(
    {},
    optional={
        "replicas": st.integers(0, 2),
        "flag": st.booleans(),
        "mixed": st.sampled_from([1, "1"]),
        "map": st.dictionaries(WORD, WORD, min_size=1, max_size=2),
        "whole": st.dictionaries(WORD, WORD, max_size=2),
        "set": st.lists(WORD, min_size=1, max_size=3, unique=True),
        "list": ITEMS,
        "items": ITEMS,
        "nested": st.fixed_dictionaries({"one": WORD}, optional={"two": st.fixed_dictionaries({"three": WORD})}),
        "free": st.dictionaries(
            WORD, st.one_of(WORD, st.integers(0, 1), st.dictionaries(WORD, WORD, min_size=1, max_size=1)), max_size=2
        ),
    },
)


def toy(spec: Json) -> Json:
    return {"apiVersion": "toys.example.com/v1", "kind": "Toy", "metadata": {"name": "x"}, "spec": spec}


COMMON: Json = {"schema": TOY, "subresource": "", "api_version": "toys.example.com/v1"}


def applied(live: Json | None, spec: Json, manager: str, *, force: bool = False, now: datetime = NOW) -> Json:
    made = apply(live, toy(spec), manager=manager, force=force, now=now, **COMMON)
    assume(
        not has_null(made)
    )  # what is left of a struct that lost all; validation refuses it, as kube-apiserver's does
    return made


def has_null(value: Any) -> bool:
    if isinstance(value, dict | list):
        return any(map(has_null, value.values() if isinstance(value, dict) else value))
    return value is None


def owners(obj: Json) -> dict[str, Any]:
    return {entry["manager"]: entry["fieldsV1"] for entry in obj["metadata"].get("managedFields", [])}


def value_at(obj: Any, path: tuple[str, ...]) -> Any:
    """What an object has at a path: of what has fields of its own, only whether it is there."""
    schema = TOY
    for element in path:
        if element.startswith("f:"):
            if not isinstance(obj, dict) or element[2:] not in obj:
                return None
            obj, schema = obj[element[2:]], below(schema, element[2:])
        else:
            found = grouped(schema, obj or []).get(element)
            if not found:
                return None
            obj, schema = found[0], schema.items
    if isinstance(obj, dict):
        return (obj,) if schema.atomic_map else "there"
    return "there" if isinstance(obj, list) and not schema.atomic_list else (obj,)


@unhurried
@given(PATHS, PATHS)
def test_sets_are_sets(one: frozenset[Any], other: frozenset[Any]) -> None:
    a, b = of(*one), of(*other)
    assert set(paths(a)) == one
    assert set(paths(union(a, b))) == one | other
    assert set(paths(difference(a, b))) == one - other
    assert set(paths(intersection(a, b))) == one & other
    below = {path for path in one if any(path[: len(cut)] == cut for cut in other)}
    assert set(paths(without(a, b))) == one - below
    assert all(has(a, path) == (path in one) for path in one | other)
    ordered = in_order(union(a, b))
    assert as_read(ordered) == ordered
    assert list(paths(ordered)) == list(paths(union(b, a)))


@pytest.mark.parametrize(
    ("fields", "ordered"),
    [
        ({"f:b": {}, "f:a": {}}, ["f:a", "f:b"]),
        ({"f:a": {}, ".": {}}, [".", "f:a"]),
        ({'k:{"port":443}': {}, 'k:{"port":80}': {}}, ['k:{"port":80}', 'k:{"port":443}']),
        ({"v:true": {}, 'v:"a"': {}, "v:2": {}, "v:10": {}}, ["v:2", "v:10", 'v:"a"', "v:true"]),
        ({'v:"a"': {}, 'k:{"a":1}': {}, "f:z": {}}, ["f:z", 'k:{"a":1}', 'v:"a"']),
        ({'k:{"a":1,"b":1}': {}, 'k:{"a":1}': {}}, ['k:{"a":1}', 'k:{"a":1,"b":1}']),
    ],
)
def test_elements_are_in_order(fields: Json, ordered: list[str]) -> None:
    assert list(in_order(fields)) == ordered


@unhurried
@given(SPEC, SPEC)
def test_what_is_compared_is_what_is_owned(one: Json, other: Json) -> None:
    before, after = toy(one), toy(other)
    changes = compare(TOY, before, after)
    assert compare(TOY, after, before) == (changes.added, changes.modified, changes.removed)
    owned = set(paths(field_set(TOY, after)))
    unchanged = owned - set(paths(changes.modified)) - set(paths(changes.added))
    assert all(value_at(before, path) == value_at(after, path) for path in unchanged)
    assert compare(TOY, before, copy.deepcopy(before)) == ({}, {}, {})


@unhurried
@given(SPEC, SPEC)
def test_applied_twice_is_applied_once(first: Json, second: Json) -> None:
    live = applied(None, first, "alice")
    once = applied(live, second, "alice")
    assume(owners(once))  # an object that nobody owns anything of is looked at anew
    assert applied(once, second, "alice", now=LATER) == once
    assert owners(once).get("alice", {}) == in_order(difference(field_set(TOY, toy(second)), BARE))


BARE = of(("f:apiVersion",), ("f:kind",), ("f:metadata", "f:name"))


@unhurried
@given(SPEC, SPEC)
def test_alone_one_has_what_one_applies(first: Json, second: Json) -> None:
    once = applied(applied(None, first, "alice"), second, "alice")
    anew = applied(None, second, "alice")
    for path in paths(difference(field_set(TOY, toy(second)), BARE)):
        assert value_at(once, path) == value_at(anew, path)


@unhurried
@given(SPEC, SPEC, SPEC)
def test_nobody_loses_without_force(mine: Json, theirs: Json, more: Json) -> None:
    live = applied(None, mine, "alice")
    given_ = copy.deepcopy(live)
    try:
        both = applied(live, theirs, "bob")
        both = applied(both, more, "bob")
    except ApplyConflict as conflict:
        conflicts = conflict.conflicts
        both = applied(live, theirs, "bob", force=True)
        for each in conflicts:
            assert not has(owners(both).get("alice", {}), each.path) or value_at(live, each.path) == value_at(
                both, each.path
            )
    else:
        fields = owners(live).get("alice", {})
        assert owners(both).get("alice", {}) == fields
        assert all(value_at(both, path) == value_at(live, path) for path in paths(fields))
    assert live == given_


@unhurried
@given(SPEC, SPEC, SPEC)
def test_who_changes_owns(applied_spec: Json, updated: Json, again: Json) -> None:
    live = applied(None, applied_spec, "alice")
    live["metadata"]["uid"] = "1"
    after = {**copy.deepcopy(live), "spec": updated}
    entries = record_update(live, after, manager="bob", now=LATER, **COMMON)
    changes = compare(TOY, live, after)
    changed = set(paths(difference(union(changes.modified, changes.added), BARE)))
    held = {entry["manager"]: set(paths(entry["fieldsV1"])) for entry in entries}
    if live["metadata"].get("managedFields"):
        assert held.get("bob", set()) == changed
        assert not held.get("alice", set()) & (changed | set(paths(changes.removed)))
    else:
        assert entries == []
    after["metadata"]["managedFields"] = entries
    same = record_update(after, copy.deepcopy(after), manager="carol", now=LATER, **COMMON)
    assert same == entries
    final = {**after, "spec": again}
    for entry in record_update(after, final, manager="bob", now=LATER, **COMMON):
        assert set(paths(entry["fieldsV1"])) <= set(paths(field_set(TOY, final))) | set(
            paths(compare(TOY, {}, final).added)
        )


def test_times_stay_where_nothing_else_changes() -> None:
    live = apply(None, toy({"text": "a"}), manager="alice", force=False, now=NOW, **COMMON)
    again = copy.deepcopy(live)
    again["metadata"]["managedFields"][0]["time"] = "2027-01-01T00:00:00Z"
    assert keep_times(live, again) == live
    other = {**again, "spec": {"text": "b"}}
    assert keep_times(live, other) is other
    more = copy.deepcopy(again)
    more["metadata"]["managedFields"][0]["fieldsV1"]["f:spec"]["f:flag"] = {}
    assert keep_times(live, more) is more


def test_nobody_can_spoil_what_is_shared() -> None:
    schema = kubernetes().schema("apps", "v1", "Deployment")
    assert schema is not None
    sent = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "x"}, "spec": {"replicas": 1}}

    def made() -> Json:
        return apply(
            None, sent, schema=schema, manager="a", force=False, subresource="", api_version="apps/v1", now=NOW
        )

    first = made()
    spoiled = copy.deepcopy(first)
    first["spec"]["strategy"]["type"] = "spoiled"
    first["metadata"]["managedFields"][0]["fieldsV1"]["f:spec"]["f:replicas"]["spoiled"] = {}
    assert made() == spoiled


def test_replicas_between_an_object_and_its_scale() -> None:
    spec = {"f:spec": {"f:replicas": {}, "f:text": {}}}
    entries = [
        {
            "manager": "a",
            "operation": "Apply",
            "apiVersion": "v1",
            "fieldsType": "FieldsV1",
            "time": "t",
            "fieldsV1": spec,
        },
        {"manager": "b", "operation": "Update", "apiVersion": "gone", "fieldsType": "FieldsV1", "fieldsV1": spec},
    ]
    places = {"v1": place_of(".spec.replicas")}
    scaled = to_scale(entries, places)
    assert [(entry["manager"], entry["apiVersion"]) for entry in scaled] == [("a", "autoscaling/v1")]
    assert scaled[0]["fieldsV1"] == {"f:spec": {"f:replicas": {}}}
    assert to_parent(entries, scaled, api_version="v1", places=places) == entries[:1]
    other = [{**scaled[0], "manager": "c"}]
    theirs, mine = to_parent(entries, other, api_version="v1", places=places)
    assert (mine["manager"], mine["fieldsV1"]) == ("a", {"f:spec": {"f:text": {}}})
    assert (theirs["manager"], theirs["fieldsV1"]) == ("c", {"f:spec": {"f:replicas": {}}})
    assert "time" not in theirs

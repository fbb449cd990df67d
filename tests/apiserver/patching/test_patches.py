"""What the cases from a real server do not show: limits, and that nobody's object is changed."""

from __future__ import annotations

import copy
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from trimtab.apiserver.facts import kubernetes
from trimtab.apiserver.patching import apply, json_patch, merge_patch, record_update, strategic_merge
from trimtab.apiserver.statuses import Refused

SCHEMA = kubernetes().schema("", "v1", "ConfigMap")
OBJECT: dict[str, Any] = {
    "metadata": {"name": "x", "labels": {"a": "1"}, "finalizers": ["f"]},
    "data": {"a": "1", "b": "2"},
    "list": [{"a": [1, 2]}],
}


def test_too_many_operations() -> None:
    operation = {"op": "test", "path": "/data/a", "value": "1"}
    assert json_patch(OBJECT, [operation] * 10_000) == OBJECT
    with pytest.raises(Refused, match="is 10000, got 10001") as refused:
        json_patch(OBJECT, [operation] * 10_001)
    assert refused.value.code == 413


def test_what_is_given_stays_as_it_is() -> None:
    assert SCHEMA is not None
    value = {"deep": [1]}
    operations = [
        {"op": "add", "path": "/data/c", "value": value},
        {"op": "copy", "from": "/list", "path": "/copied"},
        {"op": "add", "path": "/copied/0/a/-", "value": 3},
        {"op": "add", "path": "/data/c/deep/-", "value": 2},
        {"op": "remove", "path": "/list/0/a/0"},
    ]
    merge = {"metadata": {"labels": {"a": None, "b": "2"}}, "data": None}
    strategic = {
        "metadata": {"labels": {"$patch": "delete"}, "$deleteFromPrimitiveList/finalizers": ["f"]},
        "data": {"a": None},
    }
    given = copy.deepcopy((OBJECT, operations, merge, strategic))
    patched = json_patch(OBJECT, operations)
    assert patched["list"] == [{"a": [2]}]
    assert patched["copied"] == [{"a": [1, 2, 3]}]
    assert patched["data"]["c"] == {"deep": [1, 2]}
    assert merge_patch(OBJECT, merge)["metadata"]["labels"] == {"b": "2"}
    merged = strategic_merge(OBJECT, strategic, SCHEMA)
    assert merged["metadata"] == {"name": "x", "labels": {}, "finalizers": []}
    assert merged["data"] == {"b": "2"}
    assert (OBJECT, operations, merge, strategic) == given


@pytest.mark.parametrize(
    ("obj", "patch", "result"),
    [
        # the examples of RFC 7386
        ({"a": "b"}, {"a": "c"}, {"a": "c"}),
        ({"a": "b"}, {"b": "c"}, {"a": "b", "b": "c"}),
        ({"a": "b"}, {"a": None}, {}),
        ({"a": ["b"]}, {"a": "c"}, {"a": "c"}),
        ({"a": "c"}, {"a": ["b"]}, {"a": ["b"]}),
        ({"a": {"b": "c"}}, {"a": {"b": "d", "c": None}}, {"a": {"b": "d"}}),
        ({"a": [{"b": "c"}]}, {"a": [1]}, {"a": [1]}),
        ({"e": None}, {"a": 1}, {"e": None, "a": 1}),
        ({}, {"a": {"bb": {"ccc": None}}}, {"a": {"bb": {}}}),
    ],
)
def test_merge_patches(obj: Any, patch: Any, result: Any) -> None:
    assert merge_patch(obj, patch) == result


def test_what_is_nested_too_deep_is_refused() -> None:
    assert SCHEMA is not None
    deep: Any = "end"
    for _ in range(3000):
        deep = {"a": deep}
    obj = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x"}, "data": deep}
    free = kubernetes().custom({"type": "object"})
    common: Any = {"schema": free, "manager": "a", "subresource": "", "api_version": "v1", "now": datetime.now(UTC)}
    writes: list[Callable[[], object]] = [
        lambda: apply(None, obj, force=False, **common),
        lambda: record_update(None, obj, **common),
        lambda: record_update(obj, {**obj, "data": {"a": deep}}, **common),
        lambda: merge_patch(OBJECT, obj),
        lambda: strategic_merge(OBJECT, obj, SCHEMA),
        lambda: json_patch(OBJECT, [{"op": "add", "path": "/x", "value": deep}]),
    ]
    for write in writes:
        with pytest.raises(Refused, match="depth"):
            write()


SCALAR = st.one_of(st.none(), st.booleans(), st.integers(-2, 2), st.sampled_from(["", "a", "Apply", "FieldsV1", "v1"]))
KEY = st.sampled_from(
    [
        *("metadata", "labels", "a", "$patch", "$retainKeys", "$setElementOrder/finalizers", "finalizers", "data"),
        *("$deleteFromPrimitiveList/finalizers", "$setElementOrder/ownerReferences", "ownerReferences", "uid", "spec"),
        *("manager", "operation", "apiVersion", "fieldsType", "fieldsV1", "time", "f:a", "k:{}", "k:[1]", "v:{", "i:x"),
        *('k:{"a":[1]}', "managedFields", "op", "path", "from", "value", ".", "x", "annotations"),
    ]
)
ANYTHING = st.recursive(
    SCALAR, lambda below: st.one_of(st.lists(below, max_size=3), st.dictionaries(KEY, below, max_size=4)), max_leaves=12
)
ENTRY = st.fixed_dictionaries(
    {"operation": st.just("Update"), "apiVersion": st.just("v1"), "fieldsType": st.just("FieldsV1")},
    optional={"fieldsV1": ANYTHING, "manager": SCALAR, "time": SCALAR},
)


UPDATED = {"operation": "Update", "apiVersion": "v1", "fieldsType": "FieldsV1"}


@settings(deadline=None)
@example({}, {}, [{**UPDATED, "fieldsV1": {"k:[1]": {}, "k:{}": {}}}])
@example({}, {}, [{**UPDATED, "fieldsV1": {"i:x": {}}}])
@example({}, {}, [{**UPDATED, "manager": 1}])
@example({}, {}, [1])
@example({}, {}, "text")
@given(ANYTHING, ANYTHING, st.one_of(ANYTHING, st.lists(ENTRY, max_size=2)))
def test_whatever_arrives_is_taken_or_refused(body: Any, live_part: Any, entries: Any) -> None:
    assert SCHEMA is not None
    free = kubernetes().custom({"type": "object", "x-kubernetes-preserve-unknown-fields": True})
    live = {**OBJECT, "apiVersion": "v1", "kind": "ConfigMap", "x": live_part}
    live["metadata"] = {**OBJECT["metadata"], "uid": "1", "ownerReferences": [{"uid": "1"}]}
    sent = {**live, "metadata": {**live["metadata"], "managedFields": entries}, "y": body}
    common: Any = {"manager": "a", "subresource": "", "api_version": "v1", "now": datetime(2026, 1, 1, tzinfo=UTC)}
    for schema in (SCHEMA, free):
        writes: list[Callable[[], object]] = [
            lambda: json_patch(live, body),
            lambda: json_patch(live, [body]),
            lambda: merge_patch(live, body),
            lambda schema=schema: strategic_merge(live, body, schema),
            lambda schema=schema: strategic_merge(live, {"metadata": body}, schema),
            lambda schema=schema: record_update(live, sent, schema=schema, **common),
            lambda schema=schema: record_update(None, sent, schema=schema, **common),
            lambda schema=schema: apply(live, sent, schema=schema, force=True, **common),
            lambda schema=schema: apply(
                live, {"apiVersion": "v1", "kind": "ConfigMap", "z": body}, schema=schema, force=False, **common
            ),
        ]
        for write in writes:
            with suppress(Refused):
                msgspec.json.encode(write())

"""What the cases from a real server do not show: limits, and that nobody's object is changed."""

from __future__ import annotations

import copy
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest

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

"""Bytes from the server become entries: split, stripped of what nobody reads, packed."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from trimtab.cache.entry import Cached
from trimtab.cache.indexes import Indexer
from trimtab.cache.intake import Intake, Transform, WrongKind
from trimtab.errors import TrimtabError
from trimtab.kube.apps.v1 import Deployment
from trimtab.kube.core.v1 import Pod
from trimtab.kube.kinds import Resource
from trimtab.kube.partial import PARTIAL, metadata_of
from trimtab.packing import Packer

COMPACT = (",", ":")
FIELDS = [{"manager": "kubectl", "fieldsV1": {"f:spec": {}}}]
NAMES = st.sampled_from(["managedFields", "metadata", "a", '"managedFields":', ',"managedFields":[],'])
VALUES = st.recursive(
    st.none() | st.integers() | NAMES | st.text(max_size=5) | st.just(FIELDS) | st.just([]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=8,
)
METADATA_VALUES = NAMES | st.integers() | st.dictionaries(NAMES, NAMES, max_size=3) | st.lists(NAMES, max_size=3)
"""As metadata has them: beside managedFields nothing there has fields of any name but labels and annotations, whose
values are strings."""


def intake(kind: type[Any] = Pod, transform: Transform | None = None, *, calls_itself: Resource | None = None) -> Any:
    return Intake(kind, calls_itself or kind.resource, Indexer(), Packer(), transform)


def nothing(_: str) -> None:
    """Nothing is known yet."""


def pod(version: str = "7", **metadata: Any) -> dict[str, Any]:
    named = {"name": "web", "namespace": "shop", "uid": "u", "resourceVersion": version}
    return {"kind": "Pod", "apiVersion": "v1", "metadata": named | metadata, "spec": {"containers": []}}


def text(value: Any, separators: tuple[str, str] = COMPACT) -> bytes:
    return json.dumps(value, separators=separators).encode()


def line(kind: str, obj: Any) -> bytes:
    return text({"type": kind, "object": obj})


def test_an_entry_has_at_hand_what_the_machinery_needs() -> None:
    owners = [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "rs", "uid": "owner", "controller": True}]
    obj = pod(labels={"app": "web"}, ownerReferences=owners, deletionTimestamp="2026-07-01T12:00:00Z")
    entry = intake().from_item(text(obj), nothing)
    assert (entry.key, entry.resource_version, entry.uid, entry.kind) == ("shop/web", "7", "u", Pod)
    assert entry.labels == {"app": "web"}
    assert entry.labels.namespace == "shop"
    assert entry.deleting
    assert entry.controller.uid == "owner"
    assert json.loads(entry.json()) == obj
    plain = intake().from_item(text(pod()), nothing)
    assert (plain.labels, plain.controller, plain.deleting) == ({}, None, False)


def test_the_key_is_namespace_and_name_or_the_name_alone() -> None:
    make = intake()
    assert make.from_item(text(pod()), nothing).key == "shop/web"
    assert make.from_item(text(pod(namespace="")), nothing).key == "web"


def test_labels_and_owners_are_one_for_all_objects_that_have_the_same() -> None:
    make = intake()
    owners = [{"apiVersion": "v1", "kind": "Node", "name": "n", "uid": "owner", "controller": True}]
    one, other = (
        make.from_item(text(pod(name=name, labels={"a": "b"}, ownerReferences=owners)), nothing) for name in "xy"
    )
    assert one.labels is other.labels
    assert one.owner is other.owner


# -- managedFields


@settings(deadline=None)
@given(
    before=st.dictionaries(NAMES.filter(lambda name: name != "metadata"), VALUES, max_size=3),
    around=st.lists(st.tuples(NAMES.filter(lambda name: name != "managedFields"), METADATA_VALUES), max_size=3),
    value=st.sampled_from([FIELDS, [], None, [{"manager": '"managedFields":[]'}]]),
    after=st.dictionaries(NAMES.filter(lambda name: name != "metadata"), VALUES, max_size=3),
    place=st.integers(0, 3),
    separators=st.sampled_from([COMPACT, (", ", ": ")]),
    by_line=st.booleans(),
)
@example(  # what is cut is the metadata's, not another field that has the same name and value
    before={"spec": {"managedFields": FIELDS}},
    around=[],
    value=FIELDS,
    after={},
    place=0,
    separators=COMPACT,
    by_line=False,
)
def test_managed_fields_are_cut_out_of_the_metadata_wherever_they_stand_and_nothing_else_is(
    before: dict[str, Any],
    around: list[tuple[str, Any]],
    value: Any,
    after: dict[str, Any],
    place: int,
    separators: tuple[str, str],
    by_line: bool,
) -> None:
    known = {"name": "web", "namespace": "shop", "uid": "u", "resourceVersion": "7"}
    metadata = [(name, item) for name, item in around if name not in known] + list(known.items())
    kept = dict(metadata)
    fields = list(kept.items())
    fields.insert(place, ("managedFields", value))
    obj = before | {"metadata": dict(fields)} | {name: item for name, item in after.items() if name not in before}
    data = text(obj, separators)
    make = intake()
    entry = make.from_line(b'{"type":"ADDED","object":%s}' % data) if by_line else make.from_item(data, nothing)
    assert json.loads(entry.json()) == obj | {"metadata": kept}


def test_managed_fields_are_cut_out_of_what_answers_a_write_too() -> None:
    entry = intake().from_answer(text(pod(managedFields=FIELDS)))
    assert json.loads(entry.json()) == pod()


# -- Which objects


@pytest.mark.parametrize(
    "said",
    [
        {"kind": "Deployment", "apiVersion": "apps/v1"},
        {"kind": "Pod", "apiVersion": "v2"},
        {"kind": "Deployment", "apiVersion": "v1"},
        {"kind": "Deployment"},
        {"apiVersion": "apps/v1"},
        {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1"},
        {"kind": "Status", "apiVersion": "v1"},
    ],
)
def test_an_object_of_another_kind_is_refused(said: dict[str, str]) -> None:
    obj = {"metadata": pod()["metadata"], **said}
    with pytest.raises(WrongKind):
        intake().from_item(text(obj), nothing)
    with pytest.raises(msgspec.DecodeError):  # as which the feed counts and skips it
        intake().from_line(line("ADDED", obj))


@pytest.mark.parametrize("said", [{}, {"kind": "Pod"}, {"apiVersion": "v1"}])
def test_an_item_of_a_list_does_not_have_to_say_what_it_is(said: dict[str, str]) -> None:
    assert intake().from_item(text({"metadata": pod()["metadata"], **said}), nothing).key == "shop/web"


def test_metadata_alone_calls_itself_otherwise() -> None:
    make = intake(metadata_of(Deployment), calls_itself=PARTIAL)
    obj = {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": pod()["metadata"]}
    assert make.from_line(line("ADDED", obj)).read().kind == "Deployment"
    with pytest.raises(WrongKind, match="a Deployment of apps/v1"):
        make.from_line(line("ADDED", obj | {"kind": "Deployment", "apiVersion": "apps/v1"}))


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"[]",
        b"null",
        b"{}",
        b'{"metadata":{"name":"web","resourceVersion":"7"}',  # torn
        b'{"metadata":{"name":"web"}}',
        b'{"metadata":{"resourceVersion":"7"}}',
        b'{"metadata":{"name":"web","resourceVersion":7}}',
        b'{"metadata":{"name":"web","resourceVersion":"7","labels":["a"]}}',
        b'{"metadata":{"name":"web","resourceVersion":"7","labels":{"a":1}}}',
        b'{"metadata":{"name":"web","resourceVersion":"7","ownerReferences":{"uid":"u"}}}',
    ],
)
def test_what_is_no_object_with_metadata_is_refused(data: bytes) -> None:
    with pytest.raises(msgspec.DecodeError):
        intake().from_item(data, nothing)
    with pytest.raises(msgspec.DecodeError):
        intake().from_line(b'{"type":"ADDED","object":%s}' % data)


@pytest.mark.parametrize("written", ["null", "[]", "{}"])
def test_labels_and_owners_that_are_none_are_none_however_that_is_said(written: str) -> None:
    name = "ownerReferences" if written == "[]" else "labels"
    data = b'{"metadata":{"name":"web","resourceVersion":"7","%s":%s}}' % (name.encode(), written.encode())
    entry = intake().from_item(data, nothing)
    assert (entry.labels, entry.owner) == ({}, None)
    assert intake().from_item(data.replace(b"labels", b"ownerReferences").replace(b"{}", b"[]"), nothing).owner is None


# -- Lines of a watch

WRITTEN: list[Callable[[str, bytes], bytes]] = [
    lambda kind, obj: b'{"type":"%s","object":%s}' % (kind.encode(), obj),
    lambda kind, obj: b'{"type":"%s","object":%s}\n' % (kind.encode(), obj),
    lambda kind, obj: b'{"object":%s,"type":"%s"}' % (obj, kind.encode()),
    lambda kind, obj: b'{ "type" : "%s" , "object" : %s }' % (kind.encode(), obj),
    lambda kind, obj: b' {"type": "%s", "object": %s} ' % (kind.encode(), obj),
    lambda kind, obj: b'{"type":"%s","object":%s }' % (kind.encode(), obj),
    lambda kind, obj: b'{"type":"%s","object":%s,"more":{"a":1}}' % (kind.encode(), obj),
    lambda kind, obj: b'{"more":1,"type":"%s","object":%s}' % (kind.encode(), obj),
]


@pytest.mark.parametrize("written", WRITTEN)
@pytest.mark.parametrize("kind", ["ADDED", "MODIFIED", "DELETED", "RENAMED"])
def test_a_line_reads_the_same_however_it_is_written(written: Callable[[str, bytes], bytes], kind: str) -> None:
    make = intake()
    obj = pod(labels={"object": '{"type":"ADDED","object":{}}'})
    data = written(kind, text(obj))
    assert make.type_of(data) == kind
    entry = make.from_line(data)
    assert entry.key == "shop/web"
    assert json.loads(entry.json()) == obj


@pytest.mark.parametrize("data", [b"", b"{}", b'{"type":1}', b"[]", b'"ADDED"'])
def test_what_is_no_line_of_a_watch_has_no_type(data: bytes) -> None:
    with pytest.raises(msgspec.DecodeError):
        intake().type_of(data)


@pytest.mark.parametrize("end", [1, 20, -1])
def test_a_torn_line_is_never_half_an_object(end: int) -> None:
    with pytest.raises(msgspec.DecodeError):
        intake().from_line(line("ADDED", pod())[:end])


def test_of_the_same_version_the_entry_that_is_known_is_used_again() -> None:
    make = intake()
    old = make.from_item(text(pod()), nothing)
    known = {old.key: old}.get
    assert make.from_item(text(pod()), known) is old
    assert make.from_line(line("ADDED", pod()), known) is old
    for other in (pod("8"), pod(uid="another")):
        assert make.from_item(text(other), known) is not old
        assert make.from_line(line("ADDED", other), known) is not old
    assert make.from_line(line("ADDED", pod())) is not old, "what follows the state is always news"


# -- Transforms


def without_spec(obj: dict[str, Any]) -> dict[str, Any]:
    obj.pop("spec", None)
    obj["metadata"].setdefault("labels", {})["seen"] = "yes"
    return obj


def test_a_transform_runs_before_an_object_is_kept_and_after_it_was_stripped() -> None:
    seen: list[Any] = []

    def transform(obj: dict[str, Any]) -> dict[str, Any]:
        seen.append(json.loads(json.dumps(obj)))
        return without_spec(obj)

    for entry in (
        intake(transform=transform).from_item(text(pod(managedFields=FIELDS)), nothing),
        intake(transform=transform).from_line(line("ADDED", pod())),
        intake(transform=transform).from_answer(text(pod())),
    ):
        assert seen[0] == pod()
        assert entry.labels == {"seen": "yes"}, "it is found by what is kept"
        kept = json.loads(entry.json())
        assert "spec" not in kept
        assert kept["metadata"]["labels"] == {"seen": "yes"}


def test_a_transform_must_leave_what_it_returned_as_it_is() -> None:
    def count(obj: dict[str, Any]) -> dict[str, Any]:
        obj["count"] = obj.get("count", 0) + 1
        return obj

    with pytest.raises(TrimtabError, match="transform of Pod changes what it has changed already"):
        intake(transform=count).from_item(text(pod()), nothing)


def test_whether_it_does_is_tried_once() -> None:
    runs: list[None] = []

    def transform(obj: dict[str, Any]) -> dict[str, Any]:
        runs.append(None)
        return obj

    make = intake(transform=transform)
    for version in ("7", "8", "9"):
        make.from_item(text(pod(version)), nothing)
    assert len(runs) == 3 + 1


@pytest.mark.parametrize("returned", [None, [], {"metadata": {}}])
def test_an_object_whose_transform_fails_is_refused_alone(returned: Any) -> None:
    def transform(obj: dict[str, Any]) -> Any:
        if obj["metadata"]["name"] == "raises":
            raise LookupError("no such thing")
        return returned if obj["metadata"]["name"] == "returns" else obj

    make: Intake[Pod] = intake(transform=transform)
    entry: Cached[Pod] = make.from_item(text(pod()), nothing)
    with pytest.raises(msgspec.DecodeError, match="LookupError"):
        make.from_item(text(pod(name="raises")), nothing)
    with pytest.raises(msgspec.DecodeError):
        make.from_item(text(pod(name="returns")), nothing)
    assert make.from_item(text(pod("8")), nothing).key == entry.key

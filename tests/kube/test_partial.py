"""Classes of the metadata alone."""

from __future__ import annotations

import copy

import pytest

from trimtab.kube import Object, decode, dynamic, encode
from trimtab.kube.apps.v1 import Deployment
from trimtab.kube.core.v1 import Pod
from trimtab.kube.frozen import FrozenError, frozen
from trimtab.kube.partial import PARTIAL, MetadataOnly, metadata_of

DATA = (
    b'{"apiVersion":"meta.k8s.io/v1","kind":"PartialObjectMetadata",'
    b'"metadata":{"name":"web","namespace":"shop","labels":{"app":"web"}},"spec":{"containers":7}}'
)


def test_the_class_of_a_kinds_metadata_is_made_once_and_lives_where_the_kind_does() -> None:
    cls = metadata_of(Pod)
    assert metadata_of(Pod) is cls
    assert issubclass(cls, MetadataOnly)
    assert issubclass(cls, Object)
    assert cls.resource is Pod.resource
    assert cls.__name__ == "PodMetadata"
    assert cls.__struct_fields__ == ("metadata",)


def test_each_kind_has_its_own() -> None:
    assert metadata_of(Deployment).resource is Deployment.resource
    assert metadata_of(Pod).resource is Pod.resource  # still, with another made after it
    assert decode(metadata_of(Pod), DATA) != decode(metadata_of(Deployment), DATA)


def test_a_kind_without_a_class_has_one_too() -> None:
    widget = dynamic("example.com/v1", "Widget", plural="widgets", namespaced=True)
    cls = metadata_of(widget)
    assert (cls.resource, cls.__name__) == (widget.resource, "WidgetMetadata")
    assert repr(decode(cls, DATA)) == "<Widget shop/web>"


def test_it_reads_the_metadata_and_looks_at_nothing_else() -> None:
    read = decode(metadata_of(Pod), DATA)
    assert read.metadata.labels == {"app": "web"}
    assert (read.kind, read.api_version) == ("Pod", "v1")  # what it is of, not what it called itself on its way
    assert encode(read) == (
        b'{"apiVersion":"v1","kind":"Pod","metadata":{"labels":{"app":"web"},"name":"web","namespace":"shop"}}'
    )


def test_it_can_be_frozen() -> None:
    twin = decode(frozen(metadata_of(Pod)), DATA)
    assert twin == decode(metadata_of(Pod), DATA)
    assert twin.resource is Pod.resource
    with pytest.raises(FrozenError):
        twin.metadata.labels["app"] = "db"
    mine = copy.deepcopy(twin)
    mine.metadata.labels["app"] = "db"
    assert twin.metadata.labels == {"app": "web"}


def test_on_its_way_it_calls_itself_what_servers_call_it() -> None:
    assert (PARTIAL.api_version, PARTIAL.kind) == ("meta.k8s.io/v1", "PartialObjectMetadata")

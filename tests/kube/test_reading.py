"""What msgspec refuses and Go takes: nulls, and fields that are missing."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

from trimtab.kube import decode, from_wire
from trimtab.kube.apiextensions.v1 import JSONSchemaProps
from trimtab.kube.apps.v1 import ControllerRevision, Deployment
from trimtab.kube.core.v1 import ConfigMap, Event, Pod, Secret, Service
from trimtab.kube.events.v1 import Event as EventV1
from trimtab.kube.meta.v1 import LabelSelector, ObjectMeta, WatchEvent
from trimtab.kube.rbac.v1 import ClusterRole
from trimtab.kube.resource.v1 import Counter


def read(cls: type[Any], value: Any) -> Any:
    return decode(cls, json.dumps(value).encode())


def test_null_is_absent() -> None:
    assert read(ClusterRole, {"rules": None, "aggregationRule": None}) == ClusterRole()
    assert read(ConfigMap, {"metadata": None, "data": None, "immutable": None}) == ConfigMap()
    assert read(ObjectMeta, {"name": None, "labels": None, "creationTimestamp": None}) == ObjectMeta()
    assert read(Event, {"involvedObject": None, "source": None, "eventTime": None, "count": None}) == Event()
    pod = read(Pod, {"spec": {"containers": [{"name": "c", "resources": None, "ports": None, "env": None}]}})
    assert pod.spec.containers[0].resources.limits == {}
    assert pod.spec.containers[0].ports == []


def test_null_in_a_list_or_map_is_zero() -> None:
    assert read(ConfigMap, {"data": {"k": None}}).data == {"k": ""}
    assert read(Secret, {"data": {"k": None}}).data == {"k": b""}
    assert read(ObjectMeta, {"finalizers": [None, "f"]}).finalizers == ["", "f"]
    assert read(ClusterRole, {"rules": [None, {"verbs": ["get"]}]}).rules[0].verbs == []
    schema = read(JSONSchemaProps, {"properties": {"a": None, "b": {"type": None}}})
    assert schema == JSONSchemaProps(properties={"a": JSONSchemaProps(), "b": JSONSchemaProps()})


def test_a_required_field_that_is_missing_is_zero() -> None:
    deployment = read(Deployment, {})
    assert deployment.spec.selector == LabelSelector()
    assert deployment.spec.template.spec.containers == []
    assert read(Pod, {"spec": {"containers": [{}]}}).spec.containers[0].name == ""
    assert read(Service, {"spec": {"ports": [{}]}}).spec.ports[0].port == 0
    assert read(EventV1, {"eventTime": None}).event_time == datetime(1, 1, 1, tzinfo=UTC)
    assert read(Counter, {}).value == "0"
    assert read(WatchEvent, {"type": "ADDED"}).object is None


def test_null_is_a_value_where_anything_may_stand() -> None:
    assert read(JSONSchemaProps, {"allOf": None, "default": None}).default is None
    assert read(JSONSchemaProps, {"allOf": None}).default is msgspec.UNSET
    assert read(JSONSchemaProps, {"allOf": None, "enum": [None, {"a": None}]}).enum == [None, {"a": None}]
    assert read(ControllerRevision, {"revision": None, "data": {"a": None}}).data == {"a": None}


def test_a_union_is_read_by_what_stands_there() -> None:
    schema = read(JSONSchemaProps, {"items": {"allOf": None}, "additionalProperties": False})
    assert schema.items == JSONSchemaProps()
    assert schema.additional_properties is False
    schema = read(JSONSchemaProps, {"items": [None, {"type": None}], "dependencies": {"a": ["b"], "c": {"type": None}}})
    assert schema.items == [JSONSchemaProps(), JSONSchemaProps()]
    assert schema.dependencies == {"a": ["b"], "c": JSONSchemaProps()}


@pytest.mark.parametrize(
    ("cls", "value", "path"),
    [
        (Pod, {"spec": []}, "$.spec"),
        (Pod, {"spec": {"containers": {}}}, "$.spec.containers"),
        (Pod, {"spec": {"containers": ["c"]}}, "$.spec.containers[0]"),
        (Pod, {"spec": {"containers": [{"name": 1}]}}, "$.spec.containers[0].name"),
        (Pod, {"spec": {"containers": []}, "status": {"startTime": "noon"}}, "$.status.startTime"),
        (Secret, {"data": {"k": "%"}}, "$.data[...]"),
        (ConfigMap, {"data": "text"}, "$.data"),
        (ObjectMeta, {"generation": "1"}, "$.generation"),
        (ObjectMeta, {"labels": None, "generation": "1"}, "$.generation"),
    ],
)
def test_a_value_of_another_type_is_refused_with_its_place(cls: type[Any], value: Any, path: str) -> None:
    with pytest.raises(msgspec.DecodeError) as refused:
        read(cls, value)
    assert str(refused.value).endswith(f"`{path}`")


def test_what_is_read_is_left_as_it_was() -> None:
    value = {"metadata": {"labels": None}, "rules": [None]}
    from_wire(ClusterRole, value)
    assert value == {"metadata": {"labels": None}, "rules": [None]}

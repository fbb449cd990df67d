"""What pyright makes of typed kinds; `test_generated.py` runs it. An ignore that is not needed is an error here."""
# pyright: strict, reportUnnecessaryTypeIgnoreComment=true

from typing import Any, assert_type

from trimtab.kube import Dynamic, Object, class_for, decode, dynamic, from_wire, to_wire
from trimtab.kube.core.v1 import ConfigMap, Container, Pod, PodCondition, PodSpec, PodStatus
from trimtab.kube.meta.v1 import ObjectMeta
from trimtab.kube.resource.v1 import DeviceAttribute


def a_pod_without_status(pod: Pod) -> None:
    assert_type(pod.status, PodStatus)
    for condition in pod.status.conditions:
        assert_type(condition, PodCondition)
    assert_type(pod.metadata.name, str)
    assert_type(pod.metadata.labels, dict[str, str])
    assert_type(pod.spec.containers, list[Container])
    assert_type(pod.spec.host_network, bool | None)
    assert_type(pod.status.phase, str | None)
    assert_type(pod.kind, str)


def required_fields() -> None:
    Pod(spec=PodSpec(containers=[Container(name="c")]))
    ConfigMap()
    Pod()  # pyright: ignore[reportCallIssue]
    PodSpec()  # pyright: ignore[reportCallIssue]
    Container("c")  # pyright: ignore[reportCallIssue]
    Container(name=1)  # pyright: ignore[reportArgumentType]
    ConfigMap(metadata=ObjectMeta(), date={})  # pyright: ignore[reportCallIssue]


def reading(data: bytes) -> None:
    assert_type(decode(Pod, data), Pod)
    assert_type(from_wire(PodSpec, {}), PodSpec)
    assert_type(to_wire(decode(Pod, data)), dict[str, Any])
    assert_type(decode(dynamic("example.com/v1", "Widget"), data), Dynamic)
    assert_type(class_for("v1", "Pod"), type[Object | Dynamic])


def fields_named_like_types(attribute: DeviceAttribute) -> None:
    assert_type(attribute.bool_, bool | None)
    assert_type(attribute.ints, list[int])

"""Objects to JSON and back: what was set is sent, and nothing else."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta, timezone
from typing import Annotated, Any

import msgspec
import pytest

from trimtab.kube import Dynamic, InvalidValueError, Struct, decode, dynamic, encode, to_wire
from trimtab.kube.apps.v1 import Deployment, DeploymentSpec
from trimtab.kube.coordination.v1 import Lease, LeaseSpec
from trimtab.kube.core.v1 import (
    ConfigMap,
    Container,
    EmptyDirVolumeSource,
    EnvVar,
    Pod,
    PodSpec,
    PodTemplateSpec,
    ResourceRequirements,
    Secret,
    Volume,
)
from trimtab.kube.hints import ATOMIC, MicroTime
from trimtab.kube.meta.v1 import LabelSelector, ObjectMeta
from trimtab.kube.networking.v1 import NetworkPolicy, NetworkPolicyPeer
from trimtab.kube.policy.v1 import PodDisruptionBudget, PodDisruptionBudgetSpec

NOON = datetime(2026, 7, 1, 12, tzinfo=UTC)


class Beat(Struct):
    at: MicroTime | None = None


class Beats(Struct):
    in_list: list[Beat] = []
    in_map: dict[str, Beat] = {}
    either: Beat | list[Beat] | None = None
    in_marked_map: Annotated[dict[str, Beat], ATOMIC] = {}


def test_only_what_was_set_is_sent() -> None:
    pod = Pod(
        metadata=ObjectMeta(name="web"),
        spec=PodSpec(
            containers=[Container(name="c", image="i", env=[EnvVar(name="EMPTY", value="")], stdin=False)],
            termination_grace_period_seconds=0,
        ),
    )
    assert to_wire(pod) == {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "web"},
        "spec": {
            "containers": [{"name": "c", "image": "i", "env": [{"name": "EMPTY", "value": ""}], "stdin": False}],
            "terminationGracePeriodSeconds": 0,
        },
    }


def test_reading_a_value_that_is_not_there_does_not_send_it() -> None:
    pod = Pod(spec=PodSpec(containers=[Container(name="c")]))
    before = to_wire(pod)
    assert pod.spec.containers[0].resources.limits == {}
    assert pod.status.conditions == []
    assert pod.spec.security_context is None
    assert to_wire(pod) == before


def test_a_nested_value_is_sent_once_something_in_it_is_set() -> None:
    template = PodTemplateSpec(spec=PodSpec(containers=[Container(name="c", resources=ResourceRequirements())]))
    deployment = Deployment(spec=DeploymentSpec(selector=LabelSelector(), template=template))
    assert to_wire(deployment)["spec"] == {"selector": {}, "template": {"spec": {"containers": [{"name": "c"}]}}}
    template.spec.containers[0].resources.limits["cpu"] = "1"
    template.metadata.labels["app"] = "web"
    assert to_wire(deployment)["spec"]["template"] == {
        "metadata": {"labels": {"app": "web"}},
        "spec": {"containers": [{"name": "c", "resources": {"limits": {"cpu": "1"}}}]},
    }


def test_an_empty_value_that_was_set_is_sent() -> None:
    assert to_wire(Volume(name="v", empty_dir=EmptyDirVolumeSource())) == {"name": "v", "emptyDir": {}}
    assert to_wire(NetworkPolicyPeer(namespace_selector=LabelSelector())) == {"namespaceSelector": {}}
    assert to_wire(PodDisruptionBudget(spec=PodDisruptionBudgetSpec(selector=LabelSelector())))["spec"] == {
        "selector": {}
    }
    policy = decode(NetworkPolicy, b'{"spec": {"podSelector": {}, "ingress": [{}, {"from": [{"podSelector": {}}]}]}}')
    assert to_wire(policy)["spec"] == {"ingress": [{}, {"from": [{"podSelector": {}}]}]}  # to Go, {} here is absent


def test_bytes_are_base64() -> None:
    secret = Secret(data={"key": b"\x00\xff", "none": b""})
    assert to_wire(secret)["data"] == {"key": "AP8=", "none": ""}
    assert decode(Secret, encode(secret)) == secret


@pytest.mark.parametrize(
    ("time", "text"),
    [
        (NOON, "2026-07-01T12:00:00.000000Z"),
        (NOON.replace(microsecond=120), "2026-07-01T12:00:00.000120Z"),
        (NOON.astimezone(timezone(timedelta(hours=2))), "2026-07-01T12:00:00.000000Z"),
    ],
)
def test_a_micro_time_has_six_digits(time: datetime, text: str) -> None:
    lease = Lease(spec=LeaseSpec(acquire_time=time, renew_time=None))
    assert to_wire(lease)["spec"] == {"acquireTime": text}
    assert decode(Lease, encode(lease)).spec.acquire_time == time


def test_a_micro_time_has_six_digits_wherever_it_stands() -> None:
    text = {"at": "2026-07-01T12:00:00.000000Z"}
    one = Beat(at=NOON)
    assert to_wire(Beats(in_list=[one], in_map={"k": one}, either=one, in_marked_map={"k": one})) == {
        "inList": [text],
        "inMap": {"k": text},
        "either": text,
        "inMarkedMap": {"k": text},
    }
    assert to_wire(Beats(either=[one])) == {"either": [text]}


def test_a_time_without_a_zone_is_refused() -> None:
    with pytest.raises(InvalidValueError, match="has no time zone"):
        to_wire(Lease(spec=LeaseSpec(renew_time=NOON.replace(tzinfo=None))))


def test_an_object_is_read_from_bytes_and_from_raw_json() -> None:
    data = b'{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}, "data": {"k": "v"}, "later": 1}'
    wanted = ConfigMap(metadata=ObjectMeta(name="c"), data={"k": "v"})
    assert decode(ConfigMap, data) == decode(ConfigMap, msgspec.Raw(data)) == wanted
    assert wanted.api_version == "v1"
    assert wanted.kind == "ConfigMap"
    assert wanted != ConfigMap(metadata=ObjectMeta(name="d"), data={"k": "v"})


def test_a_dynamic_object_is_read_whole() -> None:
    widget = decode(dynamic("example.com/v1", "Widget"), b'{"spec": {"null": null, "empty": {}}}')
    assert isinstance(widget, Dynamic)
    assert json.loads(encode(widget)) == {
        "apiVersion": "example.com/v1",
        "kind": "Widget",
        "spec": {"null": None, "empty": {}},
    }


@pytest.mark.parametrize("cls", [Pod, Dynamic])
@pytest.mark.parametrize("data", [b"", b"{", b"<html>", b"[]", b"null", b"1"])
def test_what_is_no_object_is_refused(cls: type[Pod | Dynamic], data: bytes) -> None:
    with pytest.raises(msgspec.DecodeError):
        decode(cls, data)


def test_repr_is_short() -> None:
    meta = ObjectMeta(
        name="web", namespace="default", resource_version="7", labels={f"label-{i}": "x" for i in range(99)}
    )
    spec = PodSpec(containers=[Container(name="c", env=[EnvVar(name="PASSWORD", value="hunter2")])])
    assert repr(Pod(metadata=meta, spec=spec)) == "<Pod default/web at 7>"
    assert repr(Pod(metadata=ObjectMeta(generate_name="web-"), spec=spec)) == "<Pod web->"
    assert repr(ConfigMap()) == "<ConfigMap (unnamed)>"
    assert repr(EnvVar(name="A")) == "EnvVar(name='A')"


@pytest.mark.parametrize("cls", [Pod, dynamic("v1", "Pod")])
@pytest.mark.parametrize("text", [b'{"metadata":{"name":"\xff"}}', b'{"a":%s%s}' % (b"[" * 100_000, b"]" * 100_000)])
def test_whatever_cannot_be_read_is_one_kind_of_error(cls: Any, text: bytes) -> None:
    with pytest.raises(msgspec.DecodeError):
        decode(cls, text)

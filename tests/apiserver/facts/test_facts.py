"""The facts as they are generated, and the rules by which OpenAPI is read."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from trimtab.apiserver.facts import Facts, Schema, kubernetes
from trimtab.apiserver.facts.schema import deduced, untyped
from trimtab.kube._index import MODULES

FACTS = kubernetes()


def below(schema: Schema | None, *path: str) -> Schema:
    for key in path:
        assert schema is not None
        schema = schema.items if key == "*" else schema.field(key)
    assert schema is not None
    return schema


def test_every_typed_kind_has_a_resource_and_a_schema() -> None:
    for name in MODULES:
        *group, version, kind = name.split("/")
        schema = FACTS.schema("".join(group), version, kind)
        assert schema is not None, name
        assert schema.type == "object"


def test_what_is_asked_of_a_server_is_told() -> None:
    pods = FACTS.resources("", "v1")["pods"]
    assert pods.kind == "Pod"
    assert pods.short_names == ("po",)
    assert pods.categories == ("all",)
    assert "deletecollection" in pods.verbs
    assert [(c.name, c.type, c.format, c.priority) for c in pods.columns][:6] == [
        ("Name", "string", "name", 0),
        ("Ready", "string", "", 0),
        ("Status", "string", "", 0),
        ("Restarts", "string", "", 0),
        ("Age", "string", "", 0),
        ("IP", "string", "", 1),
    ]
    assert {"metadata.name", "spec.nodeName", "status.phase"} <= pods.field_labels
    assert "spec.priority" not in pods.field_labels
    assert pods.unknown_field_label == "field label not supported: {}"
    assert pods.subresources["eviction"].kind == "Eviction"
    assert pods.subresources["eviction"].group == "policy"
    assert FACTS.of_kind("apps", "v1", "Deployment") is FACTS.resources("apps", "v1")["deployments"]
    assert FACTS.resources("apps", "v7") == {}
    assert FACTS.groups[1].name == "apps"
    assert FACTS.resources("coordination.k8s.io", "v1")["leases"].served_by_default
    assert not FACTS.resources("coordination.k8s.io", "v1beta1")["leasecandidates"].served_by_default


def test_each_group_version_has_what_it_refers_to() -> None:
    for path in FACTS.documents():
        document = FACTS.document(path)
        assert "io.k8s.apimachinery.pkg.apis.meta.v1.Status" in document or path.startswith("apis/auth")
        assert "description" not in msgspec.json.encode(list(document)).decode()
    assert "io.k8s.api.core.v1.PodSpec" in FACTS.document("apis/apps/v1")
    assert "io.k8s.api.core.v1.ConfigMap" not in FACTS.document("apis/apps/v1")


def test_a_built_in_kind_as_a_tree() -> None:
    deployment = FACTS.schema("apps", "v1", "Deployment")
    spec = below(deployment, "spec", "template", "spec")
    containers = below(spec, "containers")
    assert containers.is_list
    assert (containers.list_type, containers.keys, containers.atomic_list) == ("map", ("name",), False)
    assert (containers.strategies, containers.merge_key) == (("merge",), "name")
    ports = below(containers, "*", "ports")
    assert ports.keys == ("containerPort", "protocol")
    assert below(ports, "*", "protocol").default == "TCP"
    assert below(ports, "*", "hostPort").default is msgspec.UNSET
    assert below(containers, "*", "command").atomic_list
    assert below(deployment, "spec", "selector").atomic_map
    assert not below(deployment, "spec", "template", "metadata", "labels").atomic_map
    assert below(deployment, "metadata", "finalizers").list_type == "set"
    assert below(deployment, "spec", "strategy").strategies == ("retainKeys",)
    assert below(deployment, "spec", "strategy", "rollingUpdate", "maxSurge").scalar == "untyped"
    assert below(containers, "*", "resources", "limits", "cpu").scalar == "untyped"
    assert below(deployment, "metadata", "managedFields", "*", "fieldsV1").is_map
    assert "containers" in spec.required
    assert spec.field("container") is None
    assert FACTS.schema("apps", "v1", "Nothing") is None


@pytest.mark.parametrize(
    ("json", "is_what", "atomic"),
    [
        ({"type": "object", "properties": {"a": {"type": "string"}}}, "map", False),
        ({"type": "object", "x-kubernetes-map-type": "atomic"}, "map", True),
        ({"type": "array", "items": {"type": "string"}}, "list", True),
        ({"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"}, "list", False),
        ({"type": "array", "items": {"type": "string"}, "x-kubernetes-patch-strategy": "merge"}, "list", False),
        ({"type": "integer"}, "numeric", False),
        ({"type": "string"}, "string", False),
        ({"type": "string", "format": "date-time"}, "untyped", False),
        ({"type": "boolean"}, "boolean", False),
    ],
)
def test_what_a_value_may_be(json: dict[str, Any], is_what: str, atomic: bool) -> None:
    schema = FACTS.custom({"type": "object", "properties": {"it": json}}).fields["it"]
    assert [schema.is_map, schema.is_list] == [is_what == "map", is_what == "list"]
    assert schema.scalar == ("" if is_what in {"map", "list"} else is_what)
    assert {"map": schema.atomic_map, "list": schema.atomic_list}.get(is_what, False) == atomic


def test_what_nobody_describes_is_free() -> None:
    free = {"type": "object"}
    kept = {"x-kubernetes-preserve-unknown-fields": True, "type": "object", "properties": {"known": {"type": "object"}}}
    closed = {"type": "object", "properties": {"a": {}}}
    custom = FACTS.custom({"type": "object", "properties": {"free": free, "kept": kept, "closed": closed}})
    assert custom.field("unknown") is None
    assert below(custom, "free", "anything") is deduced()
    assert below(custom, "kept", "anything") is deduced()
    assert below(custom, "closed").field("unknown") is None
    anything = below(custom, "closed", "a")
    assert (anything.scalar, anything.is_map, anything.is_list) == ("untyped", True, True)
    assert below(deduced(), "a", "b") is deduced()
    assert deduced().items is untyped()
    assert below(untyped(), "a").items is untyped()
    assert below(custom, "metadata", "labels").is_map
    assert FACTS.custom({"type": "object"}).field("spec") is deduced()


def test_a_line_that_nobody_asks_for_is_not_read() -> None:
    facts = Facts(b'["about","",{"gitVersion":"v1"}]\n["schema","broken",{"type":3}]\n')
    assert facts.version["gitVersion"] == "v1"
    with pytest.raises(KeyError):
        facts.named("absent")

"""Objects without a class of their own."""

from __future__ import annotations

from typing import Any

import pytest

from trimtab.kube import Resource, dynamic
from trimtab.kube.meta.v1 import ObjectMeta, OwnerReference

Widget = dynamic("example.com/v1", "Widget", plural="widgets", namespaced=True)


def raw() -> dict[str, Any]:
    return {
        "apiVersion": "example.com/v1",
        "kind": "Widget",
        "metadata": {
            "name": "w",
            "namespace": "default",
            "creationTimestamp": None,
            "generation": 0,
            "labels": {"app": "web"},
            "managedFields": [{"manager": "m", "fieldsV1": {"f:spec": {}}, "later": True}],
            "ownerReferences": [{"apiVersion": "v1", "kind": "K", "name": "o", "uid": "1", "later": True}],
            "later": {"unknown": None},
        },
        "spec": {"size": 3, "nothing": None, "parts": [{"name": "a"}]},
    }


def test_it_is_what_was_read() -> None:
    widget = Widget(raw())
    assert widget.metadata.name == "w"
    assert widget.metadata.labels == {"app": "web"}
    assert widget.to_wire() == raw()


def test_edits_of_metadata_are_sent_and_the_rest_of_it_is_kept() -> None:
    widget, wanted = Widget(raw()), raw()
    widget.metadata.labels["tier"] = "front"
    widget.metadata.owner_references.insert(0, OwnerReference(api_version="v1", kind="K", name="p", uid="0"))
    widget.metadata.finalizers.append("example.com/f")
    widget.metadata.namespace = ""
    wanted["metadata"]["labels"]["tier"] = "front"
    wanted["metadata"]["ownerReferences"].insert(0, {"apiVersion": "v1", "kind": "K", "name": "p", "uid": "0"})
    wanted["metadata"]["finalizers"] = ["example.com/f"]
    del wanted["metadata"]["namespace"]
    assert widget.to_wire() == wanted
    assert widget.raw == raw()


def test_metadata_can_be_changed_in_the_json_too() -> None:
    widget = Widget(raw())
    assert widget.metadata.annotations == {}
    widget["metadata"]["annotations"] = {"a": "b"}
    widget.metadata.labels["tier"] = "front"
    assert widget.to_wire()["metadata"]["annotations"] == {"a": "b"}
    assert widget.to_wire()["metadata"]["labels"] == {"app": "web", "tier": "front"}


def test_one_is_made_from_parts() -> None:
    widget = Widget({"spec": {"size": 1}}, metadata=ObjectMeta(name="w", labels={"a": "b"}))
    assert widget.to_wire() == {
        "apiVersion": "example.com/v1",
        "kind": "Widget",
        "metadata": {"name": "w", "labels": {"a": "b"}},
        "spec": {"size": 1},
    }
    assert Widget().metadata == ObjectMeta()
    assert Widget().to_wire() == {"apiVersion": "example.com/v1", "kind": "Widget"}
    assert Widget().raw is not Widget().raw


def test_a_look_at_the_metadata_changes_nothing() -> None:
    for value in (raw(), {"metadata": {}}, {"metadata": None}, {}):
        looked_at = Widget(value)
        assert repr(looked_at)
        assert looked_at.to_wire() == Widget(value).to_wire()


def test_items_and_paths() -> None:
    widget = Widget(raw())
    assert widget["spec"]["size"] == 3
    assert "status" not in widget
    widget["status"] = {"ready": True}
    assert widget.get("status", "ready") is True
    assert widget.get("spec", "size", "deeper") is None
    assert widget.get("spec", "absent", default=1) == 1
    assert widget.get("spec", "nothing", default=1) is None
    assert widget.get("spec", "parts") == [{"name": "a"}]


def test_equal_by_what_they_say() -> None:
    widget, other = Widget(raw()), Widget(raw())
    assert widget == other
    other.metadata.labels["app"] = "db"
    assert widget != other
    with pytest.raises(TypeError):
        hash(widget)


def test_repr_is_short() -> None:
    assert repr(Widget(raw())) == "<Widget default/w>"
    assert repr(Widget({"metadata": {"generateName": "w-"}})) == "<Widget w->"


def test_the_class_of_a_kind() -> None:
    assert dynamic("example.com/v1", "Widget", plural="widgets", namespaced=True) is Widget
    assert Widget.__name__ == "Widget"
    assert Widget.resource == Resource("example.com", "v1", "Widget", "widgets", namespaced=True)
    assert str(Widget.resource) == "widgets.example.com"
    assert Widget().api_version == "example.com/v1"
    assert dynamic("v1", "Thing").resource.group == ""
    for unsure in (
        dynamic("v1", "Thing"),
        dynamic("v1", "Thing", plural="things"),
        dynamic("v1", "Thing", namespaced=True),
    ):
        assert unsure.resource.plural == ""  # the client then asks the server

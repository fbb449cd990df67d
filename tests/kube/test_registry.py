"""Classes by apiVersion and kind."""

from __future__ import annotations

from trimtab.kube import Dynamic, Object, class_for
from trimtab.kube.core.v1 import Event, Pod
from trimtab.kube.events.v1 import Event as EventV1


def test_a_built_in_kind_has_its_class() -> None:
    assert class_for("v1", "Pod") is Pod
    assert class_for("v1", "Event") is Event
    assert class_for("events.k8s.io/v1", "Event") is EventV1
    deployment = class_for("apps/v1", "Deployment")
    assert issubclass(deployment, Object)
    assert deployment.resource.subresources == ("scale", "status")


def test_any_other_kind_has_a_dynamic_one() -> None:
    for api_version, kind in [
        ("example.com/v1", "Widget"),
        ("v1", "PodList"),
        ("apps/v9", "Deployment"),
        ("v1", "Container"),
    ]:
        cls = class_for(api_version, kind)
        assert issubclass(cls, Dynamic)
        assert cls is class_for(api_version, kind)
        assert (cls.resource.api_version, cls.resource.kind) == (api_version, kind)

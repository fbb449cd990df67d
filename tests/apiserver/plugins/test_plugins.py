"""What a server has a say in by itself, asked as clients ask: by writing objects."""

from __future__ import annotations

from typing import Any

import pytest
from tests.apiserver.test_custom_resources import Asking

from trimtab.apiserver.plugins.chain import Plugins
from trimtab.apiserver.server import Server
from trimtab.apiserver.storage import Store

Json = dict[str, Any]
PODS = "/api/v1/namespaces/default/pods"
CLASSES = "/apis/scheduling.k8s.io/v1/priorityclasses"


@pytest.fixture
def ask() -> Asking:
    return Asking(Server())


def named(name: str, **more: Any) -> Json:
    return {"metadata": {"name": name}, **more}


def pod(name: str, **spec: Any) -> Json:
    return named(name, spec={"containers": [{"name": "main", "image": "i"}], **spec})


async def test_a_pod_has_the_priority_of_its_class_or_of_the_default(ask: Asking) -> None:
    spec = (await ask("POST", PODS, pod("plain")))["spec"]
    assert (spec["priority"], spec["preemptionPolicy"]) == (0, "PreemptLowerPriority")
    await ask("POST", CLASSES, named("high", value=7, preemptionPolicy="Never"))
    await ask("POST", CLASSES, named("usual", value=3, globalDefault=True))
    spec = (await ask("POST", PODS, pod("high", priorityClassName="high")))["spec"]
    assert (spec["priority"], spec["preemptionPolicy"]) == (7, "Never")
    spec = (await ask("POST", PODS, pod("usual")))["spec"]
    assert (spec["priority"], spec["priorityClassName"]) == (3, "usual")
    for wrong in ({"priorityClassName": "no"}, {"priority": 1}, {"preemptionPolicy": "Never"}):
        assert (await ask("POST", PODS, pod("wrong", **wrong)))["reason"] == "Forbidden"
    assert (await ask("POST", CLASSES, named("second", value=1, globalDefault=True)))["reason"] == "Forbidden"


async def test_an_update_may_leave_out_what_was_set_by_us_and_owns_nothing_of_it(ask: Asking) -> None:
    made = await ask("POST", PODS, pod("a"))
    assert "f:tolerations" not in made["metadata"]["managedFields"][0]["fieldsV1"]["f:spec"]
    changed = await ask("PUT", f"{PODS}/a", pod("a") | {"metadata": {"name": "a", "labels": {"x": "y"}}})
    assert changed["code"] == 200
    assert changed["spec"] == made["spec"]


async def test_tolerations_are_added_unless_the_pod_has_its_own(ask: Asking) -> None:
    def seconds(made: Json) -> list[int | None]:
        return [each.get("tolerationSeconds") for each in made["spec"]["tolerations"]]

    assert seconds(await ask("POST", PODS, pod("a"))) == [300, 300]
    mine = {"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 5}
    assert seconds(await ask("POST", PODS, pod("b", tolerations=[mine]))) == [5, 300]
    assert seconds(await ask("POST", PODS, pod("c", tolerations=[{"operator": "Exists"}]))) == [None]


async def test_what_is_new_is_marked_for_those_who_look_after_it(ask: Asking) -> None:
    node = await ask("POST", "/api/v1/nodes", named("n"))
    assert node["spec"]["taints"] == [{"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}]
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    claim = await ask("POST", "/api/v1/namespaces/default/persistentvolumeclaims", named("c", spec=spec))
    assert claim["metadata"]["finalizers"] == ["kubernetes.io/pvc-protection"]


async def test_the_newest_default_class_is_named(ask: Asking) -> None:
    claims, classes = "/api/v1/namespaces/default/persistentvolumeclaims", "/apis/storage.k8s.io/v1/storageclasses"
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    assert "storageClassName" not in (await ask("POST", claims, named("a", spec=spec)))["spec"]
    mark = {"storageclass.kubernetes.io/is-default-class": "true"}
    for name in ("two", "one", "other"):
        annotations = {} if name == "other" else mark
        made = {"metadata": {"name": name, "annotations": annotations}, "provisioner": "x"}
        assert (await ask("POST", classes, made))["code"] == 201
    assert (await ask("POST", claims, named("b", spec=spec)))["spec"]["storageClassName"] in ("one", "two")
    without = {**spec, "storageClassName": ""}
    assert (await ask("POST", claims, named("c", spec=without)))["spec"]["storageClassName"] == ""


async def test_a_claim_grows_where_its_class_lets_it(ask: Asking) -> None:
    claims, classes = "/api/v1/namespaces/default/persistentvolumeclaims", "/apis/storage.k8s.io/v1/storageclasses"
    for name, grows in (("firm", False), ("growing", True)):
        await ask("POST", classes, {"metadata": {"name": name}, "provisioner": "x", "allowVolumeExpansion": grows})
        resources = {"requests": {"storage": "1Gi"}}
        spec = {"accessModes": ["ReadWriteOnce"], "resources": resources, "storageClassName": name}
        await ask("POST", claims, named(name, spec=spec))
        bigger = {"spec": {"resources": {"requests": {"storage": "2Gi"}}}}
        merge = {"content_type": "application/merge-patch+json"}
        assert (await ask("PATCH", f"{claims}/{name}", bigger, **merge))["reason"] in ("Forbidden", "Invalid")
        await ask("PATCH", f"{claims}/{name}/status", {"status": {"phase": "Bound"}}, **merge)
        changed = await ask("PATCH", f"{claims}/{name}", bigger, **merge)
        assert (changed["code"] == 200) == grows, changed


async def test_nothing_comes_into_a_namespace_that_goes(ask: Asking) -> None:
    assert (await ask("DELETE", "/api/v1/namespaces/default"))["reason"] == "Forbidden"
    cms = "/api/v1/namespaces/gone/configmaps"
    assert (await ask("POST", cms, named("a")))["message"] == 'namespaces "gone" not found'
    await ask("POST", "/api/v1/namespaces", named("gone"))
    assert (await ask("POST", cms, named("a")))["code"] == 201
    await ask("DELETE", "/api/v1/namespaces/gone")
    refused = await ask("POST", cms, named("b"))
    assert refused["details"]["causes"][0]["reason"] == "NamespaceTerminating"


def test_a_plugin_can_be_left_out_and_costs_nothing_elsewhere() -> None:
    asked = Plugins(Store())._about("configmaps")
    assert [type(plugin).__name__ for plugin in asked] == ["NamespaceLifecycle"]
    assert Plugins(Store(), without=["NamespaceLifecycle"])._about("configmaps") == []

"""Every built-in kind, as a real API server has it: read into its class and written back, it is the same object."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml

from trimtab.kube import Dynamic, Object, Resource, class_for, decode, to_wire
from trimtab.testing.binaries import DEFAULT_KUBERNETES
from trimtab.testing.control_plane import ControlPlane, ControlPlaneError

ROOT = Path(__file__).parents[2]
MANIFESTS = Path(__file__).parent / "data/kinds.yaml"

# The nested values that Go always has: `{}` and absent are the same to the server.
ALWAYS_THERE = {
    *("conditions", "deprecatedSource", "devices", "loadBalancer", "metadata"),
    *("podSelector", "resources", "source", "spec", "status"),
}
# Numbers and strings that Go has without a pointer, so that 0, false and "" are the same as absent.
ZERO_IS_ABSENT = {
    *("attached", "availableReplicas", "currentHealthy", "currentNumberScheduled", "currentReplicas"),
    *("desiredHealthy", "desiredNumberScheduled", "desiredReplicas", "disruptionsAllowed", "expectedPods"),
    *("numberMisscheduled", "numberReady", "replicas", "service", "reportingComponent", "reportingInstance"),
    *("start", "value"),
}
ZERO_TIME = "0001-01-01T00:00:00.000000Z"
MISSING = object()


@dataclass
class Stored:
    """An object as the server lists it, with where it is."""

    kind: type[Object]
    path: str
    raw: dict[str, Any]
    updatable: bool


@dataclass
class Created:
    """What was sent for a manifest once it was read into its class, and what the server made of it and of the JSON."""

    sent: dict[str, Any]
    from_typed: dict[str, Any]
    from_json: dict[str, Any]


@dataclass
class Cluster:
    """What there is in a cluster with an object of every kind."""

    plane: ControlPlane
    served: dict[tuple[str, str], tuple[str, dict[str, Any]]]
    created: dict[str, Created] = field(default_factory=dict)
    stored: list[Stored] = field(default_factory=list)


@pytest.fixture(scope="module")
def cluster(control_plane: ControlPlane) -> Iterator[Cluster]:
    cluster = Cluster(control_plane, discover(control_plane))
    with control_plane.namespace() as namespace:
        mine: list[str] = []
        try:
            for manifest in yaml.safe_load_all(MANIFESTS.read_text().replace("NAMESPACE", namespace)):
                create(cluster, namespace, manifest, mine)
            cluster.stored = list(everything(cluster, namespace))
            yield cluster
        finally:
            for path in mine:
                control_plane.request("DELETE", path)


def discover(plane: ControlPlane) -> dict[tuple[str, str], tuple[str, dict[str, Any]]]:
    groups = plane.request("GET", "/apis")["groups"]
    paths = {v["groupVersion"]: f"/apis/{v['groupVersion']}" for group in groups for v in group["versions"]}
    return {
        (version, resource["kind"]): (path, resource)
        for version, path in {"v1": "/api/v1", **paths}.items()
        for resource in plane.request("GET", path)["resources"]
        if "/" not in resource["name"]
    }


def create(cluster: Cluster, namespace: str, manifest: dict[str, Any], mine: list[str]) -> None:
    """Create the object from what the typed one becomes; from the JSON itself, do as if."""
    api_version, kind, name = manifest["apiVersion"], manifest["kind"], manifest["metadata"]["name"]
    if (api_version, kind) not in cluster.served:
        return  # a kind younger than this server
    path = place(*cluster.served[api_version, kind], namespace)
    from_json = cluster.plane.request("POST", f"{path}?dryRun=All&fieldValidation=Strict", manifest)
    sent = to_wire(decode(class_for(api_version, kind), json.dumps(manifest).encode()))
    from_typed = cluster.plane.request("POST", f"{path}?fieldValidation=Strict", sent)
    cluster.created[f"{kind}/{name}"] = Created(sent, from_typed, from_json)
    if not cluster.served[api_version, kind][1]["namespaced"]:
        mine.append(f"{path}/{name}")


def place(base: str, resource: dict[str, Any], namespace: str | None) -> str:
    inside = f"/namespaces/{namespace}" if resource["namespaced"] and namespace else ""
    return f"{base}{inside}/{resource['name']}"


def everything(cluster: Cluster, namespace: str) -> Iterator[Stored]:
    """What was made here and what each cluster has; not what is left of other tests, which are thousands of objects."""
    for (api_version, kind), (base, resource) in cluster.served.items():
        cls = class_for(api_version, kind)
        if "list" not in resource["verbs"] or issubclass(cls, Dynamic):
            continue
        namespaces = (namespace, "default", "kube-system") if resource["namespaced"] else (None,)
        listed = [cluster.plane.request("GET", place(base, resource, each))["items"] for each in namespaces]
        for item in chain.from_iterable(listed):
            path = f"{place(base, resource, item['metadata'].get('namespace'))}/{item['metadata']['name']}"
            raw = {"apiVersion": api_version, "kind": kind, **item}
            yield Stored(cls, path, raw, "update" in resource["verbs"])


def test_every_kind_that_is_served_has_a_class(cluster: Cluster) -> None:
    for (api_version, kind), (_, resource) in cluster.served.items():
        cls = class_for(api_version, kind)
        assert issubclass(cls, Object), f"{api_version} {kind}"
        group, _, version = api_version.rpartition("/")
        known = cls.resource
        assert known == Resource(group, version, kind, resource["name"], resource["namespaced"], known.subresources)


def test_there_is_an_object_of_every_kind(cluster: Cluster) -> None:
    listed = {key for key, (_, resource) in cluster.served.items() if "list" in resource["verbs"]}
    assert listed - {(s.raw["apiVersion"], s.raw["kind"]) for s in cluster.stored} == set()


def test_what_is_read_is_written_back(cluster: Cluster) -> None:
    left = [
        difference
        for stored in cluster.stored
        for difference in differences(stored.raw["kind"], stored.raw, to_wire(read(stored)))
        if not allowed(*difference)
    ]
    assert left == []


def test_objects_are_read_at_full_speed_unless_they_hold_a_null(cluster: Cluster) -> None:
    refused: list[str] = []
    for stored in cluster.stored:
        try:
            msgspec.json.decode(json.dumps(stored.raw), type=stored.kind)
        except msgspec.ValidationError as error:
            refused.append(str(error))
    assert all(re.match("Expected `(array|datetime)`, got `null`", message) for message in refused), refused
    assert len(refused) < len(cluster.stored) / 10


def test_a_typed_object_creates_what_its_json_does(cluster: Cluster) -> None:
    for name, made in cluster.created.items():
        assert without_what_the_server_chose(made.from_typed) == without_what_the_server_chose(made.from_json), name


def test_to_the_server_an_object_written_back_is_no_change(cluster: Cluster) -> None:
    updatable = [stored for stored in cluster.stored if stored.updatable]
    assert len(updatable) > 100
    for stored in updatable:
        for _ in range(3):  # the server may itself be writing some of them
            try:
                # Some are settled by their first update only: another version of the kind, a newer default.
                raw = cluster.plane.request("PUT", stored.path, cluster.plane.request("GET", stored.path))
                written = cluster.plane.request(
                    "PUT", stored.path, to_wire(decode(stored.kind, json.dumps(raw).encode()))
                )
            except ControlPlaneError as error:
                if "answered 409" in str(error):
                    continue
                if "event-core" in stored.path and "answered 422" in str(error):
                    break  # events.k8s.io serves core's events, and refuses them
                raise
            assert written["metadata"]["resourceVersion"] == raw["metadata"]["resourceVersion"], stored.path
            break


def test_empty_values_that_mean_something_are_sent(cluster: Cluster) -> None:
    sent = {name: made.sent for name, made in cluster.created.items()}
    assert sent["Pod/pod"]["spec"]["volumes"][0] == {"name": "scratch", "emptyDir": {}}
    assert sent["Pod/pod"]["spec"]["securityContext"] == {}
    assert sent["Pod/pod"]["spec"]["containers"][0]["env"][0] == {"name": "EMPTY", "value": ""}
    assert sent["PodDisruptionBudget/pdb"]["spec"] == {"maxUnavailable": 0, "selector": {}}
    assert "selector" not in sent["PodDisruptionBudget/pdb-of-nothing"]["spec"]
    assert sent["NetworkPolicy/policy"]["spec"]["ingress"][:1] == [{}]
    assert sent["NetworkPolicy/policy"]["spec"]["ingress"][1]["from"][:2] == [
        {"podSelector": {}},
        {"namespaceSelector": {}},
    ]
    assert sent["Lease/lease"]["spec"]["acquireTime"] == "2026-07-01T12:00:00.000000Z"
    assert sent["Lease/lease"]["spec"]["holderIdentity"] == ""
    assert sent["Secret/secret"]["data"] == {"bytes": "AP8=", "none": ""}
    version = sent["CustomResourceDefinition/widgets.example.com"]["spec"]["versions"][0]
    assert version["subresources"]["status"] == {}
    spec = version["schema"]["openAPIV3Schema"]["properties"]["spec"]
    assert spec["default"] == {}
    assert spec["properties"]["none"] == {"type": "string", "default": None, "nullable": True, "enum": ["a", "", None]}


def test_the_generated_files_are_current(control_plane: ControlPlane) -> None:
    if control_plane.version != DEFAULT_KUBERNETES:
        pytest.skip(f"the files are generated from Kubernetes {DEFAULT_KUBERNETES}")
    generate = [sys.executable, ROOT / "tools/generate", "--check"]
    checked = subprocess.run(generate, check=False, capture_output=True, text=True)
    assert checked.returncode == 0, checked.stderr


def read(stored: Stored) -> Object:
    return decode(stored.kind, json.dumps(stored.raw).encode())


def differences(path: str, theirs: Any, ours: Any) -> Iterator[tuple[str, Any, Any]]:
    if isinstance(theirs, dict) and isinstance(ours, dict):
        for name in theirs | ours:
            yield from differences(f"{path}.{name}", theirs.get(name, MISSING), ours.get(name, MISSING))
    elif isinstance(theirs, list) and isinstance(ours, list) and len(theirs) == len(ours):
        for one, other in zip(theirs, ours, strict=True):
            yield from differences(f"{path}[]", one, other)
    elif isinstance(theirs, dict) and ours is MISSING and theirs:
        # A nested value with nothing in it but zeros and other such values.
        yield from differences(path, theirs, {})
        yield path, {}, MISSING
    elif theirs != ours:
        yield path, theirs, ours


def allowed(path: str, theirs: Any, ours: Any) -> bool:
    name = path.rpartition(".")[2]
    if theirs is None:  # to Go, null is absent, and absent the empty list that a class asks for, or the zero time
        return ours is MISSING or ours in ([], ZERO_TIME)
    if ours is not MISSING:
        return False
    if "volumeClaimTemplates[]" in path and name in {"apiVersion", "kind"}:
        return True  # an object in an object: the server puts that there itself
    if path.startswith("Node.status"):
        return theirs in ("", 0, {})  # a Node without a kubelet
    return (theirs == {} and name in ALWAYS_THERE) or (theirs in ("", 0) and name in ZERO_IS_ABSENT)


def without_what_the_server_chose(obj: dict[str, Any]) -> dict[str, Any]:
    chosen = {
        *("creationTimestamp", "managedFields", "resourceVersion", "uid"),
        *("clusterIP", "clusterIPs", "nodePort", "controller-uid", "batch.kubernetes.io/controller-uid"),
    }

    def strip(value: Any) -> Any:
        if isinstance(value, dict):
            return {name: strip(inner) for name, inner in value.items() if name not in chosen}
        return [strip(inner) for inner in value] if isinstance(value, list) else value

    return strip(obj)

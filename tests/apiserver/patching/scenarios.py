"""Writes that chance would hardly find, for the differ: each scenario is the life of one object."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

Json = dict[str, Any]
Sent = Json | list[Any] | str | int | None | Callable[[Any], Any]

LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"


@dataclass(frozen=True)
class Move:
    """One write."""

    verb: str
    sent: Sent
    manager: str = "alice"
    kind: str = "ConfigMap"
    force: bool = False
    subresource: str = ""
    version: str = ""


def apply(sent: Sent, manager: str = "alice", **more: Any) -> Move:
    return Move("apply", sent, manager, **more)


def create(sent: Sent, manager: str = "alice", **more: Any) -> Move:
    return Move("create", sent, manager, **more)


def update(change: Callable[[Json], Any], manager: str = "bob", **more: Any) -> Move:
    """Change a copy of the live object and send it."""

    def sent(live: Json) -> Json:
        new = copy.deepcopy(live)
        change(new)
        return new

    return Move("update", sent, manager, **more)


def with_fields(entries: Any) -> Callable[[Json], Any]:
    return lambda new: new["metadata"].update(managedFields=entries)


def owner(**more: Any) -> Json:
    return {
        "manager": "x",
        "operation": "Update",
        "apiVersion": "v1",
        "time": "2020-01-01T00:00:00Z",
        "fieldsType": "FieldsV1",
        "fieldsV1": {"f:data": {"f:a": {}}},
        **more,
    }


DATA = {"data": {"a": "1", "b": "2"}}
CONTAINER = {"name": "main", "image": "web:1"}


def web(*containers: Json, **spec: Any) -> Json:
    template = {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": list(containers or [CONTAINER])}}
    return {"spec": {"selector": {"matchLabels": {"app": "web"}}, "template": template, **spec}}


def deployment(*moves: Move) -> list[Move]:
    return [replace(move, kind="Deployment") for move in moves]


def toy(*moves: Move) -> list[Move]:
    return [replace(move, kind="Toy") for move in moves]


def pod_template(**spec: Any) -> Json:
    return {"spec": {"template": {"spec": spec}}}


SCALED = [
    Move("merge", {"spec": {"replicas": 4}}, "dora", subresource="scale"),
    Move("merge", {"spec": {"replicas": 4}}, "eve", subresource="scale"),
    Move("merge", {"spec": {"replicas": 5}}, "eve"),
]

SCENARIOS: dict[str, list[Move]] = {
    "more updaters than are kept": [
        create({"data": {"k0": "0"}}, "m0"),
        *(Move("merge", {"data": {f"k{n}": str(n)}}, f"m{n:02}") for n in range(1, 14)),
        apply({"data": {"k3": "x"}}, force=True),
    ],
    "forgotten owners": [
        create(DATA),
        update(with_fields([])),
        update(lambda new: new["data"].update(c="3")),
        apply({"data": {"a": "1"}}),
        apply({"data": {"a": "2"}}, "bob"),
        update(with_fields([{}])),
        apply({"data": {"a": "3"}}, "bob"),
        apply({}, "bob"),
    ],
    "forgotten owners of a toy": toy(
        create({"spec": {"map": {"a": "1"}}}),
        update(with_fields([])),
        update(with_fields([{}])),
        apply({"spec": {"map": {"a": "1"}}}),
        apply({"spec": {"map": {"b": "1"}}}),
    ),
    "owners by hand": [
        create({**DATA, "metadata": {"managedFields": [owner()]}}),
        update(with_fields([owner(manager="y", operation="Apply")])),
        update(with_fields([owner(operation="Other")])),
        update(with_fields([owner(fieldsType="")])),
        update(with_fields([owner(fieldsType="FieldsV9")])),
        update(with_fields([owner(apiVersion="")])),
        update(with_fields([owner(apiVersion="gone.example.com/v1")])),
        update(with_fields([owner(fieldsV1={"f:data": {"x:unknown": {}, "f:b": {}}})])),
        update(with_fields([owner(fieldsV1={"f:data": {"f:a": {".": {}, "f:deep": {}}, "i:1": {}}})])),
        update(with_fields([owner(fieldsV1={'k:{"b": 1, "a":"x"}': {}, "v:1.0": {}, 'v:"<&>"': {}})])),
        apply({"data": {"a": "1"}}),
        update(with_fields([owner(fieldsV1={"bad": {}})])),
        update(with_fields([owner(time=None)])),
        update(with_fields([owner(subresource="status"), owner(), owner(manager="a")])),
    ],
    "a list whose owner lets go": toy(
        apply({"spec": {"set": ["a", "b"], "items": [{"name": "a"}], "map": {"x": "1"}, "nested": {"one": "1"}}}),
        apply({"spec": {"set": ["b"]}}),
        apply({"spec": {}}),
        apply({}),
    ),
    "a struct whose rest nobody owns": toy(
        apply({"spec": {"replicas": 0, "set": []}}),
        apply({"spec": {}}),
        apply({"spec": {"set": []}}),
        apply({"spec": {"set": []}}),
    ),
    "a struct between two": toy(
        apply({"spec": {"nested": {"one": "1", "two": {"three": "3"}}}}),
        apply({"spec": {"nested": {"two": {}}}}, "bob"),
        apply({"spec": {"nested": {"one": "1"}}}),
        apply({}, "bob"),
        apply({"spec": {"nested": None, "text": None, "set": None, "map": None}}),
    ),
    "what changes its type": toy(
        apply({"spec": {"free": {"a": {"b": 1}}, "mixed": 1}}),
        apply({"spec": {"free": {"a": [1, {"b": 2}]}, "mixed": "1"}}, "bob"),
        apply({"spec": {"free": {"a": [1, {"b": 2}]}, "mixed": "1"}}, "bob", force=True),
        apply({"spec": {"free": {"a": {"c": 1.5}}, "mixed": 1}}, "bob"),
        Move("merge", {"spec": {"free": {"a": "text"}}}, "carol"),
        Move("merge", {"spec": {"free": {"a": {"d": [1]}}}}, "dora"),
        apply({"spec": {"free": None}}, force=True),
    ),
    "two versions": toy(
        apply({"spec": {"text": "a", "map": {"x": "1"}}}),
        apply({"spec": {"text": "b"}}, version="v2"),
        apply({"spec": {"replicas": 2}}, version="v2"),
        update(lambda new: new["spec"].update(flag=True), "bob", version=""),
        apply({"spec": {"text": "c", "map": {"x": "2"}}}, "bob"),
        apply({"spec": {"text": "c"}}, "bob", version="v2"),
    ),
    "what kubectl had applied": [
        create(
            {
                **DATA,
                "metadata": {
                    "annotations": {
                        LAST_APPLIED: '{"apiVersion":"v1","kind":"ConfigMap","data":{"a":"1","b":"2"},"metadata":{}}\n'
                    }
                },
            },
            "kubectl-client-side-apply",
        ),
        Move("merge", {"data": {"b": "changed"}}, "bob"),
        apply({"data": {"a": "new", "b": "new"}}, "kubectl"),
        apply({"data": {"a": "new"}}, "other"),
        apply({"data": {"a": "new"}}, "kubectl"),
        apply({"data": {"a": "<new>"}, "metadata": {"annotations": {"z": "1"}}}, "kubectl"),
    ],
    "conflicts": deployment(
        create(web(replicas=1)),
        apply({"spec": {"replicas": 2}}, "bob"),
        apply({"spec": {"replicas": 2}, **pod_template(containers=[{"name": "main", "image": "web:2"}])}, "bob"),
        apply({"spec": {"replicas": 1}}, "bob"),
        Move("merge", {"spec": {"replicas": 3}}, "carol"),
        apply({"spec": {"replicas": 4}}, "bob"),
        apply({"status": {"replicas": 4}}, "carol", subresource="status"),
        Move("merge", {"status": {"replicas": 5}}, "dora", subresource="status"),
        apply({"status": {"replicas": 6, "observedGeneration": 1}}, "carol", subresource="status"),
        apply({"status": {"replicas": 6}}, 'qu"ote', subresource="status"),
        apply({"spec": {"replicas": 7}}, 'qu"ote', force=True),
        apply({"spec": {"replicas": 8}}, "carol"),
    ),
    "the scale of a Deployment": deployment(
        create(web(replicas=1)),
        apply({"spec": {"replicas": 2}}, "bob", subresource="scale"),
        apply({"spec": {"replicas": 2}}, "bob", subresource="scale", force=True),
        apply({"spec": {"replicas": 2}}, "bob", subresource="scale"),
        apply({"spec": {"replicas": 3}}, "bob", subresource="scale"),
        apply({"spec": {"replicas": 3}}, "carol"),
        *SCALED,
        apply({"spec": {"replicas": 5}}, "bob", subresource="scale"),
        apply({"spec": {"replicas": 6}}, "bob", subresource="scale"),
        apply({"spec": {"replicas": 6}}, "bob"),
        Move("json", [{"op": "replace", "path": "/spec/replicas", "value": 7}], "dora", subresource="scale"),
    ),
    # To the scale of a custom resource nobody can apply: kube-apiserver fails at it.
    "the scale of a toy": toy(
        create({"spec": {"replicas": 1, "text": "x"}}),
        *SCALED,
        apply({"spec": {"replicas": 5}}, "bob"),
        *SCALED,
    ),
    "what cannot be applied": deployment(
        create(web()),
        apply({"spec": {"replicas": "2"}}),
        apply({"spec": {"replicas": True}}),
        apply({"spec": {"paused": "yes"}}),
        apply({"spec": {"unknown": 1}}),
        apply({"other": {}}),
        apply({"spec": {"replicas": "x", "paused": 1}}),
        apply({"spec": "text"}),
        apply({"spec": {"template": {"metadata": {"labels": {"a": 1}}}}}),
        apply({"spec": {"template": {"metadata": {"labels": [1]}}}}),
        apply(pod_template(containers={"a": 1})),
        apply(pod_template(containers=[{"image": "x"}])),
        apply(pod_template(containers=["x"])),
        apply(pod_template(containers=[None])),
        apply(pod_template(containers=[CONTAINER, CONTAINER])),
        apply(pod_template(containers=[{"name": "main", "ports": [{"containerPort": 80}, {"containerPort": 80}]}])),
        apply(pod_template(containers=[{"name": "main", "args": [1]}])),
        apply({"metadata": {"finalizers": ["a", "a"]}}),
        apply({"metadata": {"finalizers": [{"a": 1}]}}),
        apply({"metadata": {"finalizers": [["a"]]}}),
        apply({"metadata": {"managedFields": []}}),
        apply({"metadata": {"managedFields": [owner()]}}),
        apply({"metadata": {"managedFields": None}}),
        apply({"apiVersion": "apps/v2"}),
        apply({"kind": "DaemonSet"}),
    ),
    "what is there twice": deployment(
        create(web({**CONTAINER, "env": [{"name": "A", "value": "1"}, {"name": "A", "value": "2"}, {"name": "B"}]})),
        apply(pod_template(containers=[{"name": "main", "env": [{"name": "B", "value": "3"}]}]), "bob", force=True),
        apply(pod_template(containers=[{"name": "main", "env": [{"name": "A", "value": "4"}]}]), "bob"),
        apply(pod_template(containers=[{"name": "main", "env": [{"name": "A", "value": "4"}]}]), "bob", force=True),
        update(lambda new: new["spec"]["template"]["spec"]["containers"][0].update(env=[{"name": "C"}] * 2)),
        update(lambda new: new["spec"]["template"]["spec"]["containers"][0].update(env=[{"name": "C", "value": "x"}])),
        Move(
            "strategic",
            pod_template(containers=[{"name": "main", "env": [{"name": "C", "$patch": "delete"}]}]),
        ),
    ),
    "merging lists by key and order": deployment(
        create(web({**CONTAINER, "env": [{"name": n, "value": n} for n in "ABCD"]}, {"name": "side", "image": "s:1"})),
        Move("strategic", pod_template(containers=[{"name": "third", "image": "t:1"}])),
        Move(
            "strategic",
            pod_template(
                **{
                    "$setElementOrder/containers": [{"name": "side"}, {"name": "main"}, {"name": "new"}],
                    "containers": [{"name": "main", "image": "web:9"}, {"name": "new", "image": "n:1"}],
                }
            ),
        ),
        Move(
            "strategic",
            pod_template(
                containers=[
                    {
                        "name": "main",
                        "$setElementOrder/env": [{"name": n} for n in "CBX"],
                        "env": [{"name": "D", "$patch": "delete"}, {"name": "X", "value": "x"}],
                    }
                ]
            ),
        ),
        Move(
            "strategic",
            pod_template(**{"$setElementOrder/containers": [{"name": "new"}], "containers": [{"name": "main"}]}),
        ),
        Move("strategic", pod_template(containers=[{"name": "main", "$patch": "replace", "image": "only:1"}])),
        Move("strategic", pod_template(containers=[{"$patch": "replace"}, {"name": "main", "image": "only:2"}])),
        Move("strategic", pod_template(containers=[{"name": "gone", "$patch": "delete"}])),
        Move("strategic", {"spec": {"strategy": {"$retainKeys": ["type"], "type": "Recreate"}}}),
        Move("strategic", {"spec": {"strategy": {"$retainKeys": ["type"], "rollingUpdate": {}}}}),
        Move("strategic", {"spec": {"strategy": {"$retainKeys": "type"}}}),
        Move("strategic", {"spec": {"strategy": {"$patch": "replace", "type": "RollingUpdate"}}}),
        Move("strategic", {"spec": {"template": {"spec": {"volumes": [{"name": "v", "emptyDir": {}}]}}}}),
        Move(
            "strategic",
            {
                "spec": {
                    "template": {
                        "spec": {
                            "volumes": [{"name": "v", "$retainKeys": ["name", "configMap"], "configMap": {"name": "c"}}]
                        }
                    }
                }
            },
        ),
        Move("strategic", {"spec": {"template": {"spec": {"tolerations": [{"key": "a", "operator": "Exists"}]}}}}),
        Move("strategic", {"spec": {"template": {"spec": {"tolerations": []}}}}),
    ),
    "patches that make no sense": deployment(
        create(web()),
        Move("strategic", pod_template(containers=[{"image": "x"}])),
        Move("strategic", pod_template(containers=["x"])),
        Move("strategic", pod_template(containers=[["x"]])),
        Move("strategic", pod_template(containers=[{"name": "main", "$patch": "merge"}])),
        Move("strategic", pod_template(containers=[{"name": "main", "$patch": "other"}])),
        Move("strategic", pod_template(containers=[{"$patch": "delete"}])),
        Move("strategic", {"spec": {"$patch": "other"}}),
        Move("strategic", {"metadata": {"$deleteFromPrimitiveList/finalizers": ["x"]}}),
        Move("strategic", {"metadata": {"$deleteFromPrimitiveListfinalizers": ["x"]}}),
        Move("strategic", {"metadata": {"$setElementOrderx": ["x"]}}),
        Move("strategic", {"metadata": {"$setElementOrder/nothing": ["x"]}}),
        Move("strategic", {"metadata": {"$setElementOrder/finalizers": "x"}}),
        Move("strategic", {"metadata": {"finalizers": ["example.com/a", "example.com/b"]}}),
        Move(
            "strategic",
            {"metadata": {"$setElementOrder/finalizers": ["example.com/b"], "finalizers": ["example.com/c"]}},
        ),
        Move("strategic", {"metadata": {"$setElementOrder/finalizers": ["example.com/b", "example.com/a"]}}),
        Move("strategic", [1]),
        Move("strategic", "text"),
        Move("merge", [1]),
        Move("merge", "text"),
        Move("merge", 1),
        Move("json", {"a": 1}),
        Move("json", [1]),
        Move("json", [{"op": 1}]),
        Move("json", [{"op": "add", "path": 1}]),
        Move("json", [{"op": "add"}]),
        Move("json", [{"op": "nonsense", "path": "/a"}]),
        Move("json", [{"path": "/a"}]),
        Move("json", [{"op": "remove", "path": "/metadata/nothing"}]),
        Move("json", [{"op": "remove", "path": ""}]),
        Move("json", [{"op": "add", "path": "nothing", "value": 1}]),
        Move("json", [{"op": "copy", "path": "/metadata/labels"}]),
        Move("json", [{"op": "test", "path": "/spec/replicas", "value": 2}]),
        Move("json", [{"op": "test", "path": "/spec/replicas", "value": True}]),
        Move("json", [{"op": "replace", "path": "", "value": 1}]),
    ),
    "JSON pointers": toy(
        create({"spec": {"map": {"a/b": "1", "c~d": "2", "": "3"}}}),
        Move("json", [{"op": "remove", "path": "/spec/map/a~1b"}]),
        Move("json", [{"op": "move", "from": "/spec/map/c~0d", "path": "/spec/map/~01"}]),
        Move("json", [{"op": "replace", "path": "/spec/map/", "value": "4"}]),
        Move("json", [{"op": "add", "path": "/spec/free", "value": {"a": [1, {"b": None}], "c": None}}]),
        Move("json", [{"op": "test", "path": "/spec/free/a", "value": [1, {"b": None}]}]),
        Move("json", [{"op": "add", "path": "/spec/free/c/d", "value": 1}]),
        Move("merge", {"spec": {"free": {"a": [{"x": None}, None], "n": {"o": None}}}}),
        Move("merge", {"spec": {"map": None, "nested": {"two": {"three": None}}}}),
        Move("merge", {"spec": None}),
    ),
    "JSON patches": deployment(
        create({**web(), "metadata": {"labels": {"a/b": "1", "e": "3"}}}),
        Move("json", [{"op": "remove", "path": "/metadata/labels/a~1b"}]),
        Move("json", [{"op": "move", "from": "/metadata/labels/e", "path": "/metadata/labels/f"}]),
        Move("json", [{"op": "replace", "path": "/metadata/labels/new", "value": "replaced"}]),
        Move("json", [{"op": "add", "path": "/spec/template/spec/containers/-", "value": {"name": "z", "image": "z"}}]),
        Move("json", [{"op": "add", "path": "/spec/template/spec/containers/0", "value": {"name": "y", "image": "y"}}]),
        Move("json", [{"op": "replace", "path": "/spec/template/spec/containers/-1/image", "value": "last"}]),
        Move("json", [{"op": "remove", "path": "/spec/template/spec/containers/9"}]),
        Move("json", [{"op": "remove", "path": "/spec/template/spec/containers/-9"}]),
        Move("json", [{"op": "remove", "path": "/spec/template/spec/containers/x"}]),
        Move("json", [{"op": "remove", "path": "/spec/template/spec/containers/-"}]),
        Move("json", [{"op": "remove", "path": "/spec/template/spec/containers/-1"}]),
        Move("json", [{"op": "test", "path": "/metadata/labels/f", "value": "3"}, {"op": "test", "path": "/none"}]),
        Move("json", [{"op": "copy", "from": "/metadata/labels", "path": "/metadata/annotations"}]),
        Move("json", [{"op": "add", "path": "/metadata/annotations", "value": None}]),
        Move("json", []),
    ),
}

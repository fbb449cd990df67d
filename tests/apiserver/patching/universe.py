"""Random objects and writes of some kinds, for the differ: every one of them is what a server could accept."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Any

Json = dict[str, Any]
Make = Callable[[Random], Any]

VERBS = ("apply", "apply", "apply", "apply", "update", "json", "merge", "strategic")


@dataclass(frozen=True)
class Kind:
    """A kind: what its objects need, and what they may have, by path."""

    group: str
    version: str
    kind: str
    path: str
    needs: dict[str, Make]
    may: dict[str, Make]
    status: dict[str, Make] | None = None
    verbs: tuple[str, ...] = VERBS
    more_versions: tuple[str, ...] = ()

    @property
    def versions(self) -> tuple[str, ...]:
        return (self.version, *self.more_versions)

    def api_version(self, version: str = "") -> str:
        return f"{self.group}/{version or self.version}" if self.group else self.version

    @property
    def has_status(self) -> bool:
        return self.status is not None

    def config(self, random: Random, name: str, version: str, *, partial: bool, subresource: str) -> Json:
        """What somebody would apply."""
        obj: Json = {"apiVersion": self.api_version(version), "kind": self.kind, "metadata": {"name": name}}
        if subresource:
            pieces = self.status or {}
        else:
            pieces = {**META, **self.may}
            if random.random() < 0.1 and self.status:
                pieces = {**pieces, **self.status}
        if not subresource:
            for path, make in self.needs.items():
                if not partial or random.random() < 0.7:
                    put(obj, path, make(random))
        share = random.choice((0.1, 0.3, 0.6))
        for path, make in pieces.items():
            if random.random() < share:
                put(obj, path, make(random))
        return obj

    def sent(self, random: Random, name: str, live: Json | None, verb: str, subresource: str, version: str) -> Any:
        """The body of a write."""
        if live is None:
            return self.config(random, name, version, partial=False, subresource="")
        wish = self.config(random, name, version, partial=True, subresource=subresource)
        match verb:
            case "apply" if random.random() < 0.15 and not subresource:
                return self.config(
                    random, name, version, partial=False, subresource=""
                )  # all that it needs, so it may be sole
            case "apply":
                return wish
            case "update":
                return self._updated(random, live, wish)
            case "merge":
                patch = {key: value for key, value in wish.items() if key not in {"apiVersion", "kind"}}
                patch["metadata"].pop("name")
                _with_nulls(random, patch, live)
                return patch
            case "strategic":
                patch = {key: value for key, value in wish.items() if key not in {"apiVersion", "kind"}}
                patch["metadata"].pop("name")
                _with_nulls(random, patch, live)
                _with_directives(random, patch, live)
                return patch
            case _:
                return _operations(random, live, wish)

    def _updated(self, random: Random, live: Json, wish: Json) -> Json:
        new = copy.deepcopy(live)
        chance = random.random()
        if chance < 0.1:
            new["metadata"]["managedFields"] = random.choice(([], [{}]))
        elif chance < 0.3:
            new["metadata"].pop("managedFields", None)
        elif chance < 0.4 and new["metadata"].get("managedFields"):
            new["metadata"]["managedFields"].pop()
        _overlay(new, wish)
        for part in ("labels", "annotations"):
            if new["metadata"].get(part) and random.random() < 0.4:
                new["metadata"][part].popitem()
        return new


def put(obj: Json, path: str, value: Any) -> None:
    """Set what is at a path."""
    *steps, last = path.split(".")
    for step in steps:
        obj = obj.setdefault(step, {})
    obj[last] = value


def _overlay(new: Json, wish: Json) -> None:
    for key, value in wish.items():
        if isinstance(value, dict) and isinstance(new.get(key), dict):
            _overlay(new[key], value)
        elif not isinstance(value, list) or key not in {"containers", "ports"}:
            new[key] = value


def _with_nulls(random: Random, patch: Json, live: Json) -> None:
    for part in ("labels", "annotations"):
        there = (live.get("metadata") or {}).get(part)
        if there and random.random() < 0.4:
            patch["metadata"].setdefault(part, {})[random.choice(sorted(there))] = None
    for field in sorted(live.get("data") or {}):
        if random.random() < 0.3:
            patch.setdefault("data", {})[field] = None


def _with_directives(random: Random, patch: Json, live: Json) -> None:
    labels = live["metadata"].get("labels")
    if labels and random.random() < 0.15:
        patch["metadata"]["labels"] = random.choice(({"$patch": "delete"}, {"$patch": "replace", "a": "z"}))
    finalizers = live["metadata"].get("finalizers")
    if finalizers and random.random() < 0.5:
        patch["metadata"].pop("finalizers", None)
        patch["metadata"]["$deleteFromPrimitiveList/finalizers"] = [random.choice(finalizers)]
    spec = live.get("spec") or {}
    ports = spec.get("ports")
    if ports and random.random() < 0.4:
        patch.setdefault("spec", {})["ports"] = [
            *({"port": port["port"], "$patch": "delete"} for port in ports[1:] if random.random() < 0.5),
            {"name": random.choice(("p80", "p81", "q")), "port": random.choice((80, 81, 82))},
        ]
        if random.random() < 0.5:
            order = [{"port": port["port"]} for port in ports]
            random.shuffle(order)
            patch["spec"]["ports"] = [{"port": order[0]["port"], "targetPort": random.choice((1, 2))}]
            patch["spec"]["$setElementOrder/ports"] = order
    template = (spec.get("template") or {}).get("spec")
    if template and random.random() < 0.5:
        name = template["containers"][0]["name"]
        env = template["containers"][0].get("env") or []
        change = random.choice(
            (
                {"name": name, "image": "patched:1"},
                {"name": name, "env": [{"name": each["name"], "$patch": "delete"} for each in env[:1]]},
                {"name": name, "env": [{"name": "E9", "value": "9"}, {"name": "E0", "value": "x"}]},
                {"name": name, "env": [{"$patch": "replace"}, {"name": "E5", "value": "5"}]},
            )
        )
        patch.setdefault("spec", {}).setdefault("template", {}).setdefault("spec", {})["containers"] = [change]


def _operations(random: Random, live: Json, wish: Json) -> list[Json]:
    operations: list[Json] = []
    labels = live["metadata"].get("labels") or {}
    for key, value in (wish["metadata"].get("labels") or {}).items():
        if not labels and not operations:
            operations.append({"op": "add", "path": "/metadata/labels", "value": {}})
        operations.append({"op": "add", "path": f"/metadata/labels/{key}", "value": value})
    for key in sorted(labels):
        chance = random.random()
        if chance < 0.2:
            operations.insert(0, {"op": "remove", "path": f"/metadata/labels/{key}"})
        elif chance < 0.3:
            operations.insert(0, {"op": "test", "path": f"/metadata/labels/{key}", "value": labels[key]})
        elif chance < 0.4:
            operations.insert(0, {"op": "copy", "from": f"/metadata/labels/{key}", "path": "/metadata/labels/copied"})
    for field in ("data", "spec"):
        for key, value in (wish.get(field) or {}).items():
            if isinstance(live.get(field), dict) and not isinstance(value, list | dict):
                operations.append({"op": random.choice(("add", "replace")), "path": f"/{field}/{key}", "value": value})
    if random.random() < 0.1:
        operations.append({"op": "test", "path": "/metadata/name", "value": "another"})
    if random.random() < 0.1:
        operations.append({"op": "remove", "path": "/metadata/labels/nothing/there"})
    return operations


def one_of(*values: Any) -> Make:
    return lambda random: copy.deepcopy(random.choice(values))


def some_of(**values: Any) -> Make:
    """Some of these keys, each with one of its values."""
    return lambda random: {key: random.choice(of) for key, of in values.items() if random.random() < 0.6}


def items(make: Make, most: int, key: Callable[[Any], Any]) -> Make:
    """A few, none of them twice, in any order."""

    def made(random: Random) -> list[Any]:
        found = {key(item): item for item in (make(random) for _ in range(random.randint(0, most)))}
        each = list(found.values())
        random.shuffle(each)
        return each

    return made


def at_least_one(make: Make, otherwise: Any) -> Make:
    return lambda random: make(random) or copy.deepcopy(otherwise)


META: dict[str, Make] = {
    "metadata.labels": some_of(a=("1", "2"), b=("1", "2"), c=("1",)),
    "metadata.annotations": some_of(x=("1", "2"), y=("1", '<&">')),
    "metadata.finalizers": items(one_of("example.com/a", "example.com/b", "example.com/c"), 3, str),
    "metadata.ownerReferences": items(
        lambda random: {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "name": "owner",
            "uid": f"0000000{random.randint(1, 3)}-0000-0000-0000-000000000000",
            **({"controller": False} if random.random() < 0.5 else {}),
        },
        2,
        lambda item: item["uid"],
    ),
}

ENV = items(
    lambda random: {"name": f"E{random.randint(0, 3)}", "value": random.choice(("1", "2"))}, 3, lambda e: e["name"]
)
PORTS = items(
    lambda random: {
        "containerPort": random.choice((80, 443, 9090)),
        **random.choice(({}, {"protocol": "TCP"}, {"protocol": "UDP"})),
        **random.choice(({}, {"name": random.choice(("web", "alt"))})),
    },
    3,
    lambda port: port.get("name", port["containerPort"]),
)


def container(random: Random) -> Json:
    made: Json = {"name": random.choice(("main", "side")), "image": random.choice(("web:1", "web:2"))}
    pieces: dict[str, Make] = {
        "env": ENV,
        "ports": PORTS,
        "command": one_of(["run"], ["run", "fast"]),
        "resources": one_of({"limits": {"cpu": "1"}}, {"limits": {"memory": "1Gi"}, "requests": {"cpu": "500m"}}, {}),
        "readinessProbe": one_of({"httpGet": {"path": "/", "port": 80}}, {"tcpSocket": {"port": "web"}}),
        "imagePullPolicy": one_of("Always", "IfNotPresent"),
        "volumeMounts": one_of(
            [{"name": "v", "mountPath": "/v"}], [{"name": "v", "mountPath": "/w", "readOnly": True}]
        ),
        "securityContext": one_of({"runAsUser": 1}, {"privileged": False}, {}),
    }
    for key, make in pieces.items():
        if random.random() < 0.3:
            made[key] = make(random)
    if "volumeMounts" in made:
        made["volumeMounts"][0]["name"] = "v"
    return made


CONTAINERS = at_least_one(
    items(container, 2, lambda each: each["name"]),
    [{"name": "main", "image": "web:1"}],
)

KINDS = (
    Kind(
        "",
        "v1",
        "ConfigMap",
        "/api/v1/namespaces/default/configmaps",
        {},
        {
            "data": some_of(k1=("1", "2"), k2=("1", "2"), k3=("", "x"), **{"a.b": ("1",)}),
            "binaryData": some_of(b1=("AAAA", "BBBB")),
        },
    ),
    Kind(
        "apps",
        "v1",
        "Deployment",
        "/apis/apps/v1/namespaces/default/deployments",
        {
            "spec.selector": one_of({"matchLabels": {"app": "web"}}),
            "spec.template.metadata.labels": one_of({"app": "web"}, {"app": "web", "t": "1"}),
            "spec.template.spec.containers": CONTAINERS,
            "spec.template.spec.volumes": one_of([{"name": "v", "emptyDir": {}}]),
        },
        {
            "spec.replicas": one_of(1, 2, 3),
            "spec.paused": one_of(True, False),
            "spec.minReadySeconds": one_of(1, 2),
            "spec.revisionHistoryLimit": one_of(3, 10),
            "spec.strategy": one_of(
                {"type": "Recreate"},
                {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1}},
                {"rollingUpdate": {"maxSurge": "50%", "maxUnavailable": 0}},
            ),
            "spec.template.metadata.annotations": some_of(t1=("1", "2"), t2=("1",)),
            "spec.template.spec.nodeSelector": some_of(n1=("1", "2"), n2=("1",)),
            "spec.template.spec.tolerations": one_of([{"key": "k", "operator": "Exists"}], [{"operator": "Exists"}]),
            "spec.template.spec.terminationGracePeriodSeconds": one_of(1, 30),
            "spec.template.spec.securityContext": one_of({}, {"runAsUser": 3}, {"supplementalGroups": [1, 2]}),
            "spec.template.spec.imagePullSecrets": one_of([{"name": "s1"}], [{"name": "s2"}, {"name": "s1"}], []),
            "spec.template.spec.hostAliases": one_of([{"ip": "1.2.3.4", "hostnames": ["a"]}]),
        },
        {
            "status.replicas": one_of(1, 2),
            "status.observedGeneration": one_of(1, 2),
            "status.conditions": items(
                lambda random: {
                    "type": random.choice(("Available", "Progressing")),
                    "status": random.choice(("True", "False")),
                    "lastUpdateTime": "2020-01-01T00:00:00Z",
                    "lastTransitionTime": "2020-01-01T00:00:00Z",
                },
                2,
                lambda each: each["type"],
            ),
        },
    ),
    Kind(
        "",
        "v1",
        "Service",
        "/api/v1/namespaces/default/services",
        {
            "spec.ports": at_least_one(
                items(
                    lambda random: {
                        "port": (port := random.choice((80, 81, 82))),
                        "name": f"p{port}",
                        **random.choice(({}, {"protocol": "TCP"})),
                        **random.choice(({}, {"targetPort": "web"}, {"targetPort": 8080})),
                    },
                    3,
                    lambda each: each["name"],
                ),
                [{"port": 80, "name": "p80"}],
            ),
        },
        {
            "spec.selector": some_of(app=("web", "api"), tier=("1",)),
            "spec.type": one_of("ClusterIP", "ClusterIP", "NodePort"),
            "spec.sessionAffinity": one_of("None", "ClientIP"),
            "spec.externalIPs": one_of(["1.1.1.1"], ["1.1.1.1", "2.2.2.2"]),
            "spec.publishNotReadyAddresses": one_of(True, False),
        },
        {
            "status.conditions": one_of(
                [
                    {
                        "type": "A",
                        "status": "True",
                        "reason": "R",
                        "message": "",
                        "lastTransitionTime": "2020-01-01T00:00:00Z",
                    }
                ]
            )
        },
    ),
    Kind(
        "",
        "v1",
        "Pod",
        "/api/v1/namespaces/default/pods",
        {"spec.containers": one_of([{"name": "main", "image": "web:1"}], [{"name": "main", "image": "web:2"}])},
        {
            "spec.activeDeadlineSeconds": one_of(1000, 900),
            "spec.tolerations": one_of([{"key": "k", "operator": "Exists"}]),
        },
        {
            "status.phase": one_of("Pending", "Running"),
            "status.podIPs": one_of([{"ip": "10.0.0.1"}], [{"ip": "10.0.0.2"}]),
            "status.conditions": items(
                lambda random: {
                    "type": random.choice(("Ready", "PodScheduled")),
                    "status": random.choice(("True", "False")),
                },
                2,
                lambda each: each["type"],
            ),
        },
    ),
    Kind(
        "toys.example.com",
        "v1",
        "Toy",
        "/apis/toys.example.com/v1/namespaces/default/toys",
        {},
        {
            "spec.replicas": one_of(0, 1, 2),
            "spec.text": one_of("", "a", "b"),
            "spec.flag": one_of(True, False),
            "spec.mixed": one_of(1, "1", "50%"),
            "spec.nothing": one_of(None, "x"),
            "spec.free": one_of({"a": {"b": 1}, "l": [1, 2]}, {"a": {"c": "x"}}, {"a": 1}, {}, {"l": [{"x": 1}]}),
            "spec.map": some_of(k1=("1", "2"), k2=("1",)),
            "spec.whole": some_of(w1=("1", "2"), w2=("1",)),
            "spec.set": items(one_of("a", "b", "c", "<d>"), 3, str),
            "spec.list": one_of([{"name": "a"}], [{"name": "a", "port": 1}, {"name": "a", "port": 1}], []),
            "spec.items": items(
                lambda random: {
                    "name": random.choice("ab"),
                    **random.choice(({}, {"port": 80}, {"port": 9})),
                    **random.choice(({}, {"tags": ["x"]}, {"tags": ["x", "y"]}, {"tags": []})),
                },
                3,
                lambda each: (each["name"], each.get("port", 80)),
            ),
            "spec.nested": one_of(
                {"one": "1"}, {"two": {"three": "3"}}, {"two": {}}, {}, {"one": "2", "two": {"three": "4"}}
            ),
        },
        {
            "status.replicas": one_of(0, 1),
            "status.conditions": items(
                lambda random: {"type": random.choice("AB"), "status": random.choice(("True", "False"))},
                2,
                lambda each: each["type"],
            ),
        },
        verbs=tuple(verb for verb in VERBS if verb != "strategic"),
        more_versions=("v2",),
    ),
)

"""Defaults that no schema tells, found by trying: objects are created for a trial.

What a struct gets where it leaves a field out is noted by its definition. Every field is tried in turn, and every value
of an enumeration, so that a default shows that depends on something else: it does not come in all trials. Of those, the
ones that follow a single field of the same struct are told with it; the rest is for code.
"""

from __future__ import annotations

import base64
import copy
import json
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from schemas import reference

Json = dict[str, Any]
Create = Callable[[str, Json], "tuple[int, Json]"]
"""Create for a trial: the collection's path and the object, to the status and the answer."""

META = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"
MARK = "trial"

# What a field of that name may hold, where its type does not say.
BY_NAME: dict[str, Any] = {
    "image": "a:1",
    "path": "/a",
    "mountPath": "/a",
    "devicePath": "/a",
    "hostPath": {"path": "/a"},
    "port": 80,
    "containerPort": 80,
    "targetPort": 80,
    "ip": "1.2.3.4",
    "schedule": "* * * * *",
    "url": "https://a.example.com",
    "provisioner": "example.com/a",
    "driver": "a.example.com",
    "storage": "1Gi",
    "expression": "true",
    "controller": "example.com/a",
    "handler": "a",
    "nodeName": "a",
    "cidr": "10.0.0.0/24",
    "operator": "Exists",
    "topologyKey": "a",
    "key": "a",
}
LABELS = {"matchLabels": {"a": "a"}}
CONTAINER = {"name": "a", "image": "a:1"}
POD = {"metadata": {"labels": {"a": "a"}}, "spec": {"containers": [CONTAINER]}}
CLIENT = {"url": "https://a.example.com"}
RULE = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}
WEBHOOK = {
    "name": "a.example.com",
    "clientConfig": CLIENT,
    "sideEffects": "None",
    "admissionReviewVersions": ["v1"],
    "rules": [RULE],
}
RULES = {"resourceRules": [RULE]}
JSON_PATCH = "[JSONPatch{op: 'test', path: '/a', value: 'a'}]"


def certificate_request() -> str:
    """One as a CertificateSigningRequest holds it."""
    request = x509.CertificateSigningRequestBuilder().subject_name(x509.Name([]))
    signed = request.sign(ec.generate_private_key(ec.SECP256R1()), hashes.SHA256())
    return base64.b64encode(signed.public_bytes(serialization.Encoding.PEM)).decode()


# Of kinds that need more than their required fields.
SEEDS: dict[str, Json] = {
    "Pod": {"spec": POD["spec"]},
    "PodTemplate": {"template": POD},
    "ReplicationController": {"spec": {"selector": {"a": "a"}, "template": POD}},
    "ReplicaSet": {"spec": {"selector": LABELS, "template": POD}},
    "Deployment": {"spec": {"selector": LABELS, "template": POD}},
    "DaemonSet": {"spec": {"selector": LABELS, "template": POD}},
    "StatefulSet": {"spec": {"selector": LABELS, "template": POD, "serviceName": "a"}},
    "Job": {"spec": {"template": {"spec": {"containers": [CONTAINER], "restartPolicy": "Never"}}}},
    "CronJob": {
        "spec": {
            "schedule": "* * * * *",
            "jobTemplate": {"spec": {"template": {"spec": {"containers": [CONTAINER], "restartPolicy": "Never"}}}},
        }
    },
    "Service": {"spec": {"ports": [{"port": 80}]}},
    "PersistentVolume": {
        "spec": {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "nfs": {"server": "a", "path": "/a"}}
    },
    "PersistentVolumeClaim": {
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    },
    "Endpoints": {"subsets": [{"addresses": [{"ip": "1.2.3.4"}], "ports": [{"port": 80}]}]},
    "EndpointSlice": {"addressType": "IPv4", "endpoints": [{"addresses": ["1.2.3.4"]}], "ports": [{"port": 80}]},
    "LimitRange": {"spec": {"limits": [{"type": "Container"}]}},
    "Event": {
        "action": "a",
        "eventTime": "2020-01-01T00:00:00.000000Z",
        "involvedObject": {"namespace": "default"},
        "reason": "a",
        "regarding": {"namespace": "default"},
        "reportingComponent": "example.com/a",
        "reportingController": "example.com/a",
        "reportingInstance": "a",
        "type": "Normal",
    },
    "ControllerRevision": {"data": {}, "revision": 1},
    "NetworkPolicy": {
        "spec": {"podSelector": {}, "ingress": [{"ports": [{"port": 80}], "from": [{"podSelector": {}}]}]},
    },
    "IPAddress": {
        "metadata": {"name": "10.9.9.9"},
        "spec": {"parentRef": {"resource": "services", "name": "a", "namespace": "a"}},
    },
    "ServiceCIDR": {"spec": {"cidrs": ["10.9.8.0/24"]}},
    "Ingress": {"spec": {"defaultBackend": {"service": {"name": "a", "port": {"number": 80}}}}},
    "IngressClass": {"spec": {"controller": "example.com/a"}},
    "HorizontalPodAutoscaler": {
        "spec": {"maxReplicas": 2, "scaleTargetRef": {"kind": "Deployment", "name": "a", "apiVersion": "apps/v1"}}
    },
    "ValidatingWebhookConfiguration": {"webhooks": [WEBHOOK]},
    "MutatingWebhookConfiguration": {"webhooks": [WEBHOOK]},
    "ValidatingAdmissionPolicy": {"spec": {"matchConstraints": RULES, "validations": [{"expression": "true"}]}},
    "MutatingAdmissionPolicy": {
        "spec": {
            "matchConstraints": RULES,
            "mutations": [{"patchType": "JSONPatch", "jsonPatch": {"expression": JSON_PATCH}}],
            "reinvocationPolicy": "Never",
        }
    },
    "MutatingAdmissionPolicyBinding": {"spec": {"policyName": "a"}},
    "ValidatingAdmissionPolicyBinding": {"spec": {"policyName": "a", "validationActions": ["Deny"]}},
    "RoleBinding": {
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "a"},
        "subjects": [{"kind": "User", "name": "a"}],
    },
    "ClusterRoleBinding": {
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "a"},
        "subjects": [{"kind": "User", "name": "a"}],
    },
    "StorageClass": {"provisioner": "example.com/a"},
    "CSIDriver": {"spec": {}},
    "CSINode": {"spec": {"drivers": []}},
    "CertificateSigningRequest": {
        "spec": {"request": certificate_request(), "signerName": "example.com/a", "usages": ["digital signature"]}
    },
    "RuntimeClass": {"handler": "a"},
    "PriorityClass": {"value": 1},
    "CustomResourceDefinition": {
        "metadata": {"name": "as.a.example.com"},
        "spec": {
            "group": "a.example.com",
            "scope": "Namespaced",
            "names": {"plural": "as", "kind": "A"},
            "versions": [
                {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {"type": "object"}}}
            ],
        },
    },
    "APIService": {
        "metadata": {"name": "v1.b.example.com"},
        "spec": {
            "group": "b.example.com",
            "version": "v1",
            "groupPriorityMinimum": 1,
            "versionPriority": 1,
            "service": {"name": "a", "namespace": "a"},
            "insecureSkipTLSVerify": True,
        },
    },
    "FlowSchema": {"spec": {"priorityLevelConfiguration": {"name": "a"}}},
    "PriorityLevelConfiguration": {"spec": {"type": "Limited", "limited": {"limitResponse": {"type": "Reject"}}}},
    "VolumeAttachment": {"spec": {"attacher": "a", "nodeName": "a", "source": {"persistentVolumeName": "a"}}},
    "Lease": {"spec": {}},
    "ResourceClaim": {"spec": {"devices": {"requests": [{"name": "a", "exactly": {"deviceClassName": "a"}}]}}},
    "ResourceSlice": {
        "spec": {
            "allNodes": True,
            "driver": "a.example.com",
            "pool": {"generation": 1, "name": "a", "resourceSliceCount": 1},
            "devices": [{"name": "a"}],
        }
    },
    "VolumeAttributesClass": {"driverName": "a.example.com", "parameters": {"a": "a"}},
    "ResourceClaimTemplate": {
        "spec": {"spec": {"devices": {"requests": [{"name": "a", "exactly": {"deviceClassName": "a"}}]}}}
    },
}

# Of kinds whose defaults differ by what they are: other objects.
OTHERS: dict[str, list[Json]] = {
    "Service": [{"spec": {"type": "ExternalName", "externalName": "a.example.com"}}],
    "PriorityLevelConfiguration": [
        {"spec": {"type": "Limited", "limited": {"limitResponse": {"type": "Queue", "queuing": {}}}}}
    ],
}

# Kinds that hold others' specs as templates: the others come first, as a spec is explored where it is met first.
TEMPLATED = {"CronJob", "PodTemplate", "ResourceClaimTemplate"}

NOT_TRIED = {"metadata", "status", "apiVersion", "kind"}

# What is no default: found or copied from elsewhere by the server, or put there by admission.
NO_DEFAULTS = {
    "ServiceSpec": {"clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy", "healthCheckNodePort"},
    "ServicePort": {"nodePort", "targetPort"},
    "JobSpec": {"selector"},
    "PodSpec": {"serviceAccount", "serviceAccountName", "priority", "preemptionPolicy"},
    "Secret": {"data"},
    "Node": {"spec"},
    "NodeSpec": {"taints"},
    "CustomResourceDefinitionNames": {"singular", "listKind"},
    "ResourceRequirements": {"requests"},
    "VolumeResourceRequirements": {"requests"},
    "ContainerPort": {"hostPort"},
    "Container": {"imagePullPolicy"},
    "EphemeralContainer": {"imagePullPolicy"},
    "CertificateSigningRequestSpec": {"extra", "groups", "uid", "username"},
    "DeviceTaint": {"timeAdded"},
}

Trial = tuple[dict[str, Any], str | None]
"""The scalars of a struct as it came back, and what it got for a field that it had left out."""


class Trials:
    """What was found in all objects that the server took."""

    def __init__(self, schemas: Json, create: Create, pointers: frozenset[tuple[str, str]]) -> None:
        self._schemas = schemas
        self._create = create
        self._pointers = pointers
        self._explored: set[str] = set()
        self._trials: dict[str, list[tuple[Json, Json, str, str]]] = {}

    def seed(self, path: str, kind: str, definition: str) -> Json:
        """The smallest object of a kind of a group-version."""
        seed = {"apiVersion": path.partition("/")[2], "kind": kind, **copy.deepcopy(SEEDS.get(kind) or {})}
        if kind not in SEEDS:
            seed |= {key: value for key, value in self._struct(definition).items() if key not in NOT_TRIED}
        return {"metadata": {"name": MARK}, **seed}

    def others(self, seed: Json) -> list[Json]:
        """More objects to try of the kind of one."""
        return [{**seed, **copy.deepcopy(other)} for other in OTHERS.get(seed["kind"], ())]

    def kind(self, path: str, seed: Json, definition: str) -> None:
        """Try a kind: its smallest object first, then with each field that may be."""
        if not self._try(path, seed, definition):
            raise SystemExit(f"{path} does not take {seed}: {self._create(path, seed)[1]}")
        waiting = deque([(seed, (), definition)])
        for steps, inner in self._present(seed, definition):
            waiting.append((seed, steps, inner))
        while waiting:
            obj, steps, inner = waiting.popleft()
            if inner not in self._explored and inner != META:
                self._explored.add(inner)
                waiting += self._with_each_field(path, definition, obj, steps, inner)

    def _with_each_field(
        self, path: str, root: str, obj: Json, steps: tuple[Any, ...], definition: str
    ) -> Iterator[tuple[Json, tuple[Any, ...], str]]:
        """Objects that the server took, each with one more field, and where to go on in them."""
        for name, field in sorted(self._schemas[definition].get("properties", {}).items()):
            if name in NOT_TRIED and not steps:
                continue
            for value in self._values(name, field):
                tried = copy.deepcopy(obj)
                place: Any = tried
                for step in steps:
                    place = place[step]
                if name in place and place[name] == value:
                    continue
                place[name] = value
                if self._try(path, tried, root):
                    inner = reference(field) or reference(field.get("items", {}))
                    if inner in self._schemas:
                        below = (name,) if reference(field) else (name, 0)
                        yield tried, (*steps, *below), inner

    def _try(self, path: str, obj: Json, definition: str) -> bool:
        status, answer = self._create(path, obj)
        if status != 201:
            return False
        self._compare(obj, answer, definition, (obj["kind"], ""))
        return True

    def _compare(self, sent: Any, got: Any, definition: str, where: tuple[str, str]) -> None:
        """Note what every struct that was sent got."""
        if not isinstance(sent, dict) or not isinstance(got, dict) or definition == META:
            return
        self._trials.setdefault(definition, []).append((sent, got, *where))
        for name, field in self._schemas.get(definition, {}).get("properties", {}).items():
            if name not in sent or name not in got or name == "status":
                continue
            if inner := reference(field):
                self._compare(sent[name], got[name], inner, (where[0], name))
            elif (inner := reference(field.get("items", {}))) and isinstance(sent[name], list) and got[name]:
                for one, other in zip(sent[name], got[name], strict=False):
                    self._compare(one, other, inner, (where[0], name))

    def _present(self, obj: Any, definition: str, steps: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], str]]:
        """The structs in an object."""
        for name, field in self._schemas.get(definition, {}).get("properties", {}).items():
            value = obj.get(name) if isinstance(obj, dict) else None
            inner, items = reference(field), reference(field.get("items", {}))
            if inner in self._schemas and isinstance(value, dict):
                yield (*steps, name), inner
                yield from self._present(value, inner, (*steps, name))
            elif items in self._schemas and isinstance(value, list) and value:
                yield (*steps, name, 0), items
                yield from self._present(value[0], items, (*steps, name, 0))

    def _values(self, name: str, field: Json) -> Iterator[Any]:
        """What to try for a field: of a struct the least, then that with each of its fields, as one may have to be."""
        if enum := field.get("enum"):
            yield from (value for value in enum if value != "")
            return
        least = self._value(name, field, ())
        yield least
        target = reference(field) or reference(field.get("items", {}))
        if target in self._explored or name in BY_NAME:
            return
        for more, inner in sorted(self._schemas.get(target, {}).get("properties", {}).items()):
            struct = least[0] if isinstance(least, list) else least
            if isinstance(struct, dict) and more not in struct:
                fuller = {**struct, more: self._value(more, inner, (target,))}
                yield [fuller] if isinstance(least, list) else fuller

    def _struct(self, definition: str, above: tuple[str, ...] = ()) -> Json:
        """The least of a struct."""
        schema = self._schemas[definition]
        if definition in above:
            return {}
        found: Json = {}
        for name in schema.get("required", ()):
            found[name] = self._value(name, schema["properties"][name], (*above, definition))
        return found

    def _value(self, name: str, field: Json, above: tuple[str, ...]) -> Any:
        target = reference(field)
        if name in BY_NAME:
            return copy.deepcopy(BY_NAME[name])
        if target.endswith("Quantity"):
            return "1"
        if target.endswith("IntOrString"):
            return 1
        if target.endswith(("Time", "MicroTime")):
            return "2020-01-01T00:00:00Z" if not target.endswith("MicroTime") else "2020-01-01T00:00:00.000000Z"
        if target.endswith("LabelSelector"):
            return copy.deepcopy(LABELS)
        if target in self._schemas and self._schemas[target].get("properties"):
            return self._struct(target, above)
        match field.get("type"):
            case "array":
                return [self._value(name.removesuffix("s"), field["items"], above)]
            case "object":
                return {"a": self._value("", field.get("additionalProperties", {}), above)}
            case "integer" | "number":
                return 1
            case "boolean":
                return True
            case "string":
                return (field.get("enum") or ["a"])[0]
            case _:
                return {}

    def found(self) -> Iterator[tuple[str, Json]]:
        """Of each definition, the defaults that always come, and those that come with a value of another field."""
        for definition, trials in sorted(self._trials.items()):
            none = {*NOT_TRIED, *NO_DEFAULTS.get(definition.rpartition(".")[2], ())}
            names = sorted({name for _, got, *_ in trials for name in got} - none)
            noted = {name: told_with((definition, name) in self._pointers, name) for name in names}
            given = {name: [noted[name](trial) for trial in trials if name not in trial[0]] for name in names}
            always: Json = {
                name: json.loads(values[0])
                for name, values in given.items()
                if values and values[0] is not None and set(values) == {values[0]}
            }
            when: list[list[Any]] = []
            for name in names:
                if name not in always and any(value is not None for value in given[name]):
                    seen = [(beside(trial, always), noted[name](trial)) for trial in trials if name not in trial[0]]
                    fields = self._schemas[definition].get("properties", {})
                    if follows := following(seen, name, {key for key, field in fields.items() if "enum" in field}):
                        when.append([name, *follows])
            if always or when:
                yield definition, {"always": always, "when": when}


def told_with(pointer: bool, name: str) -> Callable[[tuple[Json, Json, str, str]], str | None]:
    """What a struct got for a field, or None where that is nothing; an empty struct is something behind a pointer."""

    def told(trial: tuple[Json, Json, str, str]) -> str | None:
        value = trial[1].get(name)
        nothing = is_nothing(value) and not (pointer and isinstance(value, dict))
        return None if nothing else json.dumps(value, sort_keys=True)

    return told


def is_nothing(value: Any) -> bool:
    """Whether a value only shows that nothing was set."""
    if isinstance(value, dict | list):
        return all(map(is_nothing, value.values() if isinstance(value, dict) else value))
    return value is None


def beside(trial: tuple[Json, Json, str, str], always: Json) -> Json:
    """What may decide about a default: the kind, the field that holds the struct, and what was sent beside it."""
    sent, got, kind, field = trial
    scalars = {
        key: value
        for key, value in got.items()
        if isinstance(value, str | bool | int) and (key in sent or key in always)
    }
    return {"(kind)": kind, "(field)": field, **scalars}


def following(trials: list[Trial], name: str, enums: set[str]) -> tuple[str, list[tuple[Any, Any]]] | None:
    """The field that a default follows, and what it is for each of its values; None where no one field decides.

    Where several do, it is rather one of `enums`, whose values are all known.
    """
    named = {key for scalars, _ in trials for key in scalars} - {name}
    for field in sorted(named, key=lambda field: (field not in enums, field)):
        by_value: dict[str, set[str | None]] = {}
        for scalars, value in trials:
            by_value.setdefault(json.dumps(scalars.get(field)), set()).add(value)
        if len(by_value) > 1 and all(len(values) == 1 for values in by_value.values()):
            told = ((json.loads(key), next(iter(values))) for key, values in sorted(by_value.items()))
            return field, [(key, json.loads(value)) for key, value in told if value is not None]
    return None

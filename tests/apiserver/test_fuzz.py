"""Whatever arrives, the answer is a Status, and none of them a fault of ours."""

from __future__ import annotations

import asyncio
import random
from dataclasses import replace
from typing import Any
from urllib.parse import quote

import msgspec
import pytest
from tests.apiserver.test_custom_resources import DEFINITION, DEFINITIONS, WINGS, wing

from trimtab.apiserver.messages import Request, Response
from trimtab.apiserver.server import ADMIN, Server

CMS = "/api/v1/namespaces/default/configmaps"
PODS = "/api/v1/namespaces/default/pods"
DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"
PATHS = [
    CMS,
    f"{CMS}/a",
    PODS,
    f"{PODS}/a",
    f"{PODS}/a/status",
    DEPLOYMENTS,
    f"{DEPLOYMENTS}/a",
    f"{DEPLOYMENTS}/a/scale",
    WINGS,
    f"{WINGS}/a",
    f"{WINGS}/a/status",
    f"{WINGS}/a/scale",
    DEFINITIONS,
    f"{DEFINITIONS}/wings.mythology.trimtab.dev",
    "/api",
    "/apis",
    "/version",
    "/openapi/v3",
    "/api/v1/namespaces",
    "/api/v1/namespaces/x",
    "/api/v1/namespaces/x/finalize",
    "/api/v1/watch/pods",
    "/",
    "",
    "//",
    "/apis//",
    "/api/v1/%2e%2e/",
    "/apis/apps/v1/watch",
    "/healthz/x",
    "/api/v1/secrets",
    "/apis/coordination.k8s.io/v1/namespaces/default/leases/l",
    "/api/v1/nodes/n/status",
]
TYPES = [
    "application/json",
    "application/yaml",
    "application/json-patch+json",
    "application/merge-patch+json",
    "application/strategic-merge-patch+json",
    "application/apply-patch+yaml",
    "application/vnd.kubernetes.protobuf",
    "x/y",
]
ACCEPTS = [
    "",
    "*/*",
    "application/json",
    "application/yaml",
    "application/json;as=Table;v=v1;g=meta.k8s.io",
    ";;,,q=",
    "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io",
    "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io",
    "application/vnd.kubernetes.protobuf",
    "application/vnd.kubernetes.protobuf,application/json",
    "application/vnd.kubernetes.protobuf;as=PartialObjectMetadata;v=v1;g=meta.k8s.io,*/*;pretty=1",
]
PARAMETERS = [
    "limit",
    "continue",
    "resourceVersion",
    "resourceVersionMatch",
    "labelSelector",
    "fieldSelector",
    "watch",
    "dryRun",
    "force",
    "timeoutSeconds",
    "sendInitialEvents",
    "allowWatchBookmarks",
    "fieldManager",
    "fieldValidation",
    "propagationPolicy",
    "gracePeriodSeconds",
    "includeObject",
    "pretty",
    "orphanDependents",
]
TEXTS = [
    "",
    "a",
    "1",
    "0",
    "-1",
    "true",
    "All",
    "NotOlderThan",
    "Exact",
    "x=y",
    "metadata.name=a",
    "a in (b",
    "!",
    "\x00",
    "\ud800",
    "é",
    "9" * 30,
    "eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6LTEsInN0YXJ0IjoiL2EifQ",
    "Orphan",
    "Table",
    "None",
    "Strict",
    "%zz",
]
SCALARS: list[Any] = [
    None,
    True,
    0,
    -1,
    2**63,
    1.5,
    1e300,
    "",
    "a",
    "\x00",
    "é" * 40,
    "2020-01-01T00:00:00Z",
    "25%",
    "1Gi",
]
KEYS = [
    "apiVersion",
    "kind",
    "metadata",
    "spec",
    "status",
    "data",
    "name",
    "namespace",
    "labels",
    "annotations",
    "finalizers",
    "ownerReferences",
    "managedFields",
    "resourceVersion",
    "uid",
    "generation",
    "creationTimestamp",
    "deletionTimestamp",
    "replicas",
    "containers",
    "template",
    "selector",
    "span",
    "$patch",
    "$setElementOrder/containers",
    "$deleteFromPrimitiveList/finalizers",
    "fieldsV1",
    "f:data",
    "manager",
    "operation",
    "op",
    "path",
    "value",
    "from",
    "preconditions",
    "versions",
    "names",
    "group",
    "schema",
    "openAPIV3Schema",
    "x-kubernetes-validations",
    "rule",
    "properties",
    "type",
    "items",
    "resources",
    "requests",
    "cpu",
]


class Dice(random.Random):
    def value(self, depth: int = 0) -> Any:
        kind = self.random()
        if depth > 4 or kind < 0.35:
            return self.choice(SCALARS)
        if kind < 0.5:
            return [self.value(depth + 1) for _ in range(self.randrange(3))]
        return {self.choice(KEYS): self.value(depth + 1) for _ in range(self.randrange(5))}

    def body(self) -> bytes:
        kind = self.random()
        if kind < 0.1:
            return self.randbytes(self.randrange(60))
        if kind < 0.15:
            return b"k8s\x00" + self.randbytes(self.randrange(60))
        if kind < 0.2:
            return b"[" * self.choice([10, 5000]) + b'"\\ud800"'
        value = self.value() if kind < 0.4 else self.twisted(self.choice(OBJECTS))
        body = msgspec.json.encode(value)
        return body if kind < 0.9 else body[: self.randrange(len(body) + 1)]

    def twisted(self, obj: Any) -> Any:
        """An object in which something is something else."""
        if isinstance(obj, dict) and obj and self.random() < 0.85:
            key = self.choice(list(obj))
            return {**obj, key: self.twisted(obj[key])}
        if isinstance(obj, list) and obj and self.random() < 0.8:
            return [self.twisted(obj[0]), *obj[1:]]
        return self.value(2)

    def sensible(self, query: str) -> Request:
        """A request that is right but for a detail or two."""
        path, obj = self.choice(COLLECTIONS)
        obj = self.twisted(obj) if self.random() < 0.8 else obj
        kind = self.randrange(5)
        if kind == 0:
            return Request("POST", path, query, {}, msgspec.json.encode(obj), ADMIN)
        name = DEFINITION["metadata"]["name"] if path == DEFINITIONS else "a"
        path = f"{path}/{name}" + self.choice(["", "", "/status", "/scale"])
        if kind == 1:
            return Request("PUT", path, query, {}, msgspec.json.encode(obj), ADMIN)
        media = {"content-type": self.choice(TYPES[2:6])}
        if media["content-type"].endswith("json-patch+json") and "merge" not in media["content-type"]:
            obj = self.twisted(OBJECTS[5])
        if "apply" in media["content-type"]:
            query += "&fieldManager=me&force=1"
        return Request("PATCH", path, query, media, msgspec.json.encode(obj), ADMIN)

    def request(self) -> Request:
        query = "&".join(
            f"{self.choice(PARAMETERS)}={quote(self.choice(TEXTS), errors='replace')}" for _ in range(self.randrange(4))
        )
        if self.random() < 0.7:
            request = self.sensible(query if self.random() < 0.2 else "")
            return replace(request, headers={**request.headers, "accept": self.choice(ACCEPTS)})
        headers = {"content-type": self.choice(TYPES), "accept": self.choice(ACCEPTS)}
        method = self.choice(["GET", "POST", "PUT", "PATCH", "PATCH", "DELETE", "HEAD", "BREW"])
        return Request(method, self.choice(PATHS), query, headers, self.body(), ADMIN)


METADATA = {
    "name": "a",
    "labels": {"x": "y"},
    "finalizers": ["a.b/c"],
    "managedFields": [{"manager": "m", "operation": "Apply"}],
}
CONTAINER = {"name": "c", "image": "i", "ports": [{"containerPort": 1}], "resources": {"requests": {"cpu": "1"}}}
OBJECTS: list[Any] = [
    {"apiVersion": "v1", "kind": "ConfigMap", "metadata": METADATA, "data": {"k": "v"}},
    {"apiVersion": "v1", "kind": "Pod", "metadata": METADATA, "spec": {"containers": [CONTAINER], "nodeName": "n"}},
    {"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "a"}, "spec": {"replicas": 3}},
    {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "x"}, "spec": {"finalizers": []}},
    {"kind": "DeleteOptions", "gracePeriodSeconds": 1, "propagationPolicy": "Orphan", "preconditions": {"uid": "u"}},
    [{"op": "add", "path": "/metadata/labels/z", "value": "1"}, {"op": "remove", "path": "/data"}],
    wing(span=2),
    {**wing(span=3), "status": {"phase": "p"}},
    DEFINITION,
]
COLLECTIONS = [
    (CMS, OBJECTS[0]),
    (PODS, OBJECTS[1]),
    (WINGS, OBJECTS[6]),
    (WINGS, OBJECTS[7]),
    (DEFINITIONS, DEFINITION),
]


async def ask(server: Server, request: Request) -> int:
    answer = await server.handle(request)
    if not isinstance(answer, Response):
        reading = asyncio.ensure_future(answer.source.read())
        await asyncio.sleep(0)
        answer.source.close()
        await reading
        return answer.status
    if answer.status >= 400 and answer.content_type == "application/json":
        assert msgspec.json.decode(answer.body)["kind"] == "Status"
    return answer.status


@pytest.mark.parametrize("seed", range(4))
async def test_no_request_is_a_fault_of_ours(seed: int, caplog: pytest.LogCaptureFixture) -> None:
    server, dice = Server(), Dice(seed)
    for obj, path in [(OBJECTS[0], CMS), (DEFINITION, DEFINITIONS), (wing(span=1), WINGS)]:
        await ask(server, Request("POST", path, "", {}, msgspec.json.encode(obj), ADMIN))
    for _ in range(1500):
        request = dice.request()
        await ask(server, request)
        assert not caplog.records, (request, request.body)

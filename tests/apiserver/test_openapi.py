"""OpenAPI: what it says of addresses; that its schemas are Kubernetes' own is what the facts are made of."""

from __future__ import annotations

import json
from typing import Any

import pytest

from trimtab.apiserver.facts.reader import references
from trimtab.apiserver.messages import Request, Response
from trimtab.apiserver.server import ADMIN, Server


async def ask(server: Server, path: str, **headers: str) -> Any:
    path, _, query = path.partition("?")
    answer = await server.handle(Request("GET", path, query, headers, user=ADMIN))
    assert isinstance(answer, Response)
    return answer


async def test_every_document_is_under_its_digest_and_has_what_it_refers_to() -> None:
    server = Server()
    index = json.loads((await ask(server, "/openapi/v3")).body)["paths"]
    assert {"api", "apis", "apis/apps", "apis/apps/v1", "version", "openid/v1/jwks"} <= index.keys()
    for where in index.values():
        answer = await ask(server, where["serverRelativeURL"])
        assert dict(answer.headers)["Cache-Control"] == "public, immutable"
        document = json.loads(answer.body)
        assert set(references(document)) <= document["components"].get("schemas", {}).keys()
        moved = await ask(server, where["serverRelativeURL"].partition("?")[0] + "?hash=OLD")
        assert (moved.status, dict(moved.headers)["Location"]) == (301, where["serverRelativeURL"])
        tag = dict(answer.headers)["Etag"]
        assert (await ask(server, where["serverRelativeURL"], **{"if-none-match": tag})).status == 304


@pytest.mark.parametrize(
    ("path", "operations", "common"),
    [
        ("deployments", {"get": "listAppsV1DeploymentForAllNamespaces"}, 12),
        (
            "namespaces/{namespace}/deployments/{name}/scale",
            {
                "get": "readAppsV1NamespacedDeploymentScale",
                "put": "replaceAppsV1NamespacedDeploymentScale",
                "patch": "patchAppsV1NamespacedDeploymentScale",
            },
            3,
        ),
        ("watch/namespaces/{namespace}/deployments", {"get": "watchAppsV1NamespacedDeploymentList"}, 13),
        (
            "namespaces/{namespace}/deployments",
            {
                "get": "listAppsV1NamespacedDeployment",
                "post": "createAppsV1NamespacedDeployment",
                "delete": "deleteAppsV1CollectionNamespacedDeployment",
            },
            2,
        ),
    ],
)
async def test_the_operations_of_an_address(path: str, operations: dict[str, str], common: int) -> None:
    document = json.loads((await ask(Server(), "/openapi/v3/apis/apps/v1")).body)
    found = document["paths"][f"/apis/apps/v1/{path}"]
    assert len(found.pop("parameters")) == common
    assert {method: each["operationId"] for method, each in found.items()} == operations


async def test_version_2_says_the_same_in_other_words() -> None:
    document = json.loads((await ask(Server(), "/openapi/v2", accept="application/json")).body)
    assert set(references(document)) <= document["definitions"].keys()
    patch = document["paths"]["/api/v1/nodes/{name}"]["patch"]
    assert [each["name"] for each in patch["parameters"]][:3] == ["body", "dryRun", "fieldManager"]
    assert "application/strategic-merge-patch+json" in patch["consumes"]
    assert document["definitions"]["io.k8s.apimachinery.pkg.api.resource.Quantity"]["type"] == "string"


async def test_kubectl_is_told_what_metadata_is() -> None:
    document = json.loads((await ask(Server(), "/openapi/v3/apis/apps/v1")).body)
    fields = document["components"]["schemas"]["io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"]["properties"]
    assert [name for name, field in fields.items() if not field["description"].endswith(".")] == []

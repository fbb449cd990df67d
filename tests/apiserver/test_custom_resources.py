"""Definitions and their objects, from the definition to what clients see."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import msgspec
import pytest

from trimtab.apiserver.messages import Request, Response
from trimtab.apiserver.server import ADMIN, Server

Json = dict[str, Any]
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
WINGS = "/apis/mythology.trimtab.dev/v1/namespaces/default/wings"
SCHEMA = {
    "type": "object",
    "properties": {
        "spec": {
            "type": "object",
            "required": ["span"],
            "properties": {
                "span": {"type": "integer", "minimum": 1},
                "color": {"type": "string", "default": "white"},
                "replicas": {"type": "integer"},
            },
            "x-kubernetes-validations": [{"rule": "self.span >= oldSelf.span", "message": "wings do not shrink"}],
        },
        "status": {"type": "object", "properties": {"replicas": {"type": "integer"}, "phase": {"type": "string"}}},
    },
}
DEFINITION: Json = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "wings.mythology.trimtab.dev"},
    "spec": {
        "group": "mythology.trimtab.dev",
        "names": {"plural": "wings", "kind": "Wing", "shortNames": ["wg"]},
        "scope": "Namespaced",
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {"openAPIV3Schema": SCHEMA},
                "subresources": {
                    "status": {},
                    "scale": {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"},
                },
                "additionalPrinterColumns": [{"name": "Span", "type": "integer", "jsonPath": ".spec.span"}],
                "selectableFields": [{"jsonPath": ".spec.color"}],
            }
        ],
    },
}


class Asking:
    def __init__(self, server: Server) -> None:
        self.server = server

    async def __call__(self, method: str, path: str, body: Any = None, **headers: str) -> Json:
        path, _, query = path.partition("?")
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        data = b"" if body is None else msgspec.json.encode(body)
        answer = await self.server.handle(Request(method, path, query, named, data, ADMIN))
        assert isinstance(answer, Response)
        if not answer.body.startswith(b"{"):  # what is JSON is not always called so
            return {"code": answer.status, "text": answer.body.decode()}
        return {"code": answer.status, **msgspec.json.decode(answer.body), "headers": dict(answer.headers)}


async def test_kubectl_is_told_of_nothing_that_it_would_miss_where_anything_may_be() -> None:
    server = Server()
    asking = Asking(server)
    version = {**DEFINITION["spec"]["versions"][0], "selectableFields": [], "subresources": {}}
    version["schema"] = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    await asking("POST", DEFINITIONS, {**DEFINITION, "spec": {**DEFINITION["spec"], "versions": [version]}})
    told = (await asking("GET", "/openapi/v2"))["definitions"]["dev.trimtab.mythology.v1.Wing"]
    assert told.keys() == {"type", "x-kubernetes-group-version-kind"}
    server.close()


@pytest.fixture
async def ask() -> AsyncIterator[Asking]:
    server = Server()
    asking = Asking(server)
    assert (await asking("POST", DEFINITIONS, DEFINITION))["code"] == 201
    yield asking
    server.close()


def wing(name: str = "a", **spec: Any) -> Json:
    return {"apiVersion": "mythology.trimtab.dev/v1", "kind": "Wing", "metadata": {"name": name}, "spec": spec}


async def test_a_kind_is_served_with_its_definition_and_goes_with_it(ask: Asking) -> None:
    made = await ask("POST", WINGS, wing(span=2))
    assert (made["code"], made["spec"]) == (201, {"span": 2, "color": "white"})
    definition = await ask("GET", f"{DEFINITIONS}/wings.mythology.trimtab.dev")
    conditions = {each["type"]: each["status"] for each in definition["status"]["conditions"]}
    assert conditions == {"NamesAccepted": "True", "Established": "True"}
    resources = await ask("GET", "/apis/mythology.trimtab.dev/v1")
    assert [each["name"] for each in resources["resources"]] == ["wings", "wings/scale", "wings/status"]
    assert "apis/mythology.trimtab.dev/v1" in (await ask("GET", "/openapi/v3"))["paths"]
    schemas = (await ask("GET", "/openapi/v3/apis/mythology.trimtab.dev/v1"))["components"]["schemas"]
    assert "dev.trimtab.mythology.v1.Wing" in schemas
    await ask("DELETE", f"{DEFINITIONS}/wings.mythology.trimtab.dev")
    assert (await ask("GET", f"{WINGS}/a"))["code"] == 404
    assert (await ask("POST", DEFINITIONS, DEFINITION))["code"] == 201
    assert (await ask("GET", WINGS))["items"] == []


async def test_objects_are_checked_pruned_and_told_of(ask: Asking) -> None:
    made = await ask("POST", WINGS, wing(span=2, feathers=9))
    assert "feathers" not in made["spec"]
    assert 'unknown field \\"spec.feathers\\"' in made["headers"]["Warning"]
    strict = await ask("POST", f"{WINGS}?fieldValidation=Strict", wing("b", span=2, feathers=9))
    assert (strict["code"], strict["reason"]) == (400, "BadRequest")
    small = await ask("POST", WINGS, wing("b", span=0))
    assert (small["code"], small["details"]["causes"][0]["field"]) == (422, "spec.span")
    shrunk = await ask("PATCH", f"{WINGS}/a", {"spec": {"span": 1}}, content_type="application/merge-patch+json")
    assert (shrunk["code"], "wings do not shrink" in shrunk["message"]) == (422, True)
    strategic = await ask("PATCH", f"{WINGS}/a", {}, content_type="application/strategic-merge-patch+json")
    assert strategic["code"] == 415


async def test_status_and_scale_are_isolated(ask: Asking) -> None:
    merge = {"content_type": "application/merge-patch+json"}
    await ask("POST", WINGS, wing(span=2) | {"status": {"phase": "made up"}})
    changed = await ask("PATCH", f"{WINGS}/a", {"spec": {"span": 3}, "status": {"phase": "no"}}, **merge)
    assert (changed["metadata"]["generation"], "status" in changed) == (2, False)
    status = await ask("PATCH", f"{WINGS}/a/status", {"spec": {"span": 9}, "status": {"phase": "Flying"}}, **merge)
    assert (status["spec"]["span"], status["status"], status["metadata"]["generation"]) == (3, {"phase": "Flying"}, 2)
    scale = await ask("PATCH", f"{WINGS}/a/scale", {"spec": {"replicas": 4}}, **merge)
    assert (scale["kind"], scale["spec"]) == ("Scale", {"replicas": 4})
    assert (await ask("GET", f"{WINGS}/a"))["spec"]["replicas"] == 4


async def test_they_are_applied_selected_and_printed(ask: Asking) -> None:
    apply = {"content_type": "application/apply-patch+yaml"}
    made = await ask("PATCH", f"{WINGS}/a?fieldManager=me", wing(span=2), **apply)
    (entry,) = made["metadata"]["managedFields"]
    assert (made["code"], entry["fieldsV1"]) == (201, {"f:spec": {"f:span": {}}})
    await ask("POST", WINGS, wing("b", span=3, color="black"))
    listed = await ask("GET", f"{WINGS}?fieldSelector=spec.color%3Dblack")
    assert [each["metadata"]["name"] for each in listed["items"]] == ["b"]
    assert (await ask("GET", f"{WINGS}?fieldSelector=spec.span%3D3"))["code"] == 400
    table = await ask("GET", WINGS, accept="application/json;as=Table;v=v1;g=meta.k8s.io")
    assert [row["cells"] for row in table["rows"]] == [["a", 2], ["b", 3]]
    stale = await ask("PUT", f"{WINGS}/a", wing(span=3))
    assert (stale["code"], stale["details"]["causes"][0]["field"]) == (422, "metadata.resourceVersion")


def with_version(name: str, **changes: Any) -> Json:
    """The definition with another version, in which objects are stored from now on."""
    first = DEFINITION["spec"]["versions"][0]
    schema = {**SCHEMA, "properties": {**SCHEMA["properties"], "note": {"type": "string", "default": "none"}}}
    second = {**first, "name": name, "schema": {"openAPIV3Schema": schema}, **changes}
    return {**DEFINITION, "spec": {**DEFINITION["spec"], "versions": [{**first, "storage": False}, second]}}


async def test_an_object_is_there_in_each_version_with_the_defaults_of_that_in_which_it_is_stored(ask: Asking) -> None:
    await ask("POST", WINGS, wing(span=2))
    definition = f"{DEFINITIONS}/wings.mythology.trimtab.dev"
    patch = {"spec": {"versions": with_version("v2")["spec"]["versions"]}}
    changed = await ask("PATCH", definition, patch, content_type="application/merge-patch+json")
    assert (changed["code"], changed["status"]["storedVersions"]) == (200, ["v1", "v2"])
    second = WINGS.replace("/v1/", "/v2/")
    shown = await ask("GET", f"{second}/a")
    assert (shown["apiVersion"], shown["spec"]["color"]) == ("mythology.trimtab.dev/v2", "white")
    assert "note" not in shown
    later = wing("b", span=2) | {"apiVersion": "mythology.trimtab.dev/v2"}
    assert (await ask("POST", second, later))["note"] == "none"
    listed = await ask("GET", second)
    assert [(each["apiVersion"], each.get("note")) for each in listed["items"]] == [
        (shown["apiVersion"], None),
        (shown["apiVersion"], "none"),
    ]
    assert "note" not in await ask("GET", f"{WINGS}/b")
    group = await ask("GET", "/apis/mythology.trimtab.dev")
    assert group["preferredVersion"]["version"] == "v2"
    merge = {"content_type": "application/merge-patch+json"}
    written = await ask("PATCH", f"{second}/a", {"spec": {"span": 5}, "note": "mine"}, **merge)
    assert (written["code"], written["note"], written["metadata"]["generation"]) == (200, "mine", 2)

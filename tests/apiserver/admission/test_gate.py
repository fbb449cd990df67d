"""What holds a write back, or changes it, in the server inside: policies, Services as webhooks, and who is exempt."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from hooked_script import ALL_CMS, bound, config_map, hook, policy
from hooks_server import Webhook

from trimtab.apiserver.messages import Request, Response
from trimtab.apiserver.server import ADMIN, Server

Json = dict[str, Any]
CMS = "/api/v1/namespaces/default/configmaps"
HERE = {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "default"}}}


class Asking:
    def __init__(self) -> None:
        self.server = Server()

    async def __call__(self, method: str, path: str, body: Any = None) -> tuple[int, Json]:
        data = b"" if body is None else json.dumps(body).encode()
        where, _, query = path.partition("?")
        answer = await self.server.handle(
            Request(method, where, query, {"content-type": "application/json"}, data, ADMIN)
        )
        assert isinstance(answer, Response)
        return answer.status, json.loads(answer.body)


@pytest.fixture
def webhook() -> Iterator[Webhook]:
    made = Webhook()
    yield made
    made.close()


def configured(webhook: Webhook, given: Json) -> Json:
    return json.loads(json.dumps(given).replace("{hook}", webhook.url).replace("{bundle}", webhook.bundle))


async def test_policies_check_with_parameters_and_variables() -> None:
    ask = Asking()
    await ask("POST", CMS, config_map("limits", {"longest": "3"}))
    rule = {
        "expression": "variables.size <= int(params.data.longest)",
        "messageExpression": "'a has ' + string(variables.size) + ' characters'",
    }
    match = {"resourceRules": [{**ALL_CMS, "operations": ["CREATE", "UPDATE"]}], **HERE}
    given = policy(
        "p", rule, variables=[{"name": "size", "expression": "size(object.data.a)"}], matchConstraints=match,
        paramKind={"apiVersion": "v1", "kind": "ConfigMap"},
    )  # fmt: skip
    ref = {"name": "limits", "namespace": "default", "parameterNotFoundAction": "Deny"}
    for method, path, body in (given, bound("b", "p", paramRef=ref)):
        assert (await ask(method, path, body))[0] == 201
    assert (await ask("POST", CMS, config_map("short", {"a": "abc"})))[0] == 201
    status, refused = await ask("POST", CMS, config_map("long", {"a": "abcd"}))
    assert (status, refused["reason"]) == (422, "Invalid")
    assert refused["message"].endswith("denied request: a has 4 characters")
    await ask("DELETE", f"{CMS}/limits")
    status, refused = await ask("POST", CMS, config_map("other", {"a": "a"}))
    assert status == 422
    assert "no params found for policy binding" in refused["message"]


async def test_who_asks_is_known_to_expressions() -> None:
    ask = Asking()
    rule = {"expression": "authorizer.requestResource.check('delete').allowed() && request.userInfo.username != ''"}
    match = {"resourceRules": [ALL_CMS], **HERE}
    for method, path, body in (policy("p", rule, matchConstraints=match), bound("b", "p")):
        await ask(method, path, body)
    assert (await ask("POST", CMS, config_map("a")))[0] == 201


async def test_nobody_can_lock_everybody_out(webhook: Webhook) -> None:
    """A webhook that refuses everything does not see its own configuration, which can be deleted."""
    ask = Asking()
    everything = {"operations": ["*"], "apiGroups": ["*"], "apiVersions": ["*"], "resources": ["*/*"]}
    given = configured(webhook, hook("all", "deny", rules=[everything], namespaceSelector={}))
    where = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"
    assert (await ask("POST", where, {"metadata": {"name": "c"}, "webhooks": [given]}))[0] == 201
    assert (await ask("POST", CMS, config_map("a")))[0] == 400
    assert (await ask("POST", "/api/v1/namespaces", {"metadata": {"name": "n"}}))[0] == 400
    assert (await ask("DELETE", f"{where}/c"))[0] == 200
    assert (await ask("POST", CMS, config_map("a")))[0] == 201


async def test_a_service_is_found_through_its_endpoints(webhook: Webhook) -> None:
    ask = Asking()
    port = int(webhook.url.rpartition(":")[2])
    service = {"metadata": {"name": "svc"}, "spec": {"ports": [{"port": 443}]}}
    assert (await ask("POST", "/api/v1/namespaces/default/services", service))[0] == 201
    client = {"service": {"namespace": "default", "name": "svc", "path": "/deny/message"}, "caBundle": "{bundle}"}
    given = configured(webhook, hook("s", "", clientConfig=client, **HERE))
    where = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"
    assert (await ask("POST", where, {"metadata": {"name": "c"}, "webhooks": [given]}))[0] == 201
    _, refused = await ask("POST", CMS, config_map("a"))
    assert 'no endpoints available for service "svc"' in refused["message"]
    subset = {"addresses": [{"ip": "10.1.2.3"}], "ports": [{"port": port}]}
    endpoints = {"metadata": {"name": "svc"}, "subsets": [subset]}
    assert (await ask("POST", "/api/v1/namespaces/default/endpoints", endpoints))[0] == 201
    store = ask.server.store  # Kubernetes takes no address of loopback, and a test has no other
    there = store.get("endpoints", "default/svc")
    assert there is not None
    data = there.data.replace(b"10.1.2.3", b"127.0.0.1")
    store.commit("endpoints", "default/svc", data, expected=there.revision)
    _, refused = await ask("POST", CMS, config_map("a"))
    assert "failed to verify certificate" in refused["message"]  # it was reached: its certificate is for 127.0.0.1


async def test_many_writes_wait_for_their_webhooks_together(webhook: Webhook) -> None:
    ask = Asking()
    given = configured(webhook, hook("m", "label/k=v", **HERE))
    where = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations"
    await ask("POST", where, {"metadata": {"name": "c"}, "webhooks": [given]})
    made = await asyncio.gather(*(ask("POST", CMS, config_map(f"a{n}")) for n in range(20)))
    assert {(status, obj["metadata"]["labels"]["k"]) for status, obj in made} == {(201, "v")}

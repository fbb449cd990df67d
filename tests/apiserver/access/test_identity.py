"""Nodes that their own Pods may be, and tokens that end with what they are bound to."""

from __future__ import annotations

import json
from typing import Any

from trimtab.apiserver.messages import Request, Response, User
from trimtab.apiserver.server import ADMIN, Server

Json = dict[str, Any]
RBAC = "/apis/rbac.authorization.k8s.io/v1"
PODS = "/api/v1/namespaces/default/pods"
ACCOUNTS = "/api/v1/namespaces/default/serviceaccounts"


class Asking:
    def __init__(self) -> None:
        self.server = Server(plugins_off=["ServiceAccount"])

    async def __call__(
        self, method: str, path: str, body: Any = None, *, token: str = "", as_: str = ""
    ) -> tuple[int, Json]:
        data = b"" if body is None else json.dumps(body).encode()
        headers = {"content-type": "application/json"}
        headers |= {"authorization": f"Bearer {token}"} if token else {}
        headers |= {"impersonate-user": as_} if as_ else {}
        user: User | None = None if token else ADMIN
        answer = await self.server.handle(Request(method, path, "", headers, data, user))
        assert isinstance(answer, Response)
        return answer.status, json.loads(answer.body)

    async def may(self, subject: Json, name: str, *rules: Json) -> None:
        assert (await self("POST", f"{RBAC}/clusterroles", {"metadata": {"name": name}, "rules": rules}))[0] == 201
        ref = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name}
        bound = {"metadata": {"name": name}, "roleRef": ref, "subjects": [subject]}
        assert (await self("POST", f"{RBAC}/clusterrolebindings", bound))[0] == 201

    async def pod_with_token(self) -> str:
        """A Pod on node `n` of account `a`, and its token."""
        assert (await self("POST", ACCOUNTS, {"metadata": {"name": "a"}}))[0] == 201
        spec = {"serviceAccountName": "a", "nodeName": "n", "containers": [{"name": "m", "image": "i"}]}
        status, made = await self("POST", PODS, {"metadata": {"name": "p"}, "spec": spec})
        assert status == 201, made
        bound = {"spec": {"boundObjectRef": {"kind": "Pod", "apiVersion": "v1", "name": "p"}}}
        _, answer = await self("POST", f"{ACCOUNTS}/a/token", bound)
        return answer["status"]["token"]


async def test_who_may_be_the_node_that_they_are_on_may_be_no_other() -> None:
    ask = Asking()
    token = await ask.pod_with_token()
    await ask.may(
        {"kind": "ServiceAccount", "name": "a", "namespace": "default"},
        "on-their-node",
        {"apiGroups": ["authentication.k8s.io"], "resources": ["nodes"], "verbs": ["impersonate:associated-node"]},
        {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["impersonate-on:associated-node:list"]},
    )
    await ask.may(
        {"kind": "Group", "name": "system:nodes"},
        "nodes",
        {"apiGroups": [""], "resources": ["configmaps", "secrets"], "verbs": ["list"]},
    )
    cms = "/api/v1/namespaces/default/configmaps"
    assert (await ask("GET", cms, token=token, as_="system:node:n"))[0] == 200
    for path, node in ((cms, "system:node:m"), ("/api/v1/namespaces/default/secrets", "system:node:n")):
        status, refused = await ask("GET", path, token=token, as_=node)
        assert (status, refused["reason"]) == (403, "Forbidden")


async def test_a_token_ends_with_the_pod_that_it_is_bound_to() -> None:
    ask = Asking()
    token = await ask.pod_with_token()
    whoami = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
    _, me = await ask("POST", whoami, {}, token=token)
    assert me["status"]["userInfo"]["extra"]["authentication.kubernetes.io/node-name"] == ["n"]
    await ask("DELETE", f"{PODS}/p", {"gracePeriodSeconds": 0})
    assert (await ask("POST", whoami, {}, token=token))[0] == 401
    _, review = await ask("POST", "/apis/authentication.k8s.io/v1/tokenreviews", {"spec": {"token": token}})
    assert review["status"]["error"] == "[invalid bearer token, service account token has been invalidated]"

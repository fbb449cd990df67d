"""Whatever stands in a token, a header of impersonation, a role or a policy: the answer is a Status, never a 500."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from trimtab.apiserver.messages import Request, Response
from trimtab.apiserver.server import ADMIN, Server

RBAC = "/apis/rbac.authorization.k8s.io/v1"
POLICIES = "/apis/admissionregistration.k8s.io/v1"
TEXT = st.text(max_size=20)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=8,
)


def answer(server: Server, method: str, path: str, body: Any = None, user: Any = ADMIN, **headers: str) -> Response:
    data = b"" if body is None else json.dumps(body).encode()
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    found = asyncio.run(
        server.handle(Request(method, path, "", {"content-type": "application/json", **named}, data, user))
    )
    assert isinstance(found, Response)
    assert found.status != 500, found.body
    json.loads(found.body)
    return found


@settings(max_examples=30, deadline=None)
@given(st.lists(st.text(alphabet="abzAZ09-_=. \u00e9{}\x00", max_size=30) | TEXT, max_size=4))
def test_tokens(parts: list[str]) -> None:
    server = Server()
    account = "/api/v1/namespaces/default/serviceaccounts"
    answer(server, "POST", account, {"metadata": {"name": "a"}})
    good = json.loads(answer(server, "POST", f"{account}/a/token", {}).body)["status"]["token"]
    head, body, signature = good.split(".")
    for token in (
        ".".join(parts),
        f"{head}.{body}.{parts[0] if parts else ''}",
        f"{head}.{''.join(parts)}.{signature}",
    ):
        found = answer(server, "GET", "/api/v1/namespaces", user=None, authorization=f"Bearer {token}")
        assert found.status == 401
        review = {"spec": {"token": token, "audiences": parts}}
        answer(server, "POST", "/apis/authentication.k8s.io/v1/tokenreviews", review)


@settings(max_examples=30, deadline=None)
@given(TEXT, TEXT, TEXT)
def test_impersonation(name: str, group: str, extra: str) -> None:
    headers = {"impersonate_user": name, "impersonate_group": group, f"impersonate-extra-{extra}": extra}
    answer(Server(), "GET", "/api/v1/namespaces", **headers)


@settings(max_examples=30, deadline=None)
@given(st.dictionaries(st.sampled_from(["verbs", "apiGroups", "resources", "nonResourceURLs"]), JSON), JSON, JSON)
def test_roles_and_policies(rule: dict[str, Any], anything: Any, other: Any) -> None:
    server = Server()
    answer(server, "POST", f"{RBAC}/clusterroles", {"metadata": {"name": "r"}, "rules": [rule]})
    answer(server, "POST", f"{RBAC}/clusterroles", {"metadata": {"name": "s"}, "aggregationRule": anything})
    ref = {"kind": "ClusterRole", "name": "r", "apiGroup": "rbac.authorization.k8s.io"}
    subjects = [{"kind": "User", "name": "u"}, anything]
    answer(
        server, "POST", f"{RBAC}/clusterrolebindings", {"metadata": {"name": "r"}, "roleRef": ref, "subjects": subjects}
    )
    spec = {"matchConstraints": {"resourceRules": [rule], "objectSelector": other}, "validations": [anything]}
    spec |= {"variables": [other, {"expression": "1"}]}
    answer(server, "POST", f"{POLICIES}/validatingadmissionpolicies", {"metadata": {"name": "p"}, "spec": spec})
    bound = {"policyName": "p", "validationActions": anything, "paramRef": other}
    answer(server, "POST", f"{POLICIES}/validatingadmissionpolicybindings", {"metadata": {"name": "b"}, "spec": bound})
    hook = {
        "name": "h",
        "clientConfig": {"url": "https://[", "caBundle": "AA=="},
        "rules": [rule],
        "matchConditions": other,
    }
    hook |= {"failurePolicy": "Ignore"}
    where = f"{POLICIES}/validatingwebhookconfigurations"
    answer(server, "POST", where, {"metadata": {"name": "c"}, "webhooks": [hook]})
    answer(server, "POST", "/api/v1/namespaces/default/configmaps", {"metadata": {"name": "c"}})
    answer(server, "GET", "/api/v1/nodes", impersonate_user="u")

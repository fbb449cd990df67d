"""What is asked of a server about who may do what, one request after the other: (who, method, path, body, headers).

`recording.py` asks a real API server, and keeps what it answered in `data/answers.json`; `test_parity.py` asks ours.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

Json = dict[str, Any]
Step = tuple[str, str, str, Any, dict[str, str]]

USERS = {"alice": ("dev",), "bob": ("none",), "carol": ("ops",)}
RBAC = "/apis/rbac.authorization.k8s.io/v1"
AUTHORIZATION = "/apis/authorization.k8s.io/v1"
AUTHENTICATION = "/apis/authentication.k8s.io/v1"


def ask(who: str, method: str, path: str, body: Any = None, **headers: str) -> Step:
    return who, method, path, body, {name.replace("_", "-"): value for name, value in headers.items()}


def role(name: str, *rules: Json, cluster: bool = False, **more: Any) -> Json:
    kind = "ClusterRole" if cluster else "Role"
    return {
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": kind, "metadata": {"name": name}, "rules": rules, **more,
    }  # fmt: skip


def rule(verbs: str, resources: str, group: str = "", **more: Any) -> Json:
    return {"verbs": verbs.split(), "resources": resources.split(), "apiGroups": [group], **more}


def binding(name: str, to: Json, *subjects: Json, cluster: bool = False) -> Json:
    return {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRoleBinding" if cluster else "RoleBinding",
        "metadata": {"name": name},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", **to},
        "subjects": subjects,
    }


def user(name: str) -> Json:
    return {"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": name}


def group(name: str) -> Json:
    return {"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": name}


def account(name: str, namespace: str = "default") -> Json:
    return {"kind": "ServiceAccount", "name": name, "namespace": namespace}


def review(kind: str, group: str = "authorization", **spec: Any) -> Json:
    return {"apiVersion": f"{group}.k8s.io/v1", "kind": kind, "spec": spec}


def config_map(name: str, **metadata: Any) -> Json:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, **metadata}}


CMS = "/api/v1/namespaces/default/configmaps"


def steps() -> Iterator[Step]:
    yield from strangers()
    yield from refused()
    yield from bindings()
    yield from escalations()
    yield from reviews()
    yield from impersonations()
    yield from tokens()
    yield from lifecycle()


def strangers() -> Iterator[Step]:
    yield ask("", "GET", CMS)
    yield ask("", "GET", "/version")
    yield ask("", "GET", CMS, Authorization="Bearer nobody")
    yield ask("", "GET", CMS, Authorization="Bearer a.b.c")
    yield ask("", "GET", CMS, Authorization="Bearer eyJhbGciOiJub25lIn0.e30.")
    yield ask("", "GET", CMS, Authorization="Basic YTpi")
    yield ask("", "GET", CMS, Authorization="Bearer")


def refused() -> Iterator[Step]:
    """The words of a refusal, for all that a request can be about."""
    pods = "/api/v1/namespaces/default/pods"
    for method, path in (
        ("GET", pods), ("GET", pods + "?watch=1"), ("GET", "/api/v1/pods"), ("GET", pods + "/a"), ("POST", pods),
        ("PUT", pods + "/a"), ("PATCH", pods + "/a"), ("DELETE", pods + "/a"), ("DELETE", pods),
        ("GET", pods + "/a/status"), ("GET", pods + "/a/log"), ("GET", "/api/v1/nodes"), ("GET", "/api/v1/nodes/n"),
        ("GET", "/api/v1/namespaces/default"), ("GET", "/api/v1/namespaces"), ("DELETE", "/api/v1/namespaces/default"),
        ("PUT", "/api/v1/namespaces/default/finalize"), ("GET", "/apis/apps/v1/deployments"),
        ("PATCH", "/apis/apps/v1/namespaces/n/deployments/d/scale"), ("GET", "/apis/nobody.example/v1/things"),
        ("GET", "/apis/nobody.example/v1/namespaces/n/things/a"), ("GET", "/api/v1/nothings"), ("GET", "/metrics"),
        ("GET", "/version"), ("GET", "/api"), ("GET", "/apis"), ("GET", "/healthz"), ("GET", "/nothing/at/all"),
        ("POST", "/version"), ("GET", "/openapi/v2x"), ("GET", "/logs/"), ("GET", "/api/v2/things"),
        ("GET", "/apis/apps/v1"), ("GET", "/apis/nobody.example/v1"), ("GET", "/apis/nobody.example"),
        ("GET", pods + "?fieldSelector=metadata.name%3Da"), ("GET", "/api/v1/watch/pods"),
    ):  # fmt: skip
        yield ask("bob", method, path, {} if method in ("POST", "PUT", "PATCH") else None)


def bindings() -> Iterator[Step]:
    roles, bound = f"{RBAC}/namespaces/default/roles", f"{RBAC}/namespaces/default/rolebindings"
    cluster, everywhere = f"{RBAC}/clusterroles", f"{RBAC}/clusterrolebindings"
    yield ask("admin", "POST", roles, role("reader", rule("get list", "configmaps"), rule("create", "configmaps")))
    yield ask("admin", "POST", bound, binding("read", {"kind": "Role", "name": "reader"}, user("alice")))
    yield ask("alice", "POST", CMS, config_map("a"))
    yield ask("alice", "GET", CMS + "/a")
    yield ask("alice", "PUT", CMS + "/a", config_map("a"))
    yield ask("alice", "GET", "/api/v1/namespaces/kube-system/configmaps")
    yield ask("alice", "GET", "/api/v1/configmaps")
    yield ask(
        "admin",
        "POST",
        roles,
        role("named", rule("update", "configmaps", resourceNames=["a"]), rule("get", "*/status", "*")),
    )
    yield ask("admin", "POST", bound, binding("named", {"kind": "Role", "name": "named"}, group("dev")))
    yield ask("alice", "PUT", CMS + "/a", config_map("a", labels={"x": "y"}))
    yield ask("alice", "PUT", CMS + "/b", config_map("b"))
    yield ask("alice", "PATCH", CMS + "/a", {}, Content_Type="application/merge-patch+json")
    yield ask("alice", "GET", "/apis/apps/v1/namespaces/default/deployments/d/status")
    yield ask("alice", "GET", "/apis/apps/v1/namespaces/default/deployments/d")
    yield ask(
        "admin",
        "POST",
        cluster,
        role("pages", {"verbs": ["get"], "nonResourceURLs": ["/metrics", "/nothing/*"]}, cluster=True),
    )
    yield ask(
        "admin",
        "POST",
        everywhere,
        binding("pages", {"kind": "ClusterRole", "name": "pages"}, user("alice"), cluster=True),
    )
    yield ask("alice", "GET", "/nothing/here")
    yield ask("alice", "POST", "/nothing/here", {})
    yield ask("alice", "GET", "/nothing")
    # what cannot be
    yield ask("admin", "PUT", f"{bound}/read", binding("read", {"kind": "Role", "name": "named"}, user("alice")))
    yield ask("admin", "POST", bound, binding("x", {"kind": "Thing", "name": "named"}, user("alice")))
    yield ask("admin", "POST", bound, binding("x", {"kind": "Role", "name": ""}, {"kind": "User", "name": ""}))
    yield ask(
        "admin",
        "POST",
        bound,
        binding(
            "x", {"kind": "Role", "name": "r"}, {"kind": "Cat", "name": "t"}, {"kind": "ServiceAccount", "name": "s"}
        ),
    )
    yield ask("admin", "POST", roles, role("x", {"verbs": [], "resources": ["pods"], "apiGroups": [""]}))
    yield ask("admin", "POST", roles, role("x", {"verbs": ["get"], "nonResourceURLs": ["/x"]}))
    yield ask("admin", "POST", roles, role("x", {"verbs": ["get"], "resources": ["pods"]}))
    yield ask(
        "admin",
        "POST",
        cluster,
        role(
            "x", {"verbs": ["get"], "nonResourceURLs": ["/x"], "resources": ["pods"], "apiGroups": [""]}, cluster=True
        ),
    )
    yield ask(
        "admin",
        "POST",
        everywhere,
        binding("gone", {"kind": "ClusterRole", "name": "gone"}, user("carol"), cluster=True),
    )
    yield ask("carol", "GET", "/api/v1/nodes")
    yield ask("admin", "DELETE", f"{everywhere}/gone")


def escalations() -> Iterator[Step]:
    cluster, everywhere = f"{RBAC}/clusterroles", f"{RBAC}/clusterrolebindings"
    mine = rule(
        "create update patch get delete",
        "roles rolebindings clusterroles clusterrolebindings",
        "rbac.authorization.k8s.io",
    )
    yield ask("admin", "POST", cluster, role("granter", mine, cluster=True))
    yield ask(
        "admin",
        "POST",
        everywhere,
        binding("granter", {"kind": "ClusterRole", "name": "granter"}, user("alice"), cluster=True),
    )
    roles, bound = f"{RBAC}/namespaces/default/roles", f"{RBAC}/namespaces/default/rolebindings"
    yield ask("alice", "POST", roles, role("mine", rule("get", "configmaps")))
    yield ask("alice", "POST", roles, role("more", rule("get list watch", "secrets pods")))
    yield ask("alice", "POST", roles, role("more", rule("*", "*", "*")))
    yield ask("alice", "POST", roles, role("more", rule("get delete", "configmaps", resourceNames=["a", "b"])))
    yield ask(
        "alice",
        "POST",
        cluster,
        role(
            "more", rule("get", "configmaps"), {"verbs": ["get"], "nonResourceURLs": ["/metrics", "/x"]}, cluster=True
        ),
    )
    yield ask("alice", "PUT", f"{roles}/mine", role("mine", rule("get", "secrets")))
    yield ask("alice", "PUT", f"{roles}/mine", role("mine", rule("get", "configmaps"), rule("list", "configmaps")))
    yield ask(
        "alice",
        "PATCH",
        f"{roles}/mine",
        [{"op": "replace", "path": "/rules", "value": [rule("get", "nodes")]}],
        Content_Type="application/json-patch+json",
    )
    yield ask("alice", "POST", bound, binding("mine", {"kind": "Role", "name": "mine"}, user("bob")))
    yield ask("alice", "POST", bound, binding("more", {"kind": "ClusterRole", "name": "cluster-admin"}, user("alice")))
    yield ask("alice", "POST", bound, binding("none", {"kind": "ClusterRole", "name": "nothing"}, user("alice")))
    yield ask(
        "alice",
        "POST",
        everywhere,
        binding("none", {"kind": "ClusterRole", "name": "granter"}, user("bob"), cluster=True),
    )
    yield ask(
        "alice",
        "POST",
        everywhere,
        binding("more", {"kind": "ClusterRole", "name": "cluster-admin"}, user("bob"), cluster=True),
    )
    yield ask(
        "admin",
        "POST",
        cluster,
        role("escalator", rule("escalate bind", "roles clusterroles", "rbac.authorization.k8s.io"), cluster=True),
    )
    yield ask(
        "admin",
        "POST",
        everywhere,
        binding("escalator", {"kind": "ClusterRole", "name": "escalator"}, user("alice"), cluster=True),
    )
    yield ask("alice", "POST", roles, role("more", rule("get list watch", "secrets pods")))
    yield ask("alice", "POST", bound, binding("more", {"kind": "Role", "name": "more"}, user("alice")))
    yield ask("admin", "DELETE", f"{everywhere}/escalator")


def reviews() -> Iterator[Step]:
    selfs = f"{AUTHORIZATION}/selfsubjectaccessreviews"
    about = {"verb": "list", "resource": "configmaps", "namespace": "default"}
    yield ask("alice", "POST", selfs, review("SelfSubjectAccessReview", resourceAttributes=about))
    yield ask("bob", "POST", selfs, review("SelfSubjectAccessReview", resourceAttributes=about))
    yield ask("admin", "POST", selfs, review("SelfSubjectAccessReview", resourceAttributes=about))
    yield ask("alice", "POST", selfs, review("SelfSubjectAccessReview", resourceAttributes={**about, "namespace": ""}))
    yield ask("alice", "POST", selfs, review("SelfSubjectAccessReview", resourceAttributes={**about, "verb": "*"}))
    yield ask(
        "alice",
        "POST",
        selfs,
        review("SelfSubjectAccessReview", nonResourceAttributes={"path": "/metrics", "verb": "get"}),
    )
    yield ask(
        "alice",
        "POST",
        selfs,
        review("SelfSubjectAccessReview", nonResourceAttributes={"path": "/nope", "verb": "get"}),
    )
    yield ask("alice", "POST", selfs, review("SelfSubjectAccessReview"))
    yield ask(
        "alice",
        "POST",
        selfs,
        review("SelfSubjectAccessReview", resourceAttributes=about, nonResourceAttributes={"path": "/"}),
    )
    yield ask("alice", "POST", selfs + "?dryRun=All", review("SelfSubjectAccessReview", resourceAttributes=about))
    yield ask("alice", "GET", selfs)
    subjects = f"{AUTHORIZATION}/subjectaccessreviews"
    yield ask("alice", "POST", subjects, review("SubjectAccessReview", user="bob", resourceAttributes=about))
    yield ask("admin", "POST", subjects, review("SubjectAccessReview", user="bob", resourceAttributes=about))
    yield ask("admin", "POST", subjects, review("SubjectAccessReview", user="alice", resourceAttributes=about))
    yield ask(
        "admin",
        "POST",
        subjects,
        review(
            "SubjectAccessReview", user="x", groups=["dev"], resourceAttributes={**about, "verb": "update", "name": "a"}
        ),
    )
    yield ask(
        "admin",
        "POST",
        subjects,
        review(
            "SubjectAccessReview", user="x", groups=["system:masters"], resourceAttributes={**about, "verb": "update"}
        ),
    )
    yield ask("admin", "POST", subjects, review("SubjectAccessReview", resourceAttributes=about))
    local = f"{AUTHORIZATION}/namespaces/default/localsubjectaccessreviews"
    yield ask("admin", "POST", local, review("LocalSubjectAccessReview", user="alice", resourceAttributes=about))
    yield ask(
        "admin",
        "POST",
        local,
        review("LocalSubjectAccessReview", user="alice", resourceAttributes={**about, "namespace": "other"}),
    )
    yield ask(
        "admin", "POST", local, review("LocalSubjectAccessReview", user="alice", nonResourceAttributes={"path": "/"})
    )
    yield ask(
        "admin",
        "POST",
        local,
        {
            **review("LocalSubjectAccessReview", user="alice", resourceAttributes=about),
            "metadata": {"namespace": "default"},
        },
    )
    rules = f"{AUTHORIZATION}/selfsubjectrulesreviews"
    yield ask("alice", "POST", rules, review("SelfSubjectRulesReview", namespace="default"))
    yield ask("bob", "POST", rules, review("SelfSubjectRulesReview", namespace="default"))
    yield ask("admin", "POST", rules, review("SelfSubjectRulesReview", namespace="default"))
    yield ask("bob", "POST", rules, review("SelfSubjectRulesReview"))
    whoami = f"{AUTHENTICATION}/selfsubjectreviews"
    yield ask("alice", "POST", whoami, review("SelfSubjectReview", "authentication"))
    yield ask("bob", "POST", whoami, {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"})
    seen = f"{AUTHENTICATION}/tokenreviews"
    yield ask("alice", "POST", seen, review("TokenReview", "authentication", token="x"))
    yield ask("admin", "POST", seen, review("TokenReview", "authentication", token="x"))
    yield ask("admin", "POST", seen, review("TokenReview", "authentication", token=""))
    yield ask("admin", "POST", seen, review("TokenReview", "authentication", token="{token:alice}"))
    yield ask("admin", "POST", seen, review("TokenReview", "authentication", token="{token:alice}", audiences=["else"]))
    yield ask("admin", "GET", seen)


def impersonations() -> Iterator[Step]:
    whoami = f"{AUTHENTICATION}/selfsubjectreviews"
    me = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
    yield ask("admin", "POST", whoami, me, Impersonate_User="dave")
    yield ask("admin", "POST", whoami, me, Impersonate_User="dave", Impersonate_Group="ops")
    yield ask(
        "admin",
        "POST",
        whoami,
        me,
        Impersonate_User="dave",
        Impersonate_Uid="17",
        Impersonate_Extra_Scopes="a",
        Impersonate_Extra_acme_com_2fproject="p",
    )
    yield ask("admin", "POST", whoami, me, Impersonate_User="system:serviceaccount:default:robot")
    yield ask("admin", "POST", whoami, me, Impersonate_User="system:anonymous")
    yield ask("admin", "POST", whoami, me, Impersonate_Group="ops")
    yield ask("admin", "POST", whoami, me, Impersonate_Uid="ops")
    yield ask("admin", "GET", "/api/v1/nodes", Impersonate_User="dave")
    yield ask("admin", "GET", "/api/v1/nodes", Impersonate_User="dave", Impersonate_Group="system:masters")
    yield ask("bob", "GET", "/api/v1/nodes", Impersonate_User="dave")
    yield ask("bob", "GET", "/api/v1/nodes", Impersonate_User="system:serviceaccount:default:robot")
    cluster, everywhere = f"{RBAC}/clusterroles", f"{RBAC}/clusterrolebindings"
    may = rule("impersonate", "users", resourceNames=["dave"])
    more = [
        rule("impersonate", "serviceaccounts"), rule("impersonate", "groups", resourceNames=["ops"]),
        rule("impersonate", "userextras/scopes", "authentication.k8s.io", resourceNames=["a"]),
    ]  # fmt: skip
    yield ask("admin", "POST", cluster, role("imp", may, *more, cluster=True))
    yield ask(
        "admin", "POST", everywhere, binding("imp", {"kind": "ClusterRole", "name": "imp"}, user("carol"), cluster=True)
    )
    yield ask("carol", "POST", whoami, me, Impersonate_User="dave")
    yield ask("carol", "POST", whoami, me, Impersonate_User="erin")
    yield ask("carol", "POST", whoami, me, Impersonate_User="dave", Impersonate_Group="ops")
    yield ask("carol", "POST", whoami, me, Impersonate_User="dave", Impersonate_Group="system:masters")
    yield ask("carol", "POST", whoami, me, Impersonate_User="dave", Impersonate_Extra_Scopes="a")
    yield ask("carol", "POST", whoami, me, Impersonate_User="dave", Impersonate_Extra_Scopes="b")
    yield ask("carol", "POST", whoami, me, Impersonate_User="dave", Impersonate_Uid="17")
    yield ask("carol", "POST", whoami, me, Impersonate_User="system:serviceaccount:default:robot")


def tokens() -> Iterator[Step]:
    accounts = "/api/v1/namespaces/default/serviceaccounts"
    request = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest"}
    seen = f"{AUTHENTICATION}/tokenreviews"
    yield ask("admin", "POST", accounts, {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "robot"}})
    yield ask("bob", "POST", f"{accounts}/robot/token", {**request, "spec": {}})
    yield ask("admin", "POST", f"{accounts}/robot/token", {**request, "spec": {}})
    yield ask("admin", "POST", seen, review("TokenReview", "authentication", token="{last}"))
    yield ask(
        "last",
        "POST",
        f"{AUTHENTICATION}/selfsubjectreviews",
        {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"},
    )
    yield ask("last", "GET", CMS)
    yield ask(
        "admin",
        "POST",
        f"{RBAC}/namespaces/default/rolebindings",
        binding("robot", {"kind": "Role", "name": "reader"}, account("robot")),
    )
    yield ask("last", "GET", CMS)
    yield ask("admin", "POST", seen, review("TokenReview", "authentication", token="{last}", audiences=["other"]))
    yield ask(
        "admin",
        "POST",
        f"{accounts}/robot/token",
        {**request, "spec": {"audiences": ["vault"], "expirationSeconds": 700}},
    )
    yield ask("last", "GET", CMS)
    yield ask("admin", "POST", seen, review("TokenReview", "authentication", token="{last}"))
    yield ask("admin", "POST", seen, review("TokenReview", "authentication", token="{last}", audiences=["vault", "x"]))
    yield ask("admin", "POST", f"{accounts}/robot/token", {**request, "spec": {"expirationSeconds": 5}})
    yield ask("admin", "POST", f"{accounts}/robot/token", {**request, "spec": {"expirationSeconds": 99999999999}})
    yield ask("admin", "POST", f"{accounts}/nobody/token", {**request, "spec": {}})
    yield ask("admin", "POST", f"{accounts}/robot/token", {**request, "metadata": {"name": "other"}, "spec": {}})
    yield ask("admin", "POST", f"{accounts}/robot/token", {})
    yield ask("admin", "POST", f"{accounts}/robot/token", {"kind": "Pod", "apiVersion": "v1"})
    bound = {"kind": "Pod", "apiVersion": "v1", "name": "p"}
    yield ask("admin", "POST", f"{accounts}/robot/token", {**request, "spec": {"boundObjectRef": bound}})
    yield ask(
        "admin",
        "POST",
        f"{accounts}/robot/token",
        {**request, "spec": {"boundObjectRef": {**bound, "kind": "ConfigMap"}}},
    )
    yield ask(
        "admin",
        "POST",
        "/api/v1/namespaces/default/secrets",
        {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "held"}},
    )
    held = {"kind": "Secret", "apiVersion": "v1", "name": "held"}
    yield ask("admin", "POST", f"{accounts}/robot/token", {**request, "spec": {"boundObjectRef": {**held, "uid": "x"}}})
    yield ask("admin", "POST", f"{accounts}/robot/token", {**request, "spec": {"boundObjectRef": held}})
    yield ask("last", "GET", CMS)
    yield ask("admin", "DELETE", "/api/v1/namespaces/default/secrets/held")
    # now Kubernetes lets it through for ten seconds more, because it remembers tokens; we do not
    yield ask("admin", "POST", f"{accounts}/robot/token", {**request, "spec": {}})
    yield ask("admin", "DELETE", f"{accounts}/robot")
    yield ask("last", "GET", CMS)
    yield ask("admin", "POST", seen, review("TokenReview", "authentication", token="{last}"))


def lifecycle() -> Iterator[Step]:
    nowhere = "/api/v1/namespaces/nowhere/configmaps"
    yield ask("admin", "POST", nowhere, config_map("a"))
    yield ask("admin", "PUT", f"{nowhere}/a", config_map("a"))
    yield ask("admin", "DELETE", f"{nowhere}/a")
    for name in ("default", "kube-system", "kube-public", "kube-node-lease"):
        yield ask("admin", "DELETE", f"/api/v1/namespaces/{name}?dryRun=All")
    yield ask(
        "admin", "POST", "/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "going"}}
    )
    yield ask("admin", "POST", "/api/v1/namespaces/going/configmaps", config_map("there"))
    yield ask("admin", "DELETE", "/api/v1/namespaces/going")
    yield ask("admin", "POST", "/api/v1/namespaces/going/configmaps", config_map("a"))
    yield ask("admin", "PUT", "/api/v1/namespaces/going/configmaps/there", config_map("there", labels={"a": "b"}))
    yield ask(
        "admin",
        "POST",
        "/apis/apps/v1/namespaces/going/deployments",
        {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": "d"},
            "spec": {
                "selector": {"matchLabels": {"a": "b"}},
                "template": {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}},
            },
        },
    )

"""Short words for the steps and objects that most scripts have."""

from __future__ import annotations

from typing import Any

from tests.parity.playing import Step

CMS = "/api/v1/namespaces/$NS/configmaps"
SECRETS = "/api/v1/namespaces/$NS/secrets"
PODS = "/api/v1/namespaces/$NS/pods"
DEPLOYMENTS = "/apis/apps/v1/namespaces/$NS/deployments"
JSON_PATCH = {"Content-Type": "application/json-patch+json"}
MERGE = {"Content-Type": "application/merge-patch+json"}
STRATEGIC = {"Content-Type": "application/strategic-merge-patch+json"}
APPLY = {"Content-Type": "application/apply-patch+yaml"}


def get(path: str, **headers: str) -> Step:
    return Step("GET", path, None, {k.replace("_", "-"): v for k, v in headers.items()})


def post(path: str, body: Any, headers: dict[str, str] | None = None) -> Step:
    return Step("POST", path, body, headers or {})


def put(path: str, body: Any) -> Step:
    return Step("PUT", path, body)


def patch(path: str, body: Any, headers: dict[str, str] = MERGE) -> Step:
    return Step("PATCH", path, body, headers)


def delete(path: str, body: Any = None) -> Step:
    return Step("DELETE", path, body)


def cm(name: str = "a", data: dict[str, str] | None = None, **metadata: Any) -> dict[str, Any]:
    made: dict[str, Any] = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, **metadata}}
    if data is not None:
        made["data"] = data
    return made


def pod(name: str = "a", **metadata: Any) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, **metadata},
        "spec": {"containers": [{"name": "main", "image": "nginx"}]},
    }


def deployment(name: str = "a", replicas: int = 1, **metadata: Any) -> dict[str, Any]:
    labels = {"app": name}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, **metadata},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "main", "image": "nginx"}]}},
        },
    }

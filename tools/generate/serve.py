"""A real API server, and what it says of its kinds."""

from __future__ import annotations

import json
import ssl
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.client import HTTPSConnection
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import urlsplit

from served import Served, note_served

from trimtab.testing.binaries import DEFAULT_KUBERNETES
from trimtab.testing.components import MASTERS
from trimtab.testing.control_plane import ControlPlane
from trimtab.testing.waiting import wait_until

# What admission puts into an object is no default of its kind.
ADMISSION = (
    *("ServiceAccount", "Priority", "DefaultTolerationSeconds", "DefaultStorageClass", "RuntimeClass"),
    *("DefaultIngressClass", "LimitRanger", "TaintNodesByCondition"),
)
PLAIN = (f"--disable-admission-plugins={','.join(ADMISSION)}",)
ALL_APIS = ("--runtime-config=api/all=true", "--feature-gates=AllAlpha=true,AllBeta=true")


class Api:
    """An API server that runs, asked as an administrator over one connection."""

    def __init__(self, connection: HTTPSConnection) -> None:
        self._connection = connection
        self.warning = ""  # of the last answer to a question

    def ask(self, path: str, headers: Mapping[str, str] | None = None) -> tuple[int, Any]:
        """The status and the JSON of its answer."""
        self._connection.request("GET", path, headers={"Accept": "application/json", **(headers or {})})
        response = self._connection.getresponse()
        self.warning = (response.getheader("Warning") or "").removeprefix('299 - "').removesuffix('"')
        return response.status, json.loads(response.read())

    def create(self, path: str, obj: Any) -> tuple[int, Any]:
        """Create an object for a trial: the status and the JSON of the answer. It is not stored."""
        return self.post(f"{path}?dryRun=All", obj)

    def post(self, path: str, obj: Any) -> tuple[int, Any]:
        """Create an object: the status and the JSON of the answer."""
        return self._send("POST", path, obj)

    def put(self, path: str, obj: Any) -> tuple[int, Any]:
        """Replace an object: the status and the JSON of the answer."""
        return self._send("PUT", path, obj)

    def delete(self, path: str) -> tuple[int, Any]:
        """Delete an object: the status and the JSON of the answer."""
        return self._send("DELETE", path, None)

    def _send(self, method: str, path: str, obj: Any) -> tuple[int, Any]:
        body = None if obj is None else json.dumps(obj)
        self._connection.request(method, path, body, {"Content-Type": "application/json"})
        response = self._connection.getresponse()
        return response.status, json.loads(response.read())

    def get(self, path: str, headers: Mapping[str, str] | None = None) -> Any:
        """The JSON of an answer that has to be a good one."""
        status, answer = self.ask(path, headers)
        if status != 200:
            raise SystemExit(f"GET {path} was answered {status}: {answer}")
        return answer


@contextmanager
def api_server(*flags: str) -> Iterator[Api]:
    """Run the server, of one version whichever the tests run against."""
    with (
        ControlPlane(DEFAULT_KUBERNETES, flags={"kube-apiserver": flags}, announce=print) as plane,
        TemporaryDirectory() as folder,
    ):
        tls = ssl.create_default_context(cadata=plane.authority.certificate.decode())
        tls.load_cert_chain(*plane.authority.issue_client("generate", [MASTERS]).write(Path(folder), "generate"))
        api = Api(HTTPSConnection(urlsplit(plane.url).netloc, context=tls))
        version = api.get("/version")["gitVersion"]
        if version != f"v{DEFAULT_KUBERNETES}":
            raise SystemExit(
                f"the kube-apiserver found is {version}, not v{DEFAULT_KUBERNETES}: unset KUBEBUILDER_ASSETS"
            )
        # Each group publishes its schemas on its own, some a moment after the server is ready.
        wait_until(lambda: group_versions(api) <= api.get("/openapi/v3")["paths"].keys(), "the schemas of all groups")
        yield api


def group_versions(api: Api) -> set[str]:
    """All of them by path: `api/v1`, `apis/apps/v1`."""
    named = [v["groupVersion"] for group in api.get("/apis")["groups"] for v in group["versions"]]
    return {"api/v1", *(f"apis/{name}" for name in named)}


def documents(api: Api) -> dict[str, dict[str, Any]]:
    """The schemas by name, of each group-version by its path."""
    return {path: api.get(f"/openapi/v3/{path}")["components"]["schemas"] for path in sorted(group_versions(api))}


def pages(api: Api) -> Iterator[dict[str, Any]]:
    """The schemas by name of what is told about the server itself."""
    for path in ("api", "apis", "version"):
        yield api.get(f"/openapi/v3/{path}")["components"]["schemas"]


def discovered(api: Api) -> dict[str, list[dict[str, Any]]]:
    """The resources of each group-version by its path, as discovery lists them."""
    return {path: api.get(f"/{path}")["resources"] for path in sorted(group_versions(api))}


def read(api: Api) -> tuple[dict[str, Any], dict[tuple[str, str, str], Served]]:
    """All schemas by name, and for each (group, version, kind) what discovery says."""
    schemas: dict[str, Any] = {}
    served: dict[tuple[str, str, str], Served] = {}
    for document in documents(api).values():
        schemas.update(document)
    for path, resources in discovered(api).items():
        _, *group, version = path.split("/")
        note_served(served, "".join(group), version, resources)
    return dict(sorted(schemas.items())), served

"""A real API server that says everything: the status of an answer and its body, whatever they are."""

from __future__ import annotations

import http.client
import json
import ssl
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

from trimtab.testing.control_plane import ControlPlane

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


class Server:
    """One connection to it, as an administrator."""

    def __init__(self, plane: ControlPlane) -> None:
        self._headers = {"Authorization": f"Bearer {plane.token('recorder')}", "Content-Type": "application/json"}
        context = ssl.create_default_context(cadata=plane.authority.certificate.decode())
        where = urlsplit(plane.url)
        self._connection = http.client.HTTPSConnection(str(where.hostname), where.port, context=context)

    def ask(self, method: str, path: str, body: Any = None) -> tuple[int, Any, list[str]]:
        """Send a request: the status, the decoded body and the warnings that came back."""
        self._connection.request(method, path, None if body is None else json.dumps(body), self._headers)
        answer = self._connection.getresponse()
        warnings = answer.headers.get_all("Warning") or []
        return answer.status, json.loads(answer.read()), warnings

    def table(self, path: str, accept: str) -> Any:
        """Get something as a Table."""
        self._connection.request("GET", path, None, {**self._headers, "Accept": accept})
        return json.loads(self._connection.getresponse().read())

    def define(self, definition: dict[str, Any]) -> tuple[int, Any]:
        """Create a definition, and wait until its resources are served."""
        status, answer, _ = self.ask("POST", DEFINITIONS, definition)
        if status >= 400:
            return status, answer
        name = definition["metadata"]["name"]
        spec = definition["spec"]
        versions = [v["name"] for v in spec["versions"] if v["served"]]
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline:
            status, answer, _ = self.ask("GET", f"{DEFINITIONS}/{name}")
            conditions = {c["type"]: c["status"] for c in answer.get("status", {}).get("conditions") or ()}
            if conditions.get("Established") == "True" and all(self._serves(spec, version) for version in versions):
                return status, answer
            time.sleep(0.02)
        raise SystemExit(f"{name} was not served within 30 seconds")

    def _serves(self, spec: dict[str, Any], version: str) -> bool:
        path = f"/apis/{spec['group']}/{version}/{spec['names']['plural']}"
        return self.ask("GET", path)[0] == 200


@contextmanager
def serving() -> Iterator[Server]:
    """Start a control plane of its own."""
    with ControlPlane(users={"recorder": ["system:masters"]}) as plane:
        yield Server(plane)

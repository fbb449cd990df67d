"""Webhooks as scripts need them: a server on loopback that does what the last part of its path says.

Path: /label of the API server/namespace of the script/behaviour. It remembers what it was asked.
"""

from __future__ import annotations

import base64
import json
import ssl
import threading
import time
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from trimtab.pki import CertificateAuthority


class Hooks:
    """Serves until the end of its context."""

    def __init__(self, folder: Path) -> None:
        authority = CertificateAuthority.create()
        certificate, key = authority.issue_server("127.0.0.1", "localhost").write(folder, "hooks")
        self.bundle = base64.b64encode(authority.certificate).decode()
        self._asked: dict[tuple[str, str], list[Any]] = {}
        self._lock = threading.Lock()
        hooks = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                status, answer = hooks.answer(self.path, body)
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(answer)))
                with suppress(OSError):  # who waited no longer
                    self.end_headers()
                    self.wfile.write(answer)

            def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name is the base's
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, key)
        self._server.socket = context.wrap_socket(self._server.socket, server_side=True)
        self.url = f"https://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()

    def reviews(self, label: str, namespace: str) -> list[Any]:
        """What was asked for one script, in an order that does not depend on who was quicker."""
        with self._lock:
            return list(self._asked.get((label, namespace), []))

    def answer(self, path: str, body: bytes) -> tuple[int, bytes]:
        """Do what the path says."""
        label, namespace, behaviour = path.partition("?")[0].strip("/").split("/")
        review = json.loads(body)
        request = review["request"]
        with self._lock:
            self._asked.setdefault((label, namespace), []).append({"asked": behaviour, "review": review})
        if behaviour == "error":
            return 500, b"broken"
        if behaviour == "garbage":
            return 200, b"no JSON"
        if behaviour == "slow":
            time.sleep(2)
        if review["kind"] == "ConversionReview":
            response = _conversion(request, behaviour)
        else:
            response = _admission(request, behaviour)
        response["uid"] = "other" if behaviour == "wronguid" else request["uid"]
        answer = {"apiVersion": review["apiVersion"], "kind": review["kind"], "response": response}
        return 200, json.dumps(answer).encode()


def _conversion(request: Any, behaviour: str) -> dict[str, Any]:
    if behaviour == "refuse":
        return {"result": {"status": "Failure", "message": "cannot convert"}}
    converted: list[Any] = []
    for given in request["objects"]:
        made = {**given, "apiVersion": request["desiredAPIVersion"]}
        spec = dict(made.get("spec", {}))
        if made["apiVersion"].endswith("/v2") and "size" in spec:
            spec["amount"] = str(spec.pop("size"))
        elif made["apiVersion"].endswith("/v1") and "amount" in spec:
            spec["size"] = int(spec.pop("amount"))
        converted.append(_spoilt({**made, "spec": spec}, behaviour))
    if behaviour == "fewer":
        converted.pop()
    return {"result": {"status": "Success"}, "convertedObjects": converted}


def _spoilt(made: dict[str, Any], behaviour: str) -> dict[str, Any]:
    """What a conversion may do, and what it may not."""
    metadata = dict(made["metadata"])
    match behaviour:
        case "labelled":
            return {**made, "metadata": {**metadata, "labels": {"converted": "yes"}, "finalizers": ["no.one/asked"]}}
        case "badlabel":
            return {**made, "metadata": {**metadata, "labels": {"a b": "c"}}}
        case "numbered":
            return {**made, "metadata": {**metadata, "annotations": {"a": 1}}}
        case "moved":
            return {**made, "metadata": {**metadata, "name": "moved"}}
        case "bare":
            return {name: value for name, value in made.items() if name != "metadata"}
        case "otherkind":
            return {**made, "kind": "Other"}
        case "otherversion":
            return {**made, "apiVersion": "x/v9"}
        case _:
            return made


def _admission(request: Any, behaviour: str) -> dict[str, Any]:
    match behaviour:
        case "deny":
            return {"allowed": False}
        case "refuse":
            return {"allowed": False, "status": {"code": 422, "reason": "Invalid", "message": "not like this"}}
        case "warn":
            return {"allowed": True, "warnings": ["first warning", 'second "warning"']}
        case "audit":
            return {"allowed": True, "auditAnnotations": {"seen": "yes"}}
        case "label" | "label2":
            return _patched([{"op": "add", "path": "/metadata/labels", "value": {behaviour: "yes"}}])
        case "data":
            return _patched([{"op": "add", "path": "/data/hooked", "value": "yes"}])
        case "wrongtype":
            return _patched([{"op": "add", "path": "/data", "value": {"a": 1}}])
        case "badpatch":
            return _patched([{"op": "remove", "path": "/nope/nope"}])
        case "rename":
            return _patched([{"op": "replace", "path": "/metadata/name", "value": "renamed"}])
        case "count":
            data = (request.get("object") or {}).get("data") or {}
            count = str(int(data.get("count", "0")) + 1)
            return _patched([{"op": "add", "path": "/data/count", "value": count}])
        case _:
            return {"allowed": True}


def _patched(patch: list[Any]) -> dict[str, Any]:
    return {"allowed": True, "patchType": "JSONPatch", "patch": base64.b64encode(json.dumps(patch).encode()).decode()}

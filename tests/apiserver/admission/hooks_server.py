"""A webhook that does as its path says, over HTTPS on loopback, in a thread of its own."""

from __future__ import annotations

import base64
import json
import ssl
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from trimtab.pki import CertificateAuthority

Json = dict[str, Any]


class Webhook:
    """Listens until it is closed; `seen` is what it was asked."""

    def __init__(self) -> None:
        authority = CertificateAuthority.create("webhooks")
        self.bundle = base64.b64encode(authority.certificate).decode()
        self.seen: list[Json] = []
        webhook = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                review = json.loads(body)
                webhook.seen.append({"path": self.path.partition("?")[0], **review})
                path = self.path.partition("?")[0].strip("/")
                if path == "slow":
                    time.sleep(3)
                if path == "broken":
                    return self._send(500, b"nothing works")
                if path == "garbage":
                    return self._send(200, b"{nonsense")
                return self._send(200, json.dumps(answered(path, review)).encode())

            def _send(self, status: int, body: bytes) -> None:
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base's
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        with TemporaryDirectory() as folder:
            context.load_cert_chain(*authority.issue_server("127.0.0.1").write(Path(folder), "hook"))
        self._server.socket = context.wrap_socket(self._server.socket, server_side=True, do_handshake_on_connect=False)
        self._server.handle_error = lambda *_: None
        self.url = f"https://127.0.0.1:{self._server.server_address[1]}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def answered(path: str, review: Json) -> Json:  # noqa: C901 - a list of answers
    """The answer that a path stands for."""
    request = review["request"]
    response: Json = {"uid": request["uid"], "allowed": True}
    made = {"apiVersion": review["apiVersion"], "kind": "AdmissionReview", "response": response}
    what, _, detail = path.partition("/")
    if what == "deny":
        response |= {"allowed": False}
        if detail == "message":
            response["status"] = {"message": "not today", "code": 418}
        elif detail == "reason":
            response["status"] = {"reason": "Conflict", "message": "other", "code": 409}
        elif detail == "cause":
            causes = [{"reason": "FieldValueInvalid", "message": "m", "field": "data.a"}]
            response["status"] = {"message": "see", "reason": "Invalid", "code": 422, "details": {"causes": causes}}
    elif what == "warn":
        response["warnings"] = ["one", 'two "quoted"']
    elif what == "label":
        key, _, value = detail.partition("=")
        labels = request["object"]["metadata"].get("labels")
        if labels is None:
            patch: list[Json] = [{"op": "add", "path": "/metadata/labels", "value": {key: value}}]
        else:
            seen = labels.get(key, "")
            patch = [{"op": "add", "path": f"/metadata/labels/{key}", "value": seen + value}]
        response |= {"patchType": "JSONPatch", "patch": base64.b64encode(json.dumps(patch).encode()).decode()}
    elif what == "badpatch":
        texts = {
            "none": b"nonsense",
            "test": b'[{"op":"test","path":"/kind","value":"No"}]',
            "remove": b'[{"op":"remove","path":"/no"}]',
        }
        response |= {"patchType": "JSONPatch", "patch": base64.b64encode(texts[detail]).decode()}
    elif what == "nouid":
        response["uid"] = "other"
    elif what == "noresponse":
        del made["response"]
    elif what == "nokind":
        made["kind"] = ""
    elif what == "nopatchtype":
        response["patch"] = base64.b64encode(b"[]").decode()
    return made

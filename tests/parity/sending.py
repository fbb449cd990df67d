"""The way to a server: requests over HTTPS as an administrator, or with a token and no certificate; and kubectl."""

from __future__ import annotations

import base64
import http.client
import os
import shlex
import ssl
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import yaml
from tests.parity.hooks import Hooks
from tests.parity.playing import Raw

_SECONDS = 30.0


class Peer:
    """A server that listens on loopback, by its kubeconfig."""

    def __init__(self, label: str, kubeconfig: Path, hooks: Hooks, patience: float) -> None:
        self.label = label
        self.patience = patience
        self._kubeconfig = kubeconfig
        self._hooks = hooks
        config = yaml.safe_load(kubeconfig.read_text())
        cluster, user = config["clusters"][0]["cluster"], config["users"][0]["user"]
        authority = base64.b64decode(cluster["certificate-authority-data"]).decode()
        self._host = urlsplit(cluster["server"]).netloc
        self._plain = ssl.create_default_context(cadata=authority)
        self._known = ssl.create_default_context(cadata=authority)
        self._token: str | None = user.get("token")
        if self._token is None:
            pair = kubeconfig.with_suffix(".pem")
            pair.write_bytes(
                base64.b64decode(user["client-certificate-data"]) + b"\n" + base64.b64decode(user["client-key-data"])
            )
            self._known.load_cert_chain(pair)
        self._kept = threading.local()
        self._made: list[http.client.HTTPSConnection] = []

    def close(self) -> None:
        """Close all connections, those that were kept too."""
        for connection in self._made:
            connection.close()

    def send(self, method: str, path: str, body: bytes | None, headers: dict[str, str]) -> Raw:
        return self._begin(method, path, body, headers, keep="Authorization" not in headers)()

    def begin(self, method: str, path: str, headers: dict[str, str]) -> Callable[[], Raw]:
        return self._begin(method, path, None, headers, keep=False)

    def kubectl(self, arguments: str, stdin: str) -> tuple[int, str, str]:
        folder = self._kubeconfig.parent
        environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(folder),
            "KUBECONFIG": str(self._kubeconfig),
            "KUBECACHEDIR": str(folder / f"cache-{self.label}"),
        }
        try:
            done = subprocess.run(
                ["kubectl", *shlex.split(arguments)],
                env=environment,
                input=stdin.encode(),
                capture_output=True,
                timeout=_SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return -1, "", "kubectl did not end"
        return done.returncode, done.stdout.decode(), done.stderr.decode()

    def reviews(self, namespace: str) -> list[Any]:
        return self._hooks.reviews(self.label, namespace)

    def places(self) -> dict[str, str]:
        return {"$HOOK": f"{self._hooks.url}/{self.label}", "$CABUNDLE": self._hooks.bundle}

    def _begin(
        self, method: str, path: str, body: bytes | None, headers: dict[str, str], *, keep: bool
    ) -> Callable[[], Raw]:
        given = {"User-Agent": "parity", **headers}
        if given.get("Authorization") == "none":
            del given["Authorization"]
        elif self._token is not None:
            given.setdefault("Authorization", f"Bearer {self._token}")
        for connection in self._connections(keep=keep, known="Authorization" not in headers):
            with suppress(BrokenPipeError, ConnectionResetError):  # an answer may come before all of a body is sent
                connection.request(method, path, body, given)
            try:
                return self._rest(connection, connection.getresponse(), keep=keep)
            except TimeoutError:
                connection.close()
                return lambda: (0, [], b"no answer in time")
            except OSError:
                connection.close()  # an old connection may have been closed meanwhile; the next is a new one
        return lambda: (0, [], b"the connection was closed without an answer")

    def _connections(self, *, keep: bool, known: bool) -> Iterator[http.client.HTTPSConnection]:
        """The one that is kept for this thread, then new ones."""
        kept: http.client.HTTPSConnection | None = getattr(self._kept, "connection", None) if keep else None
        if kept is not None:
            self._kept.connection = None
            yield kept
        context = self._known if known else self._plain
        made = http.client.HTTPSConnection(self._host, timeout=_SECONDS, context=context)
        self._made.append(made)
        yield made

    def _rest(
        self, connection: http.client.HTTPSConnection, response: http.client.HTTPResponse, *, keep: bool
    ) -> Callable[[], Raw]:
        def rest() -> Raw:
            try:
                content = response.read()
            except http.client.IncompleteRead as error:
                content = error.partial
            except OSError:
                content = b"the answer did not end"
                connection.close()
            if keep and not response.will_close:
                self._kept.connection = connection
            else:
                connection.close()
            return response.status, response.getheaders(), content

        return rest

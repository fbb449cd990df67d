"""`trimtab check` against a real API server: what it says when all is well, and one line for each thing that is not."""

import base64
import json
import re
import socket
import subprocess
import sys
from collections.abc import Callable
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from trimtab.pki import CertificateAuthority
from trimtab.testing.control_plane import ControlPlane

Edit = Callable[[ControlPlane, dict[str, Any], dict[str, Any]], object]


def check(path: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "trimtab", "check", "--kubeconfig", str(path), *words]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


def test_all_is_well(control_plane: ControlPlane) -> None:
    done = check(control_plane.kubeconfig("jane", groups=["devs"]))
    assert done.stderr == ""
    assert f"server     {control_plane.url} " in done.stdout
    assert f"version    Kubernetes v{control_plane.version} " in done.stdout
    assert "user       jane (devs, system:authenticated)" in done.stdout
    assert done.returncode == 0


def refused(plane: ControlPlane, cluster: dict[str, Any], user: dict[str, Any]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        cluster["server"] = f"https://127.0.0.1:{free.getsockname()[1]}"


def another_authority(plane: ControlPlane, cluster: dict[str, Any], user: dict[str, Any]) -> None:
    cluster["certificate-authority-data"] = base64.b64encode(CertificateAuthority.create().certificate).decode()


def expired(plane: ControlPlane, cluster: dict[str, Any], user: dict[str, Any]) -> None:
    pair = plane.authority.issue_client("jane", [], valid_for=timedelta(days=-1))
    user["client-certificate-data"] = base64.b64encode(pair.certificate).decode()
    user["client-key-data"] = base64.b64encode(pair.key).decode()


def unknown_token(plane: ControlPlane, cluster: dict[str, Any], user: dict[str, Any]) -> None:
    user.clear()
    user["token"] = "nobody-gave-this-out"


def plain_http(plane: ControlPlane, cluster: dict[str, Any], user: dict[str, Any]) -> None:
    cluster["server"] = cluster["server"].replace("https:", "http:")


def no_such_host(plane: ControlPlane, cluster: dict[str, Any], user: dict[str, Any]) -> None:
    cluster["server"] = "https://nowhere.invalid"


@pytest.mark.parametrize(
    ("spoil", "line"),
    [
        (refused, r"connection refused \(from context .* of .*\): is the cluster running\?"),
        (another_authority, r"its certificate is not trusted \(.*\): look at the certificate authority in context "),
        (expired, r"expired on \d{4}-\d\d-\d\d"),
        (unknown_token, r"Unauthorized \(401\)"),
        (plain_http, r"Client sent an HTTP request to an HTTPS server"),
        (no_such_host, r"no such host"),
    ],
)
def test_what_is_wrong_is_one_line(control_plane: ControlPlane, tmp_path: Path, spoil: Edit, line: str) -> None:
    config = control_plane.kubeconfig_dict()
    spoil(control_plane, config["clusters"][0]["cluster"], config["users"][0]["user"])
    assert_one_line(check(write(tmp_path, config)), line)


def test_a_server_that_is_not_kubernetes(control_plane: ControlPlane, tmp_path: Path) -> None:
    class Page(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b"<html>welcome</html>")

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            pass

    with HTTPServer(("127.0.0.1", 0), Page) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        config = control_plane.kubeconfig_dict()
        config["clusters"][0]["cluster"] = {"server": f"http://127.0.0.1:{server.server_port}"}
        try:
            assert_one_line(check(write(tmp_path, config)), "no Kubernetes API server")
        finally:
            server.shutdown()


def write(folder: Path, config: dict[str, Any]) -> Path:
    path = folder / "config"
    path.write_text(json.dumps(config))
    return path


def assert_one_line(done: subprocess.CompletedProcess[str], line: str) -> None:
    assert (done.returncode, done.stdout) == (1, "")
    (only,) = done.stderr.splitlines()
    assert only.startswith("error: ")
    assert re.search(line, only), only

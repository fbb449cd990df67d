"""Kubeconfigs for a server that was just started."""

import base64
import json
from pathlib import Path
from typing import Any

from trimtab.pki.authority import Issued


def kubeconfig(url: str, authority: bytes, client: Issued) -> dict[str, Any]:
    """Describe a server and a client certificate for it as a kubeconfig whose current context joins the two."""
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "test", "cluster": {"server": url, "certificate-authority-data": _base64(authority)}}],
        "users": [
            {
                "name": "test",
                "user": {
                    "client-certificate-data": _base64(client.certificate),
                    "client-key-data": _base64(client.key),
                },
            }
        ],
        "contexts": [{"name": "test", "context": {"cluster": "test", "user": "test"}}],
        "current-context": "test",
    }


def write_kubeconfig(path: Path, config: dict[str, Any]) -> Path:
    """Write a kubeconfig that only its owner can read. JSON is YAML too."""
    path.touch(mode=0o600)
    path.write_text(json.dumps(config, indent=2) + "\n")
    return path


def _base64(pem: bytes) -> str:
    return base64.b64encode(pem).decode()

"""Where the kubeconfig of a local cluster goes: never over somebody else's, nor over that of a cluster that runs."""

from __future__ import annotations

import socket
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from trimtab.errors import TrimtabError

USUAL: Final = Path("trimtab.kubeconfig")
_LOOPBACK: Final = "127.0.0.1"
_SECONDS: Final = 0.5


def place(wanted: Path | None, url: str) -> Path:
    """Where to write the kubeconfig of the cluster at this URL; beside the usual place if that is another's."""
    path = wanted or USUAL
    server = _server(path)
    if server is None or server == url or not _answers(server):
        return path
    if wanted is None:
        return path.with_stem(f"{path.stem}-{urlsplit(url).port}")
    raise TrimtabError(f"{path} leads to a cluster that runs, at {server}: end that, or give another --kubeconfig")


def forget(path: Path, url: str) -> None:
    """Remove the kubeconfig of the cluster at this URL, unless it leads to another one by now."""
    try:
        mine = _server(path) == url
    except TrimtabError:
        return
    if mine:
        path.unlink(missing_ok=True)


def _server(path: Path) -> str | None:
    """The server that a kubeconfig of ours leads to; None where no file is, or an empty one."""
    import yaml  # most starts find no file, and need none; kubectl writes YAML where we wrote JSON

    try:
        text = path.read_text()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, UnicodeDecodeError):
        text = "unreadable"
    if not text.strip():
        return None
    try:
        found: Any = yaml.safe_load(text)
        (cluster,) = found["clusters"]
        server: str = cluster["cluster"]["server"]
        if cluster["name"] == "test" and urlsplit(server).hostname == _LOOPBACK:
            return server
    except (yaml.YAMLError, ValueError, TypeError, KeyError):
        pass  # a file that is nothing of ours is refused below
    raise TrimtabError(f"{path} is not written over: no local cluster of Trimtab wrote it. Give another --kubeconfig")


def _answers(server: str) -> bool:
    try:
        with socket.create_connection((_LOOPBACK, urlsplit(server).port or 443), _SECONDS):
            return True
    except OSError:
        return False

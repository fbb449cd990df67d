"""The servers that are compared: two real ones, each on an empty etcd, and the embedded one as a program."""

from __future__ import annotations

import select
import subprocess
import sys
from collections.abc import Generator
from contextlib import closing, contextmanager
from pathlib import Path

from tests.parity.hooks import Hooks
from tests.parity.sending import Peer

from trimtab.testing.control_plane import ControlPlane

REAL_PATIENCE = 30.0
OUR_PATIENCE = 1.5
"""Seconds that are waited for something to take effect. Ours is at once, or not at all."""


@contextmanager
def real(label: str, folder: Path, hooks: Hooks, version: str | None = None) -> Generator[Peer]:
    """A real API server, alone with its etcd."""
    with ControlPlane(version) as plane:
        kubeconfig = folder / f"{label}.kubeconfig"
        kubeconfig.write_bytes(plane.kubeconfig().read_bytes())
        with closing(Peer(label, kubeconfig, hooks, REAL_PATIENCE)) as peer:
            yield peer


@contextmanager
def ours(folder: Path, hooks: Hooks) -> Generator[Peer]:
    """The embedded server, as a program."""
    kubeconfig = folder / "ours.kubeconfig"
    log = folder / "ours.log"
    command = [sys.executable, "-m", "trimtab.apiserver", "--kubeconfig", str(kubeconfig)]
    with log.open("wb") as errors:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors)
        try:
            assert process.stdout is not None
            ready, _, _ = select.select([process.stdout], [], [], 60)
            line = process.stdout.readline() if ready else b""
            if not line.startswith(b"ready at"):
                raise RuntimeError(f"the embedded server did not start: {log.read_text()[-2000:]}")
            with closing(Peer("ours", kubeconfig, hooks, OUR_PATIENCE)) as peer:
                yield peer
        finally:
            process.terminate()
            process.wait(30)
            if process.stdout is not None:
                process.stdout.close()

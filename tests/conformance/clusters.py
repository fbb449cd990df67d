"""The clusters that the tests are played on, each known by its kubeconfig."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from trimtab.testing.control_plane import WITH_NODES, ControlPlane
from trimtab.testing.waiting import wait_until

NODES = 2
_SECONDS = 60.0


@contextmanager
def local(folder: Path) -> Generator[Path]:
    """`trimtab dev`, in a process of its own as anybody starts it."""
    kubeconfig, log = folder / "kubeconfig", folder / "cluster.log"
    command = [sys.executable, "-m", "trimtab", "dev", "--no-bundled", "--port", "0", "--nodes", str(NODES)]
    with log.open("wb") as output:
        process = subprocess.Popen(
            [*command, "--kubeconfig", str(kubeconfig)], cwd=folder, stdout=output, stderr=subprocess.STDOUT
        )
    try:
        wait_until(lambda: kubeconfig.exists() or process.poll() is not None, "the cluster to start", seconds=_SECONDS)
        if process.poll() is not None:
            raise RuntimeError(f"trimtab dev ended: {log.read_text()[-2000:]}")
        yield kubeconfig
    finally:
        process.terminate()
        process.wait(_SECONDS)


@contextmanager
def real(folder: Path, version: str | None = None) -> Generator[Path]:
    """A real control plane with kwok's nodes, to see what passes there."""
    del folder
    with ControlPlane(version, components=WITH_NODES, nodes=NODES) as plane:
        yield plane.kubeconfig()

"""The peers written in Go, helm among them, and kubectl where there is none: built once, kept by what they are made of.

A build takes two minutes on two idle processors, with nothing cached; so it begins when the tests do, and those that
need it come last. Programs are in the user's cache folder, where they may be deleted at any time.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path

from trimtab.testing import binaries

_SOURCES = Path(__file__).parent / "go"
_PACKAGES = ("helm.sh/helm/v3/cmd/helm", "./informer", "./kubectl", "./manager")
_KEPT_SECONDS = 30 * 24 * 3600.0
_PATIENCE = 1800.0


class CannotBuildError(Exception):
    """Why there are no programs."""


class Build:
    """A build that runs beside the tests, unless it was done before."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._output = Path()
        self._folder = binaries.cache_folder().parent / "peers" / _digest()

    def start(self) -> None:
        """Begin, where there is something to do and Go is there to do it."""
        go = shutil.which("go")
        if self._folder.exists() or go is None or self._process:
            return
        self._folder.parent.mkdir(parents=True, exist_ok=True)
        self._output = Path(tempfile.mkdtemp(prefix=".building.", dir=self._folder.parent))
        # Neither the user's flags nor a workspace around this folder may change what is built.
        environment = {**os.environ, "CGO_ENABLED": "0", "GOFLAGS": "", "GOWORK": "off"}
        link = f"-s -w -X k8s.io/component-base/version.gitVersion={_kubernetes()}"
        command = (go, "build", "-trimpath", "-buildvcs=false", "-ldflags", link, "-o", f"{self._output}/")
        with (self._output / "log").open("wb") as log:
            self._process = subprocess.Popen(
                ["nice", *command, *_PACKAGES],
                cwd=_SOURCES,
                env=environment,
                stderr=log,
                start_new_session=True,
            )

    def program(self, name: str) -> Path:
        """Wait for a program."""
        self.start()
        if not self._folder.exists():
            self._finish()
        os.utime(self._folder)
        return self._folder / name

    def stop(self) -> None:
        """End what nobody waits for any more."""
        if self._process and self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGTERM)  # the compilers too: the group is of this build alone
            self._process.wait()
        if self._process:
            shutil.rmtree(self._output, ignore_errors=True)

    def _finish(self) -> None:
        if self._process is None:
            raise CannotBuildError("Go is not installed, with which client-go, controller-runtime and helm are built")
        if self._process.wait(_PATIENCE):
            said = (self._output / "log").read_text(errors="replace").strip().splitlines() or ["it said nothing"]
            raise CannotBuildError(f"go build of tests/peers/go failed: {said[-1]}")
        for old in self._folder.parent.glob("[0-9a-f]*"):
            if old.stat().st_mtime < time.time() - _KEPT_SECONDS:
                shutil.rmtree(old, ignore_errors=True)
        try:
            self._output.rename(self._folder)
        except OSError:
            assert self._folder.exists()  # another process was faster, with the same


def _kubernetes() -> str:
    """Which Kubernetes the modules are of: kubectl has to know its own version."""
    [minor] = re.findall(r"k8s.io/kubectl v0\.(\S+)", (_SOURCES / "go.mod").read_text())
    return f"v1.{minor}"


def _digest() -> str:
    """A name for what the programs are made of."""
    digest = hashlib.sha256()
    for path in (Path(__file__), *sorted(_SOURCES.rglob("*"))):  # this file has the flags
        if path.is_file():
            content = path.read_bytes()
            digest.update(f"{path.name} {len(content)}\n".encode() + content)
    return digest.hexdigest()[:16]

"""The server in a process of its own, and one namespace in it, as an unmodified client finds it: by a kubeconfig."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

SECONDS = 30.0


@contextmanager
def served(folder: Path, *arguments: str) -> Generator[Path]:
    """Run it, and give its kubeconfig. What it says on stderr is a failure: it has nothing to complain about."""
    kubeconfig, complaints = folder / "kubeconfig", folder / "stderr"
    with complaints.open("w") as stderr:
        process = subprocess.Popen(
            [sys.executable, "-m", "trimtab.apiserver", "--kubeconfig", str(kubeconfig), *arguments],
            stdout=subprocess.PIPE,
            stderr=stderr,
            text=True,
        )
    assert process.stdout is not None
    try:
        line = process.stdout.readline()
        assert line.startswith("ready at https://"), (line, complaints.read_text())
        yield kubeconfig
    finally:
        process.terminate()
        process.wait(SECONDS)
        process.stdout.close()
    assert complaints.read_text() == ""


@dataclass(frozen=True)
class Place:
    """A namespace, and a folder with a kubeconfig that leads to it."""

    folder: Path
    namespace: str

    @property
    def environment(self) -> dict[str, str]:
        """What a client is started with: nothing of the user's own settings."""
        home = str(self.folder)
        return {
            "PATH": os.environ["PATH"],
            "HOME": home,
            "KUBECONFIG": str(self.folder / "kubeconfig"),
            "KUBECACHEDIR": str(self.folder.parent / "discovery"),
        }

    def run(self, *command: str, stdin: str = "", fails: bool = False, **environment: str) -> str:
        """Run a client to its end: what it prints, or what it says when it fails."""
        done = subprocess.run(
            command,
            cwd=self.folder,
            env={**self.environment, **environment},
            input=stdin,
            capture_output=True,
            text=True,
            timeout=2 * SECONDS,
            check=False,
        )
        assert (done.returncode != 0) == fails, f"{shlex.join(command)}: {done.returncode}\n{done.stdout}{done.stderr}"
        return done.stderr if fails else done.stdout

    def kubectl(self, arguments: str, stdin: str = "", *, fails: bool = False, **environment: str) -> str:
        """Run kubectl."""
        return self.run("kubectl", *shlex.split(arguments), stdin=stdin, fails=fails, **environment)

    def read(self, arguments: str) -> Any:
        """What `kubectl get` finds, as an object."""
        return yaml.safe_load(self.kubectl(f"get {arguments} -o yaml"))

    def write(self, name: str, *objects: dict[str, Any]) -> str:
        """Write a manifest into the folder."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(yaml.safe_dump_all(objects))
        return name


@contextmanager
def place(kubeconfig: Path, folder: Path, namespace: str) -> Iterator[Place]:
    """A fresh namespace."""
    config = yaml.safe_load(kubeconfig.read_text())
    config["contexts"][0]["context"]["namespace"] = namespace
    (folder / "kubeconfig").write_text(yaml.safe_dump(config))
    made = Place(folder, namespace)
    made.kubectl(f"create namespace {namespace}")
    yield made


@contextmanager
def running(where: Place, *command: str, **environment: str) -> Generator[subprocess.Popen[str]]:
    """A client that goes on beside the test; it is asked to end after it, and has to."""
    with (where.folder / "stderr").open("a") as stderr:
        process = subprocess.Popen(
            command,
            cwd=where.folder,
            env={**where.environment, **environment},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=stderr,
            text=True,
        )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        yield process
    finally:
        process.terminate()
        process.stdin.close()
        try:
            process.wait(SECONDS)
        finally:
            process.kill()
            process.stdout.close()
            process.wait()


def until(holds: Callable[[], Any], what: str) -> Any:
    """Wait for what a client does in its own time, and give what was found."""
    end = time.monotonic() + SECONDS
    while not (found := holds()):
        assert time.monotonic() < end, f"this did not come to be: {what}"
        time.sleep(0.05)  # of another process nobody tells
    return found

"""Building the control plane's programs from the Go module proxy, each once for all processes of a user.

Kubernetes is no module that others may require: its go.mod replaces the staging modules by folders of its repository.
So a module of our own requires it and replaces each of those by the release that was published with it: Kubernetes
1.36.3 goes with v0.36.3 of each. etcd comes out of that same module, in the version that Kubernetes itself is tested
with, and so does its conformance suite. kwok is an ordinary module and can be installed as it is.
"""

import fcntl
import json
import os
import subprocess
import tempfile
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from trimtab.errors import TrimtabError

_KWOK = "sigs.k8s.io/kwok/cmd/kwok"
_PACKAGES: Final = {
    "etcd": "go.etcd.io/etcd/server/v3",
    "kube-apiserver": "k8s.io/kubernetes/cmd/kube-apiserver",
    "kube-controller-manager": "k8s.io/kubernetes/cmd/kube-controller-manager",
    "kube-scheduler": "k8s.io/kubernetes/cmd/kube-scheduler",
    "e2e.test": "k8s.io/kubernetes/test/e2e",
}


class BuildError(TrimtabError):
    """Go could not build a program."""


def build(component: str, version: str, *, go: str, target: Path, announce: Callable[[str], None]) -> None:
    """Build a program into `target`, unless another process does so first; the log of a failure stays beside it."""
    target.parent.mkdir(parents=True, exist_ok=True)
    # One lock for all programs: two builds at once only take the processors from each other.
    with _locked(target.parent.parent / "lock", announce):
        if target.exists():
            return
        what = f"kwok {version}" if component == "kwok" else f"{component} of Kubernetes {version}"
        announce(f"compiling {what} from its Go modules: minutes, but only once, it is kept in {target.parent}")
        log = target.with_name(f"{component}.build.log")
        # Beside the target, so that the finished program can be moved into its place in one step.
        with tempfile.TemporaryDirectory(prefix=f".{component}.", dir=target.parent) as name, log.open("wb") as output:
            folder = Path(name)
            try:
                if component == "kwok":
                    _install_kwok(go, version, folder, output.fileno())
                else:
                    _build_kubernetes(go, component, version, folder, output.fileno())
            except subprocess.CalledProcessError as error:
                reason = f"`go {error.cmd[1]}` failed: {_last_line(log)}"
                raise BuildError(f"{what} could not be built, {reason} (all of it: {log})") from None
            (folder / component).replace(target)
        log.unlink()


def wrapper_module(go_mod: Mapping[str, Any], kubernetes: str) -> str:
    """Write the go.mod of a module that can build Kubernetes, from what `go mod edit -json` says of its own."""
    staging = "v0." + kubernetes.partition(".")[2]
    replaced = [replacement["Old"]["Path"] for replacement in go_mod["Replace"]]
    return "\n".join(
        [
            "module trimtab.dev/control-plane",
            f"go {go_mod['Go']}",
            f"require k8s.io/kubernetes v{kubernetes}",
            *(f"replace {path} => {path} {staging}" for path in replaced),
            "",
        ]
    )


def _build_kubernetes(go: str, component: str, version: str, folder: Path, log: int) -> None:
    def run(*arguments: str) -> bytes:
        return _go(go, arguments, folder, log)

    module = json.loads(run("list", "-m", "-json", f"k8s.io/kubernetes@v{version}"))
    go_mod = json.loads(run("mod", "edit", "-json", module["GoMod"]))
    (folder / "go.mod").write_text(wrapper_module(go_mod, version))
    variables = {"gitVersion": f"v{version}", "gitMajor": "1", "gitMinor": version.split(".")[1]}
    link = ["-s", "-w", *(f"-X k8s.io/component-base/version.{name}={value}" for name, value in variables.items())]
    output = ("-o", str(folder / component))
    verb = ("test", "-c") if component.endswith(".test") else ("build",)
    run(*verb, "-mod=mod", "-trimpath", "-buildvcs=false", "-ldflags", " ".join(link), *output, _PACKAGES[component])


def _install_kwok(go: str, version: str, folder: Path, log: int) -> None:
    flags = ("-trimpath", "-buildvcs=false", "-ldflags", "-s -w")
    _go(go, ("install", *flags, f"{_KWOK}@v{version}"), folder, log, GOBIN=str(folder))


def _go(go: str, arguments: tuple[str, ...], folder: Path, log: int, **environment: str) -> bytes:
    # Neither the user's flags nor a workspace around the cache folder may change what is built.
    ours = {"CGO_ENABLED": "0", "GOFLAGS": "", "GOWORK": "off", **environment}
    command = [go, *arguments]
    done = subprocess.run(  # noqa: S603 - go, as found on PATH
        command, cwd=folder, env={**os.environ, **ours}, stdout=subprocess.PIPE, stderr=log, check=True
    )
    return done.stdout


@contextmanager
def _locked(path: Path, announce: Callable[[str], None]) -> Generator[None]:
    with path.open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            announce("another process is building the control plane; waiting for it")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _last_line(log: Path) -> str:
    lines = log.read_text(errors="replace").split("\n")
    return next((line.strip() for line in reversed(lines) if line.strip()), "no output")

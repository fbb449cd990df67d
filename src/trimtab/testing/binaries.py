"""Where the control plane's programs are: found on this machine, or built once from their Go modules.

A program is looked for, in this order,

1. in the folder that `KUBEBUILDER_ASSETS` names: an explicit wish, so it is taken whatever its version is;
2. on `PATH`, where its minor version has to be the wanted one;
3. in the user's cache, `$XDG_CACHE_HOME/trimtab/control-plane/`, into which it is built when `go` is there.

`python -m trimtab.testing.binaries` makes them ready ahead of the tests and prints where they are.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from trimtab.errors import TrimtabError
from trimtab.testing import building

DEFAULT_KUBERNETES = "1.36.3"
VERSION_VARIABLE = "TRIMTAB_KUBERNETES_VERSION"

CORE = ("etcd", "kube-apiserver")
EXTRAS = ("kube-controller-manager", "kube-scheduler", "kwok")
CONFORMANCE = "e2e.test"
"""Kubernetes' own tests, in one program. Only who asks for it gets it: it takes minutes to build."""

# What an etcd on PATH has to be. One that is built here has the version that Kubernetes names in its own go.mod.
_ETCD_SERIES = "3.6"
_KWOK_VERSION = "0.7.0"


class BinariesMissingError(TrimtabError):
    """A program of the control plane is neither there nor can it be built here."""


def wanted_version(version: str | None = None) -> str:
    """Say which Kubernetes is meant: the one named here, else by TRIMTAB_KUBERNETES_VERSION, else our default."""
    text = version or os.environ.get(VERSION_VARIABLE) or DEFAULT_KUBERNETES
    if not re.fullmatch(r"v?1\.\d+\.\d+", text):
        source = "asked for" if version else f"the environment variable {VERSION_VARIABLE} asks for"
        raise TrimtabError(f"{source} Kubernetes {text!r}: write all three numbers, such as {DEFAULT_KUBERNETES}")
    return text.removeprefix("v")


def cache_folder() -> Path:
    """Say where built programs are kept for all projects of this user."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "trimtab" / "control-plane"


def find(component: str, kubernetes: str) -> Path | None:
    """Find a program without building it."""
    if assets := os.environ.get("KUBEBUILDER_ASSETS"):
        if not Path(assets).is_dir():
            raise BinariesMissingError(f"KUBEBUILDER_ASSETS names {assets}, which is no folder: correct or unset it")
        wished = Path(assets) / component
        if os.access(wished, os.X_OK):
            return wished
    on_path = shutil.which(component)
    if on_path and _minor_of(on_path) == _wanted_minor(component, kubernetes):
        return Path(on_path)
    cached = _cached(component, kubernetes)
    return cached if cached.exists() else None


def ensure(
    components: Iterable[str] = CORE,
    kubernetes: str | None = None,
    *,
    announce: Callable[[str], None] | None = None,
) -> dict[str, Path]:
    """Find the programs, building those that are missing; `announce` hears one line before a long wait."""
    kubernetes = wanted_version(kubernetes)
    found: dict[str, Path] = {}
    for component in dict.fromkeys(components):
        found[component] = find(component, kubernetes) or _build(component, kubernetes, announce or _to_stderr)
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    """Make the programs ready and print a line with name and path for each."""
    known = (*CORE, *EXTRAS, CONFORMANCE)
    parser = argparse.ArgumentParser("python -m trimtab.testing.binaries", description=main.__doc__)
    parser.add_argument("--kubernetes-version", help=f"such as {DEFAULT_KUBERNETES}; else ${VERSION_VARIABLE}")
    parser.add_argument("component", nargs="*", help=f"of {', '.join(known)}; without any, all but the last")
    options = parser.parse_args(arguments)
    if unknown := set(options.component) - set(known):
        parser.error(f"no component is called {', '.join(sorted(unknown))}; there are {', '.join(known)}")
    try:
        found = ensure(options.component or CORE + EXTRAS, options.kubernetes_version)
    except TrimtabError as error:
        _to_stderr(str(error))
        return 1
    sys.stdout.writelines(f"{component}\t{path}\n" for component, path in found.items())
    return 0


def _cached(component: str, kubernetes: str) -> Path:
    release = f"kwok-{_KWOK_VERSION}" if component == "kwok" else kubernetes
    return cache_folder() / release / component


def _build(component: str, kubernetes: str, announce: Callable[[str], None]) -> Path:
    go = shutil.which("go")
    if go is None:
        raise BinariesMissingError(
            f"no {component} for Kubernetes {kubernetes}: install Go, with which it is built once, "
            "or set KUBEBUILDER_ASSETS to a folder that has it"
        )
    version = _KWOK_VERSION if component == "kwok" else kubernetes
    building.build(component, version, go=go, target=_cached(component, kubernetes), announce=announce)
    return _cached(component, kubernetes)


def _wanted_minor(component: str, kubernetes: str) -> str:
    version = {"etcd": _ETCD_SERIES, "kwok": _KWOK_VERSION}.get(component, kubernetes)
    return ".".join(version.split(".")[:2])


def _minor_of(program: str) -> str | None:
    try:
        shown = subprocess.run([program, "--version"], capture_output=True, text=True, timeout=30, check=False)  # noqa: S603
    except (OSError, subprocess.TimeoutExpired):
        return None
    numbers = re.search(r"\d+\.\d+", shown.stdout)
    return numbers and numbers.group()


def _to_stderr(line: str) -> None:
    sys.stderr.write(f"trimtab: {line}\n")


if __name__ == "__main__":
    sys.exit(main())

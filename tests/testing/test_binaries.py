"""Which program is taken, from where, and what is said when there is none."""

import os
from pathlib import Path

import pytest

from trimtab.errors import TrimtabError
from trimtab.testing import binaries

VERSION = "1.36.3"


def program(path: Path, says: str = "") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\necho '{says}'\n")
    path.chmod(0o755)
    return path


class Machine:
    """A machine with nothing on it, to put fake programs on."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.assets, self.path, self.cache = folder / "assets", folder / "bin", folder / "cache"
        monkeypatch.setenv("PATH", str(self.path))
        monkeypatch.setenv("XDG_CACHE_HOME", str(self.cache))
        self.assets.mkdir()
        monkeypatch.setenv("KUBEBUILDER_ASSETS", str(self.assets))
        monkeypatch.delenv("TRIMTAB_KUBERNETES_VERSION", raising=False)

    def cached(self, release: str, component: str) -> Path:
        return program(self.cache / "trimtab" / "control-plane" / release / component)


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    return Machine(tmp_path, monkeypatch)


def test_assets_then_path_then_cache(machine: Machine) -> None:
    found = lambda: binaries.find("kube-apiserver", VERSION)  # noqa: E731 - asked again and again
    assert found() is None
    cached = machine.cached(VERSION, "kube-apiserver")
    assert found() == cached
    on_path = program(machine.path / "kube-apiserver", "Kubernetes v1.36.0")
    assert found() == on_path
    # An explicit wish: neither its version nor whether it says one matters.
    wished = program(machine.assets / "kube-apiserver", "Kubernetes v1.29.0")
    assert found() == wished
    wished.chmod(0o644)
    assert found() == on_path, "what cannot be run is not taken"


@pytest.mark.parametrize(
    ("component", "says", "taken"),
    [
        ("kube-scheduler", "Kubernetes v1.36.9", True),
        ("kube-scheduler", "Kubernetes v1.35.3", False),
        ("kube-scheduler", "Kubernetes v1.3.6", False),
        ("etcd", "etcd Version: 3.6.1\nGo Version: go1.26.0", True),
        ("etcd", "etcd Version: 3.5.21", False),
        ("kwok", "kwok version v0.7.1 go1.25.0 (linux/amd64)", True),
        ("kwok", "kwok version v0.6.0 go1.25.0 (linux/amd64)", False),
        ("kwok", "no idea", False),
    ],
)
def test_on_path_only_the_wanted_minor_counts(machine: Machine, component: str, says: str, taken: bool) -> None:
    on_path = program(machine.path / component, says)
    assert binaries.find(component, VERSION) == (on_path if taken else None)


def test_versions_do_not_mix_in_the_cache(machine: Machine) -> None:
    etcd = {version: machine.cached(version, "etcd") for version in ("1.34.4", "1.36.3")}
    kwok = machine.cached("kwok-0.7.0", "kwok")
    for version, path in etcd.items():
        assert binaries.ensure(["etcd", "kwok"], version) == {"etcd": path, "kwok": kwok}


def test_the_version_is_named_or_in_the_environment_or_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TRIMTAB_KUBERNETES_VERSION", raising=False)
    assert binaries.wanted_version() == binaries.DEFAULT_KUBERNETES
    monkeypatch.setenv("TRIMTAB_KUBERNETES_VERSION", "1.34.4")
    assert binaries.wanted_version() == "1.34.4"
    assert binaries.wanted_version("v1.35.0") == "1.35.0"
    monkeypatch.setenv("TRIMTAB_KUBERNETES_VERSION", "1.34")
    with pytest.raises(TrimtabError, match=r"TRIMTAB_KUBERNETES_VERSION.*'1.34'.*three numbers"):
        binaries.wanted_version()


def test_the_command_prints_a_line_for_each(machine: Machine, capsys: pytest.CaptureFixture[str]) -> None:
    path = machine.cached("1.34.4", "kube-apiserver")
    assert binaries.main(["--kubernetes-version", "1.34.4", "kube-apiserver"]) == 0
    assert capsys.readouterr().out == f"kube-apiserver\t{path}\n"


def test_without_go_one_line_says_what_to_do(machine: Machine, capsys: pytest.CaptureFixture[str]) -> None:
    assert binaries.main([]) == 1
    line = capsys.readouterr().err
    assert line.count("\n") == 1
    assert "no etcd for Kubernetes 1.36.3" in line
    assert "install Go" in line
    assert "KUBEBUILDER_ASSETS" in line
    assert not os.path.lexists(machine.cache), "looking leaves no traces"


def test_a_wish_that_cannot_be_is_not_passed_over(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBEBUILDER_ASSETS", "/nowhere")
    with pytest.raises(binaries.BinariesMissingError, match="KUBEBUILDER_ASSETS names /nowhere, which is no folder"):
        binaries.find("etcd", "1.36.3")

"""The building of the programs, with a stand-in for the go command: the true one takes minutes."""

import json
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from trimtab.testing.building import BuildError, build, wrapper_module
from trimtab.testing.waiting import wait_until

# What `go mod edit -json` says of Kubernetes' own go.mod, abridged.
GO_MOD = {
    "Module": {"Path": "k8s.io/kubernetes"},
    "Go": "1.26.0",
    "Require": [
        {"Path": "k8s.io/api", "Version": "v0.0.0"},
        {"Path": "go.etcd.io/etcd/server/v3", "Version": "v3.6.8"},
    ],
    "Replace": [
        {"Old": {"Path": "k8s.io/api"}, "New": {"Path": "./staging/src/k8s.io/api"}},
        {"Old": {"Path": "k8s.io/client-go"}, "New": {"Path": "./staging/src/k8s.io/client-go"}},
    ],
}

FAKE_GO = """#!/bin/sh
echo "$CGO_ENABLED|$GOFLAGS|$GOWORK|$*" >> "{folder}/calls"
case "$1" in
list) echo '{{"GoMod": "{folder}/its.mod"}}' ;;
mod) cat "{folder}/its.json" ;;
install) echo built > "$GOBIN/kwok" ;;
build)
    cp go.mod "{folder}/go.mod"
    {then}
    while [ "$1" != -o ]; do shift; done
    echo built > "$2" ;;
esac
"""


@pytest.fixture
def fake_go(tmp_path: Path) -> Callable[[str], str]:
    def make(then: str = ":") -> str:
        (tmp_path / "its.json").write_text(json.dumps(GO_MOD))
        go = tmp_path / "go"
        go.write_text(FAKE_GO.format(folder=tmp_path, then=then))
        go.chmod(0o755)
        return str(go)

    return make


def names(folder: Path) -> list[str]:
    return [entry.name for entry in folder.iterdir()]


def test_the_module_replaces_what_was_published_beside_kubernetes() -> None:
    assert wrapper_module(GO_MOD, "1.36.3").splitlines() == [
        "module trimtab.dev/control-plane",
        "go 1.26.0",
        "require k8s.io/kubernetes v1.36.3",
        "replace k8s.io/api => k8s.io/api v0.36.3",
        "replace k8s.io/client-go => k8s.io/client-go v0.36.3",
    ]


def test_a_build_is_announced_hermetic_and_leaves_only_the_program(
    fake_go: Callable[[str], str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GOFLAGS", "-mod=vendor")
    said: list[str] = []
    target = tmp_path / "cache" / "1.36.3" / "kube-scheduler"
    build("kube-scheduler", "1.36.3", go=fake_go(":"), target=target, announce=said.append)
    assert target.read_text() == "built\n"
    assert names(target.parent) == ["kube-scheduler"]
    assert (tmp_path / "go.mod").read_text() == wrapper_module(GO_MOD, "1.36.3")
    assert [line for line in said if "kube-scheduler of Kubernetes 1.36.3" in line and "minutes" in line] == said
    call = (tmp_path / "calls").read_text().splitlines()[-1]
    assert call.startswith("0||off|build -mod=mod -trimpath -buildvcs=false ")
    assert "-X k8s.io/component-base/version.gitVersion=v1.36.3" in call
    assert call.endswith("k8s.io/kubernetes/cmd/kube-scheduler")


def test_kwok_is_installed_as_the_module_that_it_is(fake_go: Callable[[str], str], tmp_path: Path) -> None:
    target = tmp_path / "cache" / "kwok-0.7.0" / "kwok"
    build("kwok", "0.7.0", go=fake_go(":"), target=target, announce=lambda _: None)
    assert target.read_text() == "built\n"
    assert (tmp_path / "calls").read_text().endswith("sigs.k8s.io/kwok/cmd/kwok@v0.7.0\n")


def test_of_several_at_once_one_builds_and_the_others_wait(fake_go: Callable[[str], str], tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    go = fake_go(f'read _ < "{gate}"')
    said: list[str] = []
    target = tmp_path / "cache" / "1.36.3" / "etcd"
    with ThreadPoolExecutor(4) as pool, os.fdopen(os.open(gate, os.O_RDWR), "wb", buffering=0) as opener:
        builds = [pool.submit(build, "etcd", "1.36.3", go=go, target=target, announce=said.append) for _ in range(4)]
        try:
            wait_until(lambda: len(said) == 4, "all of them to say what they do", seconds=20)
            assert not target.exists(), "a program is in its place only when it is whole"
        finally:
            opener.write(b"go on\n" * 4)
        for done in builds:
            done.result(timeout=30)
    assert sum("compiling" in line for line in said) == 1
    assert sum("waiting" in line for line in said) == 3
    assert (tmp_path / "calls").read_text().count("|build ") == 1


def test_a_failure_keeps_its_log_and_says_where(fake_go: Callable[[str], str], tmp_path: Path) -> None:
    target = tmp_path / "cache" / "1.36.3" / "etcd"
    go = fake_go("echo 'compiling' >&2; echo 'no space left on device' >&2; exit 1")
    with pytest.raises(BuildError) as caught:
        build("etcd", "1.36.3", go=go, target=target, announce=lambda _: None)
    log = target.parent / "etcd.build.log"
    assert str(caught.value) == (
        f"etcd of Kubernetes 1.36.3 could not be built, `go build` failed: no space left on device (all of it: {log})"
    )
    assert log.read_text() == "compiling\nno space left on device\n"
    assert names(target.parent) == ["etcd.build.log"]

"""What a control plane that cannot even be prepared leaves behind: nothing."""

import tempfile
from pathlib import Path
from typing import Any

import pytest

from trimtab.pki import CertificateAuthority
from trimtab.testing.control_plane import ControlPlane, ControlPlaneError
from trimtab.testing.processes import ProcessGroup
from trimtab.testing.stack import Stack


@pytest.mark.parametrize("fails", ["Files.write", "command"])
def test_a_stack_that_cannot_be_made_leaves_nothing(
    fails: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        assert list(tmp_path.iterdir()), "there is something to leave"
        raise OSError("no space left")

    groups: list[ProcessGroup] = []

    def group(folder: Path) -> ProcessGroup:
        groups.append(ProcessGroup(folder))
        return groups[-1]

    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr("trimtab.testing.stack.ProcessGroup", group)
    monkeypatch.setattr(f"trimtab.testing.stack.{fails}", fail)
    programs = {"kube-apiserver": Path("/bin/false")}
    with pytest.raises(OSError, match="no space left"):
        Stack(programs, CertificateAuthority.create(), {}, {}, nodes=0)
    assert list(tmp_path.iterdir()) == []
    assert [g._guard.poll() is not None for g in groups] == ([True] if fails == "command" else [])


@pytest.mark.parametrize("options", [{"components": ["kube-scheduller"]}, {"flags": {"kube-scheduller": ["-v=4"]}}])
def test_a_component_that_there_is_not_is_told_before_anything_is_built(options: dict[str, Any]) -> None:
    with pytest.raises(ControlPlaneError, match="'kube-scheduller' is no component of a control plane: etcd, "):
        ControlPlane(**options)

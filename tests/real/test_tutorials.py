"""The tutorials of the bundled controllers, followed to the letter by kubectl on a real control plane."""

from pathlib import Path

import pytest

from trimtab.testing.control_plane import ControlPlane

from .tutorials import Tutorial, shows


@pytest.mark.parametrize("name", ["curl-me-that", "replicaset"])
def test_without_pods(name: str, control_plane: ControlPlane, real_namespace: str, tmp_path: Path) -> None:
    Tutorial(name, tmp_path, control_plane.kubeconfig_dict(), real_namespace).run()


@pytest.mark.parametrize("name", ["pod-restarter", "pod-locator"])
def test_with_pods(name: str, control_plane_with_nodes: ControlPlane, tmp_path: Path) -> None:
    with control_plane_with_nodes.namespace() as namespace:
        Tutorial(name, tmp_path, control_plane_with_nodes.kubeconfig_dict(), namespace).run()


@pytest.mark.parametrize(
    ("expected", "seen"),
    [
        ("a b", True),
        ("b", True),
        ("a\nc", True),
        ("c\na", False),
        ("a ... x", False),
        ("c ...\ne", True),
        ("c\n...\ne ... g", True),
        ("", True),
    ],
)
def test_what_is_seen(expected: str, seen: bool) -> None:
    assert shows("a  b\nc d\ne f g\n", expected) is seen

"""Who may do what, as kubectl asks and shows it; and what becomes of tokens when the program starts anew."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from tests.apiserver.running import program

pytestmark = pytest.mark.skipif(not shutil.which("kubectl"), reason="kubectl is not on PATH")


async def test_kubectl_asks_who_may_do_what(tmp_path: Path) -> None:
    async with program(tmp_path) as server:
        kubectl = server.kubectl
        assert "kubernetes-admin" in await kubectl("auth", "whoami")
        assert "yes" in await kubectl("auth", "can-i", "delete", "nodes")
        refused = await kubectl("get", "pods", "--as=ann", fails=True)
        assert 'pods is forbidden: User "ann" cannot list resource "pods" in API group ""' in refused
        await kubectl("create", "rolebinding", "ann", "--clusterrole=view", "--user=ann")
        assert "yes" in await kubectl("auth", "can-i", "list", "pods", "--as=ann")
        await kubectl("get", "pods", "--as=ann")
        listed = " ".join((await kubectl("auth", "can-i", "--list", "--as=ann")).split())
        assert "pods/log [] [] [get list watch]" in listed
        assert "cannot list resource" in await kubectl("get", "secrets", "--as=ann", fails=True)
        assert "dev" in await kubectl("auth", "whoami", "--as=ann", "--as-group=dev")


async def test_a_token_outlives_the_program(tmp_path: Path) -> None:
    folder = ("--data-dir", str(tmp_path / "data"))
    async with program(tmp_path, *folder) as server:
        await server.kubectl("create", "serviceaccount", "robot")
        token = (await server.kubectl("create", "token", "robot")).strip()
    async with program(tmp_path, *folder) as server:
        assert "system:serviceaccount:default:robot" in await server.kubectl(
            "--kubeconfig", str(without_certificate(server.kubeconfig)), "--token", token, "auth", "whoami"
        )


def without_certificate(kubeconfig: Path) -> Path:
    """The same without the administrator's certificate, which would count for more than a token."""
    lines = [line for line in kubeconfig.read_text().splitlines() if "client-" not in line]
    other = kubeconfig.with_name("kubeconfig-without-user")
    other.write_text("\n".join(lines) + "\n")
    return other

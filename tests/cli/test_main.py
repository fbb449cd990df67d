"""The command line: what it says where no cluster is needed, and how soon."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import trimtab


def trimtab_cli(*words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    env = {k: v for k, v in os.environ.items() if k not in ("KUBECONFIG", "PYTHONDONTWRITEBYTECODE")} | environment
    command = [sys.executable, "-m", "trimtab", *words]
    return subprocess.run(command, env=env, capture_output=True, text=True, timeout=30, check=False)


def test_version() -> None:
    assert trimtab_cli("--version").stdout == f"trimtab {trimtab.__version__}\n"


def test_an_unknown_command_is_an_error() -> None:
    done = trimtab_cli("chekc")
    assert done.returncode == 2
    assert "No such command 'chekc'" in done.stderr


def test_help_imports_neither_client_nor_kinds() -> None:
    """`trimtab --help` has to answer within 150 ms, and these two take longer than that to import."""
    code = (
        "import sys, trimtab.cli; print([m for m in sys.modules if m.startswith(('trimtab.client', 'trimtab.kube'))])"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"
    assert "check" in trimtab_cli("--help").stdout


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (None, r"kubeconfig .*config does not exist"),
        ("", r"config: there is no context in it"),
        ("a: [", r"config is not YAML: .*"),
        ("- a", r"config: .*"),
        ("apiVersion: v1\nkind: Config\n", r"config: there is no context in it"),
    ],
    ids=["missing", "empty", "malformed", "a list", "without a context"],
)
def test_a_kubeconfig_that_cannot_be_used_is_one_line(tmp_path: Path, text: str | None, line: str) -> None:
    path = tmp_path / "config"
    if text is not None:
        path.write_text(text)
    assert_one_line(trimtab_cli("check", "--kubeconfig", str(path)), line)


def test_no_cluster_at_all_is_one_line(tmp_path: Path) -> None:
    assert_one_line(trimtab_cli("check", HOME=str(tmp_path)), r"no cluster to talk to: .*")


def test_an_unknown_context_is_one_line(tmp_path: Path) -> None:
    path = tmp_path / "config"
    path.write_text("contexts: [{name: here, context: {cluster: c, user: u}}]")
    done = trimtab_cli("check", "--kubeconfig", str(path), "--context", "there")
    assert_one_line(done, r".*'there' is not among its contexts: here")


def assert_one_line(done: subprocess.CompletedProcess[str], line: str) -> None:
    assert done.returncode == 1
    assert done.stdout == ""
    (only,) = done.stderr.splitlines()
    assert re.search(line, only), only
    assert only.startswith("error: ")

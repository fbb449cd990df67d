"""What importing costs."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

CPU_BUDGET = 0.120

TIMED = """
import time
before = time.process_time()
import trimtab.kube.core.v1
print(time.process_time() - before)
"""


def run(code: str, pycache: Path) -> str:
    # In a folder of its own, the bytecode is there from the second run on, whoever runs the tests.
    env = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    env["PYTHONPYCACHEPREFIX"] = str(pycache)
    return subprocess.run([sys.executable, "-c", code], env=env, check=True, capture_output=True, text=True).stdout


def test_the_core_kinds_are_imported_within_their_budget(tmp_path: Path) -> None:
    run(TIMED, tmp_path)
    assert min(float(run(TIMED, tmp_path)) for _ in range(5)) < CPU_BUDGET


@pytest.mark.parametrize(
    ("statement", "kinds"),
    [
        ("import trimtab.kube", ["meta.v1"]),
        ("from trimtab.kube import class_for; class_for('example.com/v1', 'Widget')", ["meta.v1"]),
        (
            "from trimtab.kube import class_for; class_for('coordination.k8s.io/v1', 'Lease')",
            ["coordination.v1", "meta.v1"],
        ),
    ],
)
def test_a_group_is_imported_when_it_is_asked_for(statement: str, kinds: list[str], tmp_path: Path) -> None:
    code = f"import sys; {statement}; print(*sys.modules)"
    imported = re.findall(r"\btrimtab\.kube\.(\w+\.v\w+)", run(code, tmp_path))
    assert sorted(imported) == kinds

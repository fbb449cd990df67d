"""The pytest plugin on a machine that has neither the programs nor Go, seen as its user sees it."""

import subprocess
import sys
from pathlib import Path

import pytest

pytest_plugins = ["pytester"]

THREE_NEED_IT = """
    import pytest

    @pytest.mark.parametrize("number", [1, 2])
    def test_with_control_plane(control_plane, number): ...

    def test_with_namespace(real_namespace): ...

    def test_without(): ...
"""


@pytest.fixture
def bare(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    monkeypatch.setenv("PATH", str(pytester.mkdir("bin")))
    monkeypatch.setenv("XDG_CACHE_HOME", str(pytester.mkdir("cache")))
    for variable in ("KUBEBUILDER_ASSETS", "TRIMTAB_REQUIRE_REAL", "TRIMTAB_KUBERNETES_VERSION"):
        monkeypatch.delenv(variable, raising=False)
    pytester.makepyfile(THREE_NEED_IT)
    return pytester


def test_a_skip_is_one_loud_line(bare: pytest.Pytester) -> None:
    result = bare.runpytest_subprocess()
    result.assert_outcomes(passed=1, skipped=3)
    lines = [line for line in result.outlines if "SKIPPED" in line]
    assert len(lines) == 1
    assert lines[0].startswith("3 tests were SKIPPED, no real control plane: no etcd for Kubernetes 1.36.3")
    assert "install Go" in lines[0]
    assert "KUBEBUILDER_ASSETS" in lines[0]
    assert result.outlines.index(lines[0]) == len(result.outlines) - 2, "pytest's closing line stays the last"


def test_where_it_is_required_its_lack_is_an_error(bare: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRIMTAB_REQUIRE_REAL", "1")
    result = bare.runpytest_subprocess()
    result.assert_outcomes(passed=1, errors=3)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["no etcd for Kubernetes*install Go*TRIMTAB_REQUIRE_REAL*"])
    result.stdout.no_fnmatch_line("*SKIPPED*")
    result.stdout.no_fnmatch_line("*Traceback*")


def test_without_need_nothing_is_said(bare: pytest.Pytester) -> None:
    result = bare.runpytest_subprocess("-k", "not with_")
    result.assert_outcomes(passed=1, deselected=3)
    result.stdout.no_fnmatch_line("*control plane*")


def test_loading_the_plugin_imports_nothing_heavy() -> None:
    heavy = {"cryptography", "aiohttp", "msgspec", "yaml", "trimtab.kube", "trimtab.client", "trimtab.testing.binaries"}
    code = "import sys, trimtab.testing.plugin; print(*sys.modules, sep='\\n')"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert heavy.isdisjoint(loaded.split())


def test_a_broken_build_is_an_error_and_no_skip(bare: pytest.Pytester) -> None:
    go = Path("bin/go")
    go.write_text("#!/bin/sh\necho 'dial tcp: connection refused' >&2\nexit 1\n")
    go.chmod(0o755)
    result = bare.runpytest_subprocess()
    result.assert_outcomes(passed=1, errors=3)
    result.stdout.fnmatch_lines(
        ["*BuildError: etcd * could not be built, `go list` failed: dial tcp: connection refused*"]
    )
    result.stderr.fnmatch_lines(["trimtab: compiling etcd of Kubernetes 1.36.3*"])

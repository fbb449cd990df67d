"""Fixtures for clients that know nothing of Trimtab: the program that they meet, and those of them written in Go."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import sys
from collections.abc import Callable, Generator, Iterator
from pathlib import Path

import pytest
from tests.peers.building import Build, CannotBuildError
from tests.peers.serving import Place, place, served

_HERE = Path(__file__).parent
_BUILD = pytest.StashKey[Build]()


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Begin to build what the chosen tests need, and let those come last."""
    needed = {"go_program"} if shutil.which("kubectl") else {"go_program", "kubectl"}
    in_go = [item for item in items if needed & {*getattr(item, "fixturenames", ())}]
    build = config.stash[_BUILD] = Build()
    if in_go and not config.option.collectonly:
        build.start()
        items[:] = [item for item in items if item not in in_go] + in_go


@pytest.hookimpl
def pytest_unconfigure(config: pytest.Config) -> None:
    if _BUILD in config.stash:
        config.stash[_BUILD].stop()


@pytest.fixture(scope="session")
def kubectl(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Has kubectl on PATH: the machine's, or one that is built."""
    with pytest.MonkeyPatch.context() as patch:
        if not shutil.which("kubectl"):
            folder = tmp_path_factory.mktemp("bin")
            (folder / "kubectl").symlink_to(_built(request.config, "kubectl"))
            patch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
        yield


@pytest.fixture(scope="session")
def program(kubectl: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The kubeconfig of one server for all of these tests."""
    with served(tmp_path_factory.mktemp("server")) as kubeconfig:
        yield kubeconfig


@pytest.fixture
def here(program: Path, tmp_path: Path, request: pytest.FixtureRequest) -> Generator[Place]:
    """A namespace of the test's own."""
    name = re.sub(r"[^a-z0-9]+", "-", request.node.name.removeprefix("test_")).strip("-")
    with place(program, tmp_path, name) as made:
        yield made


@pytest.fixture
def go_program(kubectl: None, request: pytest.FixtureRequest) -> Callable[[str], str]:
    """Gives the path of helm, informer or manager."""
    return lambda name: str(_built(request.config, name))


@pytest.fixture
def python_program() -> Callable[..., tuple[str, ...]]:
    """Gives the command that runs one of the programs in tests/peers/python, which needs some module."""

    def command(name: str, module: str) -> tuple[str, ...]:
        if importlib.util.find_spec(module) is None:
            _lacking(f"the package {module} is not installed: make install")
        return (sys.executable, str(_HERE / "python" / name))

    return command


def _built(config: pytest.Config, name: str) -> Path:
    try:
        return config.stash[_BUILD].program(name)
    except CannotBuildError as error:
        _lacking(str(error))
        raise


def _lacking(reason: str) -> None:
    if os.environ.get("TRIMTAB_REQUIRE_REAL") == "1":
        pytest.fail(f"{reason} (TRIMTAB_REQUIRE_REAL forbids to skip)", pytrace=False)
    pytest.skip(reason)

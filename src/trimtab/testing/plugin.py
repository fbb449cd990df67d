"""The pytest plugin: a server in the process for a test; a real control plane for a session.

pytest loads this wherever Trimtab is installed, so it imports nothing but pytest until a fixture is asked for.
"""

import os
import sys
from collections.abc import Generator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from trimtab.apiserver.server import Server
    from trimtab.client import Client
    from trimtab.local.cluster import Cluster
    from trimtab.testing.control_plane import ControlPlane

_MISSING = "no real control plane"
_REQUIRED = "TRIMTAB_REQUIRE_REAL"


@dataclass
class _Planes:
    running: "dict[str, ControlPlane]" = field(default_factory=dict[str, "ControlPlane"])
    failed: set[str] = field(default_factory=set[str])


_PLANES = pytest.StashKey[_Planes]()


@pytest.fixture
def api() -> "Generator[Server]":
    """A fresh Kubernetes API server in this process, in memory: milliseconds, and no sockets."""
    from trimtab.apiserver.server import Server  # noqa: PLC0415 - see the module's docstring

    server = Server()
    yield server
    server.close()


@pytest.fixture
def client(api: "Server") -> "Client":
    """A client of `api` that may do everything. It holds nothing that would have to be closed."""
    from trimtab.client import Client  # noqa: PLC0415 - see the module's docstring
    from trimtab.local import LocalTransport  # noqa: PLC0415

    return Client(LocalTransport(api))


@pytest.fixture
def cluster() -> "Generator[Cluster]":
    """A fresh cluster in this process, to be entered: in `async with cluster:` its loops and nodes are at work."""
    from trimtab.local.cluster import Cluster  # noqa: PLC0415 - see the module's docstring

    made = Cluster()
    yield made
    made.server.close()


@pytest.fixture(scope="session")
def control_plane(request: pytest.FixtureRequest) -> "Generator[ControlPlane]":
    """etcd and kube-apiserver, ready; the user `token-admin` may do everything with a bearer token."""
    yield from _control_plane(request)


@pytest.fixture(scope="session")
def control_plane_with_nodes(request: pytest.FixtureRequest) -> "Generator[ControlPlane]":
    """A control plane with controllers, scheduler and two fake nodes, on which Pods get to run."""
    from trimtab.testing.binaries import EXTRAS  # noqa: PLC0415 - see the module's docstring

    yield from _control_plane(request, EXTRAS)


@pytest.fixture
def real_namespace(control_plane: "ControlPlane") -> Generator[str]:
    """The name of a fresh namespace in `control_plane`, deleted after the test."""
    with control_plane.namespace() as name:
        yield name


def _control_plane(request: pytest.FixtureRequest, components: Sequence[str] = ()) -> "Generator[ControlPlane]":
    from trimtab.testing.binaries import BinariesMissingError  # noqa: PLC0415 - see the module's docstring
    from trimtab.testing.control_plane import ControlPlane  # noqa: PLC0415

    name = request.fixturename or ""
    plane = ControlPlane(
        components=components,
        users={"token-admin": ["system:masters"]},
        announce=lambda line: _announce(request.config, line),
    )
    try:
        plane.start()
    except BinariesMissingError as error:
        if os.environ.get(_REQUIRED) == "1":
            pytest.fail(f"{error} ({_REQUIRED} forbids to skip)", pytrace=False)
        pytest.skip(f"{_MISSING}: {error}")
    planes = request.session.stash.setdefault(_PLANES, _Planes())
    planes.running[name] = plane
    yield plane
    del planes.running[name]
    plane.stop(keep_logs=name in planes.failed)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Tell beside a failure where the logs of the control plane are, which are then kept."""
    report = yield
    planes = item.session.stash.get(_PLANES, None)
    if report.failed and planes:
        used: list[str] = getattr(item, "fixturenames", [])
        for name in planes.running.keys() & set(used):
            planes.failed.add(name)
            report.sections.append((f"logs of {name}", str(planes.running[name].logs)))
    return report


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say in one line how many tests had no control plane to run against, and how to get one."""
    reports: list[pytest.TestReport] = terminalreporter.getreports("skipped")
    # A skip is reported as the tuple of file, line and reason, whose type pytest leaves open.
    reasons = [str(report.longrepr[2]) for report in reports if isinstance(report.longrepr, tuple)]  # pyright: ignore[reportUnknownMemberType, reportUnknownArgumentType]
    missing = [reason for reason in reasons if _MISSING in reason]
    if missing:
        line = f"{len(missing)} tests were SKIPPED, {missing[0].removeprefix('Skipped: ')}"
        terminalreporter.write_line(line, yellow=True, bold=True)


def _announce(config: pytest.Config, line: str) -> None:
    # Minutes of silence look like a hang: this line has to get past pytest's capturing.
    capture: Any = config.pluginmanager.getplugin("capturemanager")
    with capture.global_and_fixture_disabled() if capture else nullcontext():
        sys.stderr.write(f"\ntrimtab: {line}\n")
        sys.stderr.flush()

"""The control plane that the other tests in this folder stand on: up, apart from others, breakable, and gone after."""

import json
import shutil
import signal
import ssl
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from trimtab.testing.binaries import ensure
from trimtab.testing.control_plane import ControlPlane, ControlPlaneError
from trimtab.testing.loopback import Answer, LocalServer
from trimtab.testing.processes import ServerError
from trimtab.testing.waiting import wait_until

pytest_plugins = ["pytester"]


@pytest.fixture(scope="module")
def breakable(control_plane: ControlPlane) -> Iterator[ControlPlane]:
    """A control plane of this module's own: nobody else may notice what is done to it."""
    with ControlPlane(control_plane.version) as own:
        yield own


@pytest.fixture(scope="module")
def assets(control_plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The programs in one folder: pytester's own HOME has nothing built in it."""
    folder = tmp_path_factory.mktemp("assets")
    for component, program in ensure(kubernetes=control_plane.version).items():
        (folder / component).symlink_to(program)
    return folder


def ask(plane: ControlPlane, path: str, token: str | None = None, timeout: float = 30) -> Answer:
    """Send a GET without the administrator's certificate."""
    tls = ssl.create_default_context(cadata=plane.authority.certificate.decode())
    server = LocalServer(int(plane.url.rpartition(":")[2]), tls)
    return server.request("GET", path, headers={"Authorization": f"Bearer {token}"} if token else {}, timeout=timeout)


def kubectl(config: Path, *arguments: str) -> str:
    program = shutil.which("kubectl")
    if program is None:
        pytest.skip("no kubectl on PATH")
    command = [program, f"--kubeconfig={config}", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout


def config_map(name: str) -> dict[str, Any]:
    return {"metadata": {"name": name}, "data": {"name": name}}


def gone(pid: int) -> bool:
    shown = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True, check=False)
    return shown.stdout.strip()[:1] in {"", "Z"}


def test_it_is_the_version_that_was_asked_for(control_plane: ControlPlane) -> None:
    program = ensure(["kube-apiserver"], control_plane.version)["kube-apiserver"]
    said = subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout
    assert said.split() == ["Kubernetes", control_plane.request("GET", "/version")["gitVersion"]]


def test_kubectl_works(control_plane: ControlPlane, real_namespace: str) -> None:
    names = kubectl(control_plane.kubeconfig(), "get", "ns", "-o", "name").split()
    assert {"namespace/default", f"namespace/{real_namespace}"} <= set(names)


def test_a_certificate_carries_user_and_groups(control_plane: ControlPlane) -> None:
    config = control_plane.kubeconfig("jane:of ops", ["devs", "on/call"])
    attributes = json.loads(kubectl(config, "auth", "whoami", "-o", "json"))["status"]["userInfo"]
    assert attributes["username"] == "jane:of ops"
    assert sorted(attributes["groups"]) == ["devs", "on/call", "system:authenticated"]
    with pytest.raises(subprocess.CalledProcessError) as refused:
        kubectl(config, "get", "pods")
    assert 'pods is forbidden: User "jane:of ops"' in refused.value.stderr


def test_only_who_has_proven_a_name_gets_in(control_plane: ControlPlane) -> None:
    assert ask(control_plane, "/api/v1/namespaces").status == 401
    assert ask(control_plane, "/readyz", "nobody's").status == 401
    assert ask(control_plane, "/api/v1/namespaces", control_plane.token("token-admin")).status == 200


def test_a_namespace_is_deleted_after_use(control_plane: ControlPlane) -> None:
    with control_plane.namespace() as name, control_plane.namespace() as other:
        assert name != other
    for gone_name in (name, other):
        try:
            phase = control_plane.request("GET", f"/api/v1/namespaces/{gone_name}")["status"]["phase"]
        except ControlPlaneError as error:
            assert "404" in str(error)  # noqa: PT017 - either is right
        else:
            assert phase == "Terminating"


def test_several_at_once_keep_apart(control_plane: ControlPlane) -> None:
    planes = [ControlPlane(control_plane.version) for _ in range(2)]
    with ThreadPoolExecutor() as pool:
        list(pool.map(ControlPlane.start, planes))
    try:
        assert len({plane.url for plane in (control_plane, *planes)}) == 3
        assert ask(planes[0], "/readyz", control_plane.token("token-admin")).status == 401, "each has its own users"
    finally:
        for plane in planes:
            plane.stop()


def test_killed_servers_come_back_with_their_data(breakable: ControlPlane) -> None:
    with breakable.namespace() as namespace:
        path = f"/api/v1/namespaces/{namespace}/configmaps"
        url, before = breakable.url, breakable.request("POST", path, config_map("kept"))
        for component in ("etcd", "kube-apiserver"):
            pid = breakable.pids[component]
            breakable.kill(component)
            assert component not in breakable.pids
            breakable.restart(component)
            assert breakable.pids[component] != pid
        wait_until(lambda: ask(breakable, "/readyz").status == 401, "the API server to answer again")
        assert breakable.url == url
        assert breakable.request("GET", f"{path}/kept") == before


def test_a_paused_server_answers_late(breakable: ControlPlane) -> None:
    breakable.pause("kube-apiserver")
    with pytest.raises(TimeoutError):
        ask(breakable, "/readyz", timeout=0.2)
    breakable.resume("kube-apiserver")
    assert ask(breakable, "/readyz").status == 401


def test_compaction_expires_what_was_begun_before(breakable: ControlPlane) -> None:
    with breakable.namespace() as namespace:
        path = f"/api/v1/namespaces/{namespace}/configmaps"
        for number in range(4):
            breakable.request("POST", path, config_map(f"number-{number}"))
        page = breakable.request("GET", f"{path}?limit=2")["metadata"]
        breakable.request("POST", path, config_map("another"))
        assert breakable.compact() > int(page["resourceVersion"])
        breakable.restart("kube-apiserver")
        with pytest.raises(ControlPlaneError, match=r"answered 410: .*Expired"):
            breakable.request("GET", f"{path}?limit=2&continue={quote(page['continue'])}")
        # A watch is answered 200, and the reason comes as its first and only event.
        event = breakable.request("GET", f"{path}?watch=1&resourceVersion={page['resourceVersion']}&timeoutSeconds=9")
        assert (event["type"], event["object"]["code"], event["object"]["reason"]) == ("ERROR", 410, "Expired")


def test_pods_run_on_the_nodes(control_plane_with_nodes: ControlPlane) -> None:
    plane = control_plane_with_nodes
    pod = {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "web", "image": "web:1"}]}}
    spec = {"replicas": 3, "selector": {"matchLabels": {"app": "web"}}, "template": pod}
    with plane.namespace() as namespace:
        path = f"/apis/apps/v1/namespaces/{namespace}/deployments"
        plane.request("POST", path, {"metadata": {"name": "web"}, "spec": spec})
        available = lambda: plane.request("GET", f"{path}/web")["status"].get("availableReplicas") == 3  # noqa: E731
        wait_until(available, "the Deployment to be available")
        pods = plane.request("GET", f"/api/v1/namespaces/{namespace}/pods")["items"]
        assert {pod["status"]["phase"] for pod in pods} == {"Running"}
        assert {pod["spec"]["nodeName"] for pod in pods} <= {"node-0", "node-1"}


def test_nodes_stay_ready_however_late_their_heartbeats_come(control_plane_with_nodes: ControlPlane) -> None:
    """To see it happen would take the whole of the usual grace, 50 s; so this sees that it runs with a longer one."""
    pid = str(control_plane_with_nodes.pids["kube-controller-manager"])
    shown = subprocess.run(["ps", "-ww", "-o", "args=", "-p", pid], capture_output=True, text=True, check=True).stdout
    assert "--node-monitor-grace-period=1h" in shown.split()


def test_a_start_that_fails_says_why_and_leaves_only_logs(control_plane: ControlPlane) -> None:
    plane = ControlPlane(control_plane.version, flags={"kube-apiserver": ["--no-such-flag"]})
    with pytest.raises(
        ServerError, match=r"kube-apiserver ended at its start: .*unknown flag: --no-such-flag"
    ) as caught:
        plane.start()
    log = Path(str(caught.value).rpartition("(log: ")[2].removesuffix(")"))
    assert log.name == "kube-apiserver.log"
    assert [entry.name for entry in log.parent.parent.iterdir()] == ["logs"]
    shutil.rmtree(log.parent.parent)


PARENT = """
import sys
from trimtab.testing.control_plane import ControlPlane
with ControlPlane(sys.argv[1]) as plane:
    print(plane.logs.parent, *plane.pids.values(), flush=True)
    sys.stdin.read()
"""


def test_it_ends_with_a_parent_that_is_killed(control_plane: ControlPlane) -> None:
    command = [sys.executable, "-c", PARENT, control_plane.version]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout
        folder, *pids = parent.stdout.readline().split()
        assert len(pids) == 2
        parent.send_signal(signal.SIGKILL)
        parent.wait(timeout=30)
        wait_until(lambda: all(gone(int(pid)) for pid in pids), "its servers to die", seconds=30)
        wait_until(lambda: not Path(folder).exists(), "its folder to go", seconds=30)


def test_a_failing_test_says_where_the_logs_are(
    assets: Path, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KUBEBUILDER_ASSETS", str(assets))
    pytester.makepyfile(
        """
        def test_fails(real_namespace, control_plane):
            control_plane.request("GET", "/no/such/thing")

        def test_has_nothing_to_do_with_it():
            assert False
        """
    )
    result = pytester.runpytest_subprocess()
    result.assert_outcomes(failed=2)
    titles = [number for number, line in enumerate(result.outlines) if "logs of control_plane" in line]
    assert len(titles) == 1, "only the failure that has to do with the control plane tells"
    logs = Path(result.outlines[titles[0] + 1])
    assert {log.name for log in logs.iterdir()} == {"etcd.log", "kube-apiserver.log"}
    shutil.rmtree(logs.parent)

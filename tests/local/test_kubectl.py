"""What somebody new tries in the first ten minutes: kubectl, unmodified, against `trimtab dev`."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.peers.serving import Place, place, until

APPLICATION = """
apiVersion: v1
kind: Secret
metadata: {name: mysql-pass}
stringData: {password: secret}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
data: {WP_DEBUG: "1"}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data}
spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 20Gi}}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, labels: {app: web}}
spec:
  replicas: 3
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}, annotations: {team: blue}}
    spec:
      containers:
      - name: web
        image: wordpress:6.2
        ports: [{containerPort: 80, name: http}]
        env: [{name: PASSWORD, valueFrom: {secretKeyRef: {name: mysql-pass, key: password}}}]
        envFrom: [{configMapRef: {name: settings}}]
        volumeMounts: [{name: data, mountPath: /var/www/html}]
        readinessProbe: {httpGet: {path: /, port: http}}
      volumes: [{name: data, persistentVolumeClaim: {claimName: data}}]
---
apiVersion: v1
kind: Service
metadata: {name: web}
spec: {type: LoadBalancer, selector: {app: web}, ports: [{port: 80, targetPort: http}]}
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: web}
spec:
  rules:
  - host: example.com
    http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: web, port: {number: 80}}}}]}
---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: web}
spec: {scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}, maxReplicas: 5}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: web}
spec: {minAvailable: 2, selector: {matchLabels: {app: web}}}
---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: web}
spec: {podSelector: {matchLabels: {app: web}}, ingress: [{ports: [{port: 80}]}]}
"""
STATUS = "--timeout=30s"


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The kubeconfig of one cluster for all of these tests."""
    if not shutil.which("kubectl"):
        pytest.skip("kubectl is not on PATH")
    folder = tmp_path_factory.mktemp("dev")
    kubeconfig, said = folder / "kubeconfig", folder / "said"
    command = [sys.executable, "-m", "trimtab", "dev", "--nodes=2", "--port=0", f"--kubeconfig={kubeconfig}"]
    with said.open("w") as out:
        process = subprocess.Popen(command, stdout=out, stderr=out, cwd=folder)
    try:
        until(lambda: "Ctrl-C ends it" in said.read_text(), "trimtab dev is ready")
        yield kubeconfig
    finally:
        process.terminate()
        process.wait(30)
    assert "Traceback" not in said.read_text()


@pytest.fixture
def here(program: Path, tmp_path: Path, request: pytest.FixtureRequest) -> Generator[Place]:
    name = re.sub(r"[^a-z0-9]+", "-", request.node.name.removeprefix("test_")).strip("-")
    with place(program, tmp_path, name) as made:
        yield made


def rolled_out(here: Place) -> None:
    assert "successfully rolled out" in here.kubectl(f"rollout status deployment/web {STATUS}")


def image(here: Place) -> str:
    return here.read("deployment web")["spec"]["template"]["spec"]["containers"][0]["image"]


def test_an_application_of_many_parts(here: Place) -> None:
    here.kubectl("apply -f -", APPLICATION)
    rolled_out(here)
    assert "unchanged" in here.kubectl("apply -f -", APPLICATION)
    here.kubectl(f"wait pvc/data --for=jsonpath={{.status.phase}}=Bound {STATUS}")
    assert "3/3" in here.kubectl("get all")
    until(lambda: here.kubectl("describe service web").count(":80,") == 2, "the Service leads to three Pods")
    until(lambda: "Allowed disruptions:  1" in here.kubectl("describe pdb web"), "the budget allows one to go")
    described = here.kubectl("describe deployment web")
    assert "NewReplicaSetAvailable" in described
    pod = here.kubectl("get pods -l app=web -o name").split()[0]
    assert "Successfully assigned" in here.kubectl(f"describe {pod}")
    until(lambda: "nothing is scaled here" in here.kubectl("describe hpa web"), "it is said that nothing is scaled")
    for kind in ("pvc", "pv", "ingress", "hpa", "netpol", "secret", "cm", "endpointslices", "nodes", "sc", "events"):
        assert here.kubectl(f"describe {kind}")


def test_a_deployment_goes_forth_and_back(here: Place) -> None:
    here.kubectl("create deployment web --image=nginx:1 --replicas=3")
    rolled_out(here)
    here.kubectl("set image deployment/web nginx=nginx:2")
    here.kubectl("annotate deployment/web kubernetes.io/change-cause=newer")
    rolled_out(here)
    history = here.kubectl("rollout history deployment/web").split()
    assert history[-4:] == ["1", "<none>", "2", "newer"]
    here.kubectl("rollout undo deployment/web")
    rolled_out(here)
    assert image(here) == "nginx:1"
    here.kubectl("rollout restart deployment/web")  # by an annotation of the template
    rolled_out(here)
    here.kubectl("rollout pause deployment/web")
    here.kubectl("set env deployment/web A=b")
    here.kubectl("set resources deployment/web --limits=cpu=100m")
    here.kubectl("rollout resume deployment/web")
    rolled_out(here)
    here.kubectl("scale deployment/web --replicas=5")
    here.kubectl(f"wait deployment/web --for=jsonpath={{.status.readyReplicas}}=5 {STATUS}")
    here.kubectl("delete deployment web --cascade=orphan")
    assert here.kubectl("get replicasets -o name")
    here.kubectl("delete replicasets --all --cascade=foreground")
    assert here.kubectl("get pods -o name") == ""


def test_a_node_is_drained_as_budgets_allow(here: Place) -> None:
    here.kubectl("create deployment web --image=nginx --replicas=4")
    here.kubectl("create poddisruptionbudget web --selector=app=web --min-available=3")
    rolled_out(here)
    until(lambda: here.read("pdb web")["status"].get("disruptionsAllowed"), "one may go")
    try:
        here.kubectl("cordon node-1")
        assert "SchedulingDisabled" in here.kubectl("get nodes")
        assert "drained" in here.kubectl("drain node-1 --ignore-daemonsets --delete-emptydir-data --timeout=50s")
        rolled_out(here)
        assert {pod["spec"]["nodeName"] for pod in here.read("pods -l app=web")["items"]} == {"node-2"}
    finally:
        here.kubectl("uncordon node-1")
    here.kubectl("taint nodes node-2 only=others:NoExecute")
    try:
        until(lambda: nodes_of(here) == {"node-1"}, "the Pods leave the tainted node")
    finally:
        here.kubectl("taint nodes node-2 only-")


def nodes_of(here: Place) -> set[Any]:
    return {pod["spec"].get("nodeName") for pod in here.read("pods -l app=web")["items"]}


def test_pods_and_jobs_by_hand_and_what_they_say(here: Place) -> None:
    here.kubectl("run web --image=nginx --port=80")
    here.kubectl("expose pod web --port=80")
    here.kubectl(f"wait pod/web --for=condition=Ready {STATUS}")
    assert "nothing really runs" in here.kubectl("logs web")
    assert "nothing really runs" in here.kubectl("logs -l run=web --tail=2")
    assert "not found" in here.kubectl("logs web --previous", fails=True)
    here.kubectl("create cronjob often --image=busybox --schedule=@monthly -- echo hi")
    here.kubectl("create job once --from=cronjob/often")
    here.kubectl(f"wait job/once --for=condition=Complete {STATUS}")
    assert "hi" in here.kubectl("logs job/once")
    here.kubectl("label pod web tier=front")
    here.kubectl("delete pod,service web")
    assert "web" not in here.kubectl("get pods")


@pytest.mark.parametrize("command", ["exec web -- ls", "attach web", "port-forward web 0:80", "cp web:/etc/passwd ./p"])
def test_what_is_not_there_says_so_in_one_line(here: Place, command: str) -> None:
    here.kubectl("run web --image=nginx --port=80")
    here.kubectl(f"wait pod/web --for=condition=Ready {STATUS}")
    assert "Pods are simulated" in here.kubectl(command, fails=True)
    assert "Metrics API not available" in here.kubectl("top pods", fails=True)

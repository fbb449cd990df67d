"""Helm: a chart with a definition, hooks and a lookup, from install to uninstall."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable
from typing import Any

from tests.peers.serving import Place, running, until
from tests.peers.things import definition

_CHART = {"apiVersion": "v2", "name": "app", "version": "1.0.0", "appVersion": "1"}
_VALUES = {"text": "hello", "replicas": 1, "extra": False}
_TEMPLATES = {
    "settings.yaml": """
apiVersion: v1
kind: ConfigMap
metadata:
  name: {{ .Release.Name }}
  labels: {app.kubernetes.io/managed-by: {{ .Release.Service }}}
data:
  text: {{ .Values.text }}
  revision: "{{ .Release.Revision }}"
  namespace: {{ (lookup "v1" "Namespace" "" .Release.Namespace).metadata.uid | quote }}
  jobs: "{{ .Capabilities.APIVersions.Has "batch/v1/Job" }}"
  kubernetes: {{ .Capabilities.KubeVersion.Version }}
{{- if .Values.extra }}
---
apiVersion: v1
kind: Secret
metadata: {name: extra}
stringData: {k: v}
{{- end }}
""",
    "web.yaml": """
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: {{ .Values.replicas }}
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: nginx}]}
---
apiVersion: v1
kind: Service
metadata: {name: web}
spec: {selector: {app: web}, ports: [{port: 80}]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: web}
rules: [{apiGroups: [""], resources: [configmaps], verbs: [get]}]
""",
    "thing.yaml": """
apiVersion: peers.trimtab.dev/v1
kind: Part
metadata: {name: part}
spec: {size: {{ .Values.replicas }}}
""",
    "hook.yaml": """
apiVersion: batch/v1
kind: Job
metadata:
  name: before
  annotations: {helm.sh/hook: "pre-install,pre-upgrade", helm.sh/hook-delete-policy: before-hook-creation}
spec:
  template: {spec: {restartPolicy: Never, containers: [{name: c, image: busybox}]}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: after, annotations: {helm.sh/hook: "post-install", helm.sh/hook-weight: "1"}}
""",
    "NOTES.txt": "see {{ .Release.Name }}",
}
_COMPLETE = [
    {"type": "SuccessCriteriaMet", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"},
    {"type": "Complete", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"},
]
_NO_FINALIZERS = '{"metadata": {"finalizers": null}}'
_DONE = {
    "succeeded": 1,
    "startTime": "2026-01-01T00:00:00Z",
    "completionTime": "2026-01-01T00:00:10Z",
    "conditions": _COMPLETE,
}


def chart(here: Place) -> None:
    here.write("app/Chart.yaml", _CHART)
    here.write("app/values.yaml", _VALUES)
    here.write("app/crds/parts.yaml", definition("Part", {"type": "object"}))
    (here.folder / "app" / "templates").mkdir()
    for name, text in _TEMPLATES.items():
        (here.folder / "app" / "templates" / name).write_text(text)


def completed_by_us(here: Place, *command: str) -> None:
    """Run helm, and be the controller of the Job that it waits for."""
    before = here.kubectl("get job before --ignore-not-found -o jsonpath={.metadata.uid}")
    with running(here, *command) as helm:
        until(
            lambda: here.kubectl("get job before --ignore-not-found -o jsonpath={.metadata.uid}") not in ("", before),
            "that helm made the Job of its hook",
        )
        assert helm.poll() is None
        patch = shlex.quote(json.dumps({"status": _DONE}))
        here.kubectl(f"patch job before --subresource=status --type=merge -p {patch}")
        said = helm.communicate(timeout=60)[0]
        assert helm.returncode == 0, said + (here.folder / "stderr").read_text()


def test_helm(here: Place, go_program: Callable[[str], str]) -> None:
    program = go_program("helm")

    def helm(arguments: str, *, fails: bool = False) -> str:
        return here.run(program, *shlex.split(arguments), fails=fails)

    def settings() -> dict[str, str]:
        return here.read("configmap rel")["data"]

    def releases() -> list[dict[str, Any]]:
        return json.loads(helm("history rel -o json"))

    chart(here)
    assert "ensure CRDs are installed first" in helm("install rel app --dry-run=server", fails=True)
    completed_by_us(here, program, "install", "rel", "app")
    assert settings()["text"] == "hello"
    assert settings()["namespace"] == here.read(f"namespace {here.namespace}")["metadata"]["uid"]
    assert settings()["jobs"] == "true"
    assert settings()["kubernetes"].startswith("v1.")
    assert here.read("part part")["spec"] == {"size": 1, "text": "none"}
    assert here.read("service web")["spec"]["clusterIP"]
    assert here.read("configmap after")["metadata"]["annotations"]["helm.sh/hook"] == "post-install"
    assert "cannot re-use a name" in helm("install rel app", fails=True)

    planned = helm("upgrade rel app --dry-run=server --set text=planned")
    assert "text: planned" in planned
    assert settings()["text"] == "hello"
    here.kubectl("scale deployment web --replicas=5")
    here.kubectl("annotate deployment web note=mine")
    completed_by_us(here, program, "upgrade", "rel", "app", "--set", "text=bye,extra=true")
    assert settings()["text"] == "bye"
    assert here.read("secret extra")["type"] == "Opaque"
    web = here.read("deployment web")  # is as the chart says, and in what that does not say, as others left it
    assert (web["spec"]["replicas"], web["metadata"]["annotations"]["note"]) == (1, "mine")

    helm("rollback rel 1 --no-hooks")
    assert settings()["text"] == "hello"
    assert settings()["revision"] == "1"
    assert "NotFound" in here.kubectl("get secret extra", fails=True)
    wrong = helm("upgrade rel app --no-hooks --set replicas=-1", fails=True)
    assert "must be greater than or equal to 0" in wrong
    assert [each["status"] for each in releases()] == ["superseded", "superseded", "deployed", "failed"]
    assert json.loads(helm("list -o json"))[0]["revision"] == "4"
    assert json.loads(helm("status rel -o json"))["info"]["notes"] == "see rel"
    assert "kind: Deployment" in helm("get manifest rel")

    assert "release: already exists" not in helm("uninstall rel --keep-history")
    assert releases()[-1]["status"] == "uninstalled"
    assert here.kubectl("get deployment,service,role,part -o name") == ""
    assert here.kubectl("get crd parts.peers.trimtab.dev -o name")  # helm leaves definitions
    helm("uninstall rel")
    assert json.loads(helm("list --all -o json")) == []


def test_helm_waits(here: Place, go_program: Callable[[str], str]) -> None:
    """For a Pod to be ready, a claim to be bound, and on the way out for all to be gone."""
    here.write("app/Chart.yaml", _CHART)
    pod = {"containers": [{"name": "c", "image": "nginx"}]}
    claim = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    (here.folder / "app" / "templates").mkdir()
    here.write(
        "app/templates/all.yaml",
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": "web", "finalizers": ["peers.trimtab.dev/x"]},
            "spec": pod,
        },
        {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "disk"}, "spec": claim},
        {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web"}, "spec": {"ports": [{"port": 80}]}},
    )
    helm = go_program("helm")
    with running(here, helm, "install", "rel", "app", "--wait", "--timeout", "40s") as installing:
        until(lambda: "web" in here.kubectl("get pod,pvc,service -o name"), "that all is made")
        here.kubectl("wait pod web --for=create --timeout=10s")
        ready = shlex.quote(json.dumps({"status": {"conditions": [{"type": "Ready", "status": "True"}]}}))
        here.kubectl(f"patch pod web --subresource=status -p {ready}")
        assert installing.poll() is None
        bound = shlex.quote(json.dumps({"status": {"phase": "Bound"}}))
        here.kubectl(f"patch pvc disk --subresource=status -p {bound}")
        said = installing.communicate(timeout=60)[0]
        assert installing.returncode == 0, said + (here.folder / "stderr").read_text()
    with running(here, helm, "uninstall", "rel", "--wait", "--timeout", "40s") as uninstalling:
        here.kubectl("wait pod web --for=jsonpath={.metadata.deletionTimestamp} --timeout=20s")
        assert uninstalling.poll() is None
        for name in ("pod/web", "pvc/disk"):  # the claim has got one from the server, for its controller
            here.kubectl(f"patch {name} --type=merge -p '{_NO_FINALIZERS}'")
        said = uninstalling.communicate(timeout=60)[0]
        assert uninstalling.returncode == 0, said + (here.folder / "stderr").read_text()
    assert here.kubectl("get pod,pvc,service -o name") == ""

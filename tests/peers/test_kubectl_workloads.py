"""kubectl steers: replicas, images, rollouts and nodes, as far as no controller has to follow."""

from __future__ import annotations

import json
from typing import Any

from tests.peers.serving import Place

_READY = """{"status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}}"""
_ALL_NEEDED = (
    """{"status": {"observedGeneration": 1, "disruptionsAllowed": 0, "currentHealthy": 1, "desiredHealthy": 1}}"""
)


def node(name: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": {"test": name}}}


def test_rollout(here: Place) -> None:
    def spec() -> dict[str, Any]:
        return here.read("deployment web")["spec"]

    def container() -> dict[str, Any]:
        return spec()["template"]["spec"]["containers"][0]

    here.kubectl("create deployment web --image=nginx --replicas=2")
    here.kubectl("scale deployment web --replicas=3")
    assert "Expected replicas to be 9" in here.kubectl(
        "scale deployment web --current-replicas=9 --replicas=1", fails=True
    )
    assert spec()["replicas"] == 3
    scale = """{"spec": {"replicas": 4}}"""
    here.kubectl(f"patch deployment web --subresource=scale --type=merge -p '{scale}'")
    assert here.kubectl("get deployment web --subresource=scale -o jsonpath={.spec.replicas}") == "4"
    here.kubectl("set image deployment/web nginx=nginx:2")
    here.kubectl("set env deployment/web MODE=dark")
    here.kubectl("set resources deployment/web --limits=cpu=200m,memory=64Mi")
    here.kubectl("set serviceaccount deployment web robot")
    assert (container()["image"], container()["env"]) == ("nginx:2", [{"name": "MODE", "value": "dark"}])
    assert container()["resources"] == {"limits": {"cpu": "200m", "memory": "64Mi"}}
    assert spec()["template"]["spec"]["serviceAccountName"] == "robot"
    here.kubectl("rollout pause deployment/web")
    assert "paused" in here.kubectl("rollout restart deployment/web", fails=True)
    here.kubectl("rollout resume deployment/web")
    here.kubectl("rollout restart deployment/web")
    assert "kubectl.kubernetes.io/restartedAt" in spec()["template"]["metadata"]["annotations"]
    generation = here.read("deployment web")["metadata"]["generation"]
    counts = dict.fromkeys(("replicas", "updatedReplicas", "availableReplicas", "readyReplicas"), 4)
    patch = json.dumps({"status": {"observedGeneration": generation, **counts}})
    here.kubectl(f"patch deployment web --subresource=status --type=merge -p '{patch}'")
    assert "successfully rolled out" in here.kubectl("rollout status deployment/web --timeout=10s")
    assert "4/4" in here.kubectl("get deployment web")
    here.kubectl("create service clusterip web --tcp=80")
    here.kubectl("set selector service web tier=front")
    assert here.read("service web")["spec"]["selector"] == {"tier": "front"}
    here.kubectl("autoscale deployment web --min=2 --max=5 --cpu-percent=80")
    described = " ".join(here.kubectl("describe hpa web").split())
    assert "resource cpu on pods (as a percentage of request): <unknown> / 80%" in described
    assert here.read("horizontalpodautoscalers.v1.autoscaling web")["spec"]["targetCPUUtilizationPercentage"] == 80


def test_run_expose_wait(here: Place) -> None:
    here.kubectl("run web --image=nginx --port=80 --labels=app=web")
    here.kubectl("expose pod web --port=80")
    assert here.read("service web")["spec"]["selector"] == {"app": "web"}
    assert "timed out" in here.kubectl("wait pod/web --for=condition=Ready --timeout=1s", fails=True)
    here.kubectl(f"patch pod web --subresource=status -p '{_READY}'")
    assert here.kubectl("wait pod/web --for=condition=Ready --timeout=10s") == "pod/web condition met\n"
    here.kubectl("wait pod/web --for=jsonpath={.spec.restartPolicy}=Always --timeout=10s")
    here.kubectl("wait pod -l app=web --for=create --timeout=10s")
    here.kubectl("debug web --image=busybox -c spy --profile=general")
    assert here.read("pod web")["spec"]["ephemeralContainers"][0]["name"] == "spy"
    here.kubectl("delete pod web --wait=false")
    here.kubectl("wait pod/web --for=delete --timeout=10s")
    here.kubectl("create cronjob tick --image=busybox --schedule='*/5 * * * *'")
    here.kubectl("create job now --from=cronjob/tick")
    assert here.read("job now")["metadata"]["ownerReferences"][0]["kind"] == "CronJob"


def test_nodes(here: Place) -> None:
    here.kubectl("create -f " + here.write("nodes.yaml", node("drained"), node("other")))
    here.kubectl("cordon drained")
    assert "SchedulingDisabled" in here.kubectl("get node drained")
    here.kubectl("uncordon drained")
    here.kubectl("taint node drained dedicated=web:NoSchedule")
    taints = here.read("node drained")["spec"]["taints"]
    assert {"key": "dedicated", "value": "web", "effect": "NoSchedule"} in taints
    here.kubectl("taint node -l test=drained dedicated-")
    overrides = """{"spec": {"nodeName": "drained"}}"""
    for name in ("a", "guarded"):
        here.kubectl(f"run {name} --image=nginx --labels=app={name} --overrides='{overrides}'")
        here.kubectl(f"patch pod {name} --subresource=status -p '{_READY}'")
    here.kubectl("create poddisruptionbudget guard --selector=app=guarded --min-available=1")
    here.kubectl(f"patch pdb guard --subresource=status --type=merge -p '{_ALL_NEEDED}'")
    drain = "drain drained --force --grace-period=0 --ignore-daemonsets --timeout=3s"
    assert "disruption budget" in here.kubectl(drain, fails=True)
    assert here.kubectl("get pods -o name") == "pod/guarded\n"
    here.kubectl("delete pdb guard")
    here.kubectl(drain)
    assert here.kubectl("get pods -o name") == ""
    described = here.kubectl("describe node drained")
    assert "Unschedulable:      true" in described
    here.kubectl("delete node drained other")

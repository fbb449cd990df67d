"""kubectl looks: at objects in all its forms, at what belongs to them, and at what there is to know of kinds."""

from __future__ import annotations

import json
import urllib.request

from tests.peers.serving import SECONDS, Place, running
from tests.peers.things import definition, thing


def test_explain(here: Place) -> None:
    """By both versions of OpenAPI, the older of which comes in protobuf."""
    for output in ("plaintext", "plaintext-openapiv2"):
        container = here.kubectl(f"explain pod.spec.containers --output={output}")
        assert "imagePullPolicy\t<string>" in container
        assert "ports\t<[]" in container
        schema = here.kubectl(f"explain crd.spec.versions.schema.openAPIV3Schema --output={output}")
        assert "$ref\t<string>" in schema
        assert "rollingUpdate\t<" in here.kubectl(f"explain deployment.spec.strategy --output={output}")
    assert "FIELDS:\n  apiVersion\t<string>\n" in here.kubectl("explain pod --recursive")
    assert "does not exist" in here.kubectl("explain pod.nope", fails=True)


def test_get(here: Place) -> None:
    """In every form that kubectl has, in pages, in order, and as it changes."""
    for name, app in (("c", "web"), ("a", "web"), ("b", "db")):
        here.kubectl(f"run {name} --image=nginx:{name} --labels=app={app}")

    def names(arguments: str) -> list[str]:
        return here.kubectl(f"get pods {arguments} -o name").replace("pod/", "").split()

    assert names("") == names("--chunk-size=1") == ["a", "b", "c"]
    assert (
        names("-l app=web") == names("-l 'app notin (db)'") == names("--field-selector metadata.name!=b") == ["a", "c"]
    )
    assert names("--field-selector status.phase=Running") == []
    assert "field label not supported" in here.kubectl("get pods --field-selector spec.nope=1", fails=True)
    wide = here.kubectl("get pods -o wide").splitlines()
    assert wide[0].split()[:6] == ["NAME", "READY", "STATUS", "RESTARTS", "AGE", "IP"]
    assert wide[1].split()[:4] == ["a", "0/1", "Pending", "0"]
    images = "-o jsonpath='{range .items[*]}{.metadata.name}={.spec.containers[0].image} {end}'"
    assert here.kubectl(f"get pods {images}") == "a=nginx:a b=nginx:b c=nginx:c "
    columns = here.kubectl(
        "get pods --sort-by='{.metadata.labels.app}' -o custom-columns=N:.metadata.name --no-headers"
    )
    assert columns.split()[0] == "b"
    assert here.kubectl("get pods -o go-template='{{len .items}}'") == "3"
    assert here.kubectl("get pod a -L app --no-headers").split()[-1] == "web"
    assert "app=web" in here.kubectl("get pod a --show-labels")
    assert here.kubectl("get pod/a pod/none --ignore-not-found -o name") == "pod/a\n"
    assert set(here.kubectl("get all -o name").split()) == {"pod/a", "pod/b", "pod/c"}
    assert '"kind":"Pod"' in here.kubectl(f"get --raw /api/v1/namespaces/{here.namespace}/pods/a")
    with running(here, "kubectl", "get", "pods", "-w", "--output-watch-events", "-l", "app=web") as watching:
        assert watching.stdout is not None
        said = [watching.stdout.readline().split() for _ in range(3)]
        assert [line[:2] for line in said] == [["EVENT", "NAME"], ["ADDED", "a"], ["ADDED", "c"]]
        here.kubectl("label pod b app=web --overwrite")
        assert watching.stdout.readline().split()[:2] == ["ADDED", "b"]
        here.kubectl("delete pod a --now")
        while (line := watching.stdout.readline().split())[0] == "MODIFIED":
            assert line[1] == "a"
        assert line[:2] == ["DELETED", "a"]


def test_describe(here: Place) -> None:
    """The common kinds, with what belongs to them and the events about them."""
    here.kubectl("create deployment web --image=nginx --port=80")
    here.kubectl("expose deployment web --port=80")
    here.kubectl("create configmap settings --from-literal=mode=dark")
    here.kubectl("create secret generic hidden --from-literal=key=value")
    here.kubectl("create ingress front --rule=web.example/*=web:80")
    here.kubectl("create quota few --hard=pods=5")
    here.kubectl("create cronjob tick --image=busybox --schedule='0 * * * *'")
    here.kubectl("create job once --image=busybox")
    here.kubectl("create role reader --verb=get --resource=pods")
    here.kubectl("create serviceaccount robot")
    here.kubectl("run pod --image=nginx")
    uid = here.read("pod pod")["metadata"]["uid"]
    event = {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": "pod.1"},
        "involvedObject": {"kind": "Pod", "name": "pod", "namespace": here.namespace, "uid": uid, "apiVersion": "v1"},
        "reason": "Looked",
        "message": "somebody looked",
        "type": "Normal",
        "source": {"component": "peer"},
        "firstTimestamp": "2026-01-01T00:00:00Z",
        "lastTimestamp": "2026-01-01T00:00:00Z",
        "count": 3,
    }
    here.kubectl("create -f " + here.write("event.yaml", event))
    for what, word in {
        "pod pod": "somebody looked",
        "deployment web": "RollingUpdateStrategy:  25% max unavailable, 25% max surge",
        "service web": "Endpoints:",
        "configmap settings": "mode:\n----\ndark",
        "secret hidden": "key:  5 bytes",
        "ingress front": "web.example",
        "quota few": "Used",
        "cronjob tick": "Schedule:                      0 * * * *",
        "job once": "Completions:",
        "role reader": "[get]",
        "serviceaccount robot": "Image pull secrets:",
        f"namespace {here.namespace}": "Status:       Active",
    }.items():
        assert word in here.kubectl(f"describe {what}"), what
    assert "(x3 over" in here.kubectl("events --for pod/pod")
    assert "somebody looked" in here.kubectl("get events --field-selector involvedObject.name=pod,reason=Looked")
    assert "value" not in here.kubectl("describe secrets")


def test_what_there_is(here: Place) -> None:
    """Discovery, with kinds that come and go, and what kubectl knows of them."""
    kinds = {line.split()[0]: line.split() for line in here.kubectl("api-resources --no-headers").splitlines()}
    assert kinds["deployments"] == ["deployments", "deploy", "apps/v1", "true", "Deployment"]
    assert kinds["nodes"] == ["nodes", "no", "v1", "false", "Node"]
    assert "pods" in here.kubectl("api-resources --categories=all --verbs=watch --namespaced -o name").split()
    assert {"v1", "apps/v1", "autoscaling/v2"} <= set(here.kubectl("api-versions").split())
    assert "Server Version: v1." in here.kubectl("version")
    assert "control plane" in here.kubectl("cluster-info")
    here.kubectl("create -f " + here.write("crd.yaml", definition("Oddity", {"type": "object"})))
    here.kubectl("wait crd odditys.peers.trimtab.dev --for=condition=Established --timeout=10s")
    explained = here.kubectl("explain oddity.spec --api-version=peers.trimtab.dev/v1")
    assert "size\t<integer> -required-" in explained
    oddity = thing("Oddity", "a", size=-1)
    assert "greater than or equal to 0" in here.kubectl("create -f " + here.write("a.yaml", oddity), fails=True)
    here.kubectl("create -f " + here.write("a.yaml", thing("Oddity", "a", size=1)))
    assert "Spec:\n  Size:  1\n  Text:  none\n" in here.kubectl("describe oddity a")
    unknown = here.write("b.yaml", thing("Oddity", "b", size=1, colour="red"))
    assert 'unknown field "spec.colour"' in here.kubectl(f"create -f {unknown}", fails=True)
    assert "Warning: unknown field" in here.run("sh", "-c", f"kubectl create --validate=warn -f {unknown} 2>&1")
    here.kubectl("delete crd odditys.peers.trimtab.dev")
    assert "doesn't have a resource type" in here.kubectl(
        "get oddity", fails=True, KUBECACHEDIR=str(here.folder / "new")
    )


def test_proxy(here: Place) -> None:
    with running(here, "kubectl", "proxy", "--port=0") as proxying:
        assert proxying.stdout is not None
        address = proxying.stdout.readline().rpartition(" ")[2].strip()
        with urllib.request.urlopen(f"http://{address}/api/v1/namespaces/{here.namespace}", timeout=SECONDS) as answer:
            assert json.load(answer)["metadata"]["name"] == here.namespace
        body = json.dumps({"metadata": {"name": "by-proxy"}}).encode()
        where = f"http://{address}/api/v1/namespaces/{here.namespace}/configmaps"
        request = urllib.request.Request(where, body, {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=SECONDS) as answer:
            assert answer.status == 201
    assert here.read("configmap by-proxy")

"""kopf and kubernetes-client/python."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.peers.serving import Place, running, until

_GADGETS = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "gadgets.peers.trimtab.dev"},
    "spec": {
        "group": "peers.trimtab.dev",
        "scope": "Namespaced",
        "names": {"plural": "gadgets", "singular": "gadget", "kind": "Gadget", "listKind": "GadgetList"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "subresources": {"status": {}},
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "properties": {
                            "spec": {"type": "object", "properties": {"size": {"type": "integer"}}},
                            "status": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
                        },
                    }
                },
            }
        ],
    },
}


def gadget(size: int) -> dict[str, Any]:
    return {"apiVersion": "peers.trimtab.dev/v1", "kind": "Gadget", "metadata": {"name": "a"}, "spec": {"size": size}}


def test_kubernetes_client(here: Place, python_program: Callable[..., tuple[str, ...]]) -> None:
    command = python_program("kubernetes_session.py", "kubernetes")
    assert here.run(*command, here.namespace) == "all is well\n"


def test_kopf(here: Place, python_program: Callable[..., tuple[str, ...]]) -> None:
    python, operator = python_program("kopf_operator.py", "kopf")
    command = (python, "-m", "kopf", "run", "--standalone", "--namespace", here.namespace, operator)
    here.kubectl("create -f " + here.write("crd.yaml", _GADGETS))
    here.kubectl("wait crd gadgets.peers.trimtab.dev --for=condition=Established --timeout=10s")

    def status(**wanted: Any) -> bool:
        return wanted.items() <= here.read("gadget a").get("status", {}).items()

    with running(here, *command) as operating:
        here.kubectl("create -f " + here.write("gadget.yaml", gadget(1)))
        made = {"message": "made a"}
        until(lambda: status(size=1, made=made, ticked=True), "that a handler was tried twice, and a timer ran")
        metadata = here.read("gadget a")["metadata"]
        assert metadata["finalizers"] == ["peers.trimtab.dev/kopf"]
        assert metadata["labels"] == {"made": "yes"}
        here.kubectl("apply -f " + here.write("gadget.yaml", gadget(2)))
        until(lambda: status(size=2), "that the change was handled")
        until(lambda: "from 1 to 2" in here.kubectl("events --for gadget/a"), "that an event tells of it")
        here.kubectl("create configmap seen")
        here.kubectl("label configmap seen watched=yes")
        assert operating.stdout is not None
        assert operating.stdout.readline() == "event MODIFIED seen\n"
    here.kubectl('patch gadget a --subresource=status --type=merge -p \'{"status": {"resumed": null}}\'')
    with running(here, *command) as operating:
        until(lambda: status(size=2, resumed=True), "that another operator resumed it")
        here.kubectl("delete gadget a --timeout=20s")
        assert operating.stdout is not None
        assert "unmade a\n" in iter(operating.stdout.readline, "")
    assert "NotFound" in here.kubectl("get gadget a", fails=True)

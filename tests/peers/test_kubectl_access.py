"""kubectl asks who may do what, and gives others a way in."""

from __future__ import annotations

from typing import Any

import yaml
from tests.peers.serving import Place

_GROUP = "rbac.authorization.k8s.io"


def role(namespace: str, *verbs: str) -> dict[str, Any]:
    rules = [{"apiGroups": [""], "resources": ["configmaps"], "verbs": [*verbs]}]
    return {
        "apiVersion": f"{_GROUP}/v1",
        "kind": "Role",
        "metadata": {"name": "reader", "namespace": namespace},
        "rules": rules,
    }


def binding(namespace: str, *users: str) -> dict[str, Any]:
    return {
        "apiVersion": f"{_GROUP}/v1",
        "kind": "RoleBinding",
        "metadata": {"name": "reader", "namespace": namespace},
        "roleRef": {"apiGroup": _GROUP, "kind": "Role", "name": "reader"},
        "subjects": [{"apiGroup": _GROUP, "kind": "User", "name": user} for user in users],
    }


def test_who_may_do_what(here: Place) -> None:
    assert here.kubectl("auth can-i create pods") == "yes\n"
    assert "kubernetes-admin" in here.kubectl("auth whoami")
    whom = yaml.safe_load(here.kubectl("auth whoami -o yaml --as jane --as-group devs"))
    assert whom["status"]["userInfo"]["groups"] == ["devs", "system:authenticated"]
    assert "no" in here.run("sh", "-c", "kubectl auth can-i get configmaps --as jane; test $? = 1")
    reconcile = "auth reconcile -f " + here.write(
        "rules.yaml", role(here.namespace, "get"), binding(here.namespace, "jane")
    )
    here.kubectl(reconcile)
    assert here.kubectl("auth can-i get configmaps --as jane") == "yes\n"
    here.write("rules.yaml", role(here.namespace, "list"), binding(here.namespace, "joe"))
    here.kubectl(reconcile)
    assert here.kubectl("auth can-i get configmaps --as jane") == "yes\n"  # what is there already stays
    assert here.kubectl("auth can-i list configmaps --as joe") == "yes\n"
    here.kubectl(f"{reconcile} --remove-extra-permissions --remove-extra-subjects")
    assert here.read("role reader")["rules"] == role(here.namespace, "list")["rules"]
    assert [subject["name"] for subject in here.read("rolebinding reader")["subjects"]] == ["joe"]
    listed = here.kubectl("auth can-i --list --as joe")
    assert any(line.split() == ["configmaps", "[]", "[]", "[list]"] for line in listed.splitlines())
    assert "Forbidden" in here.kubectl("get pods --as joe", fails=True)
    assert "Forbidden" in here.kubectl("create role more --verb=get --resource=pods --as joe", fails=True)


def test_accounts(here: Place) -> None:
    here.kubectl("create serviceaccount robot")
    here.kubectl("create role reader --verb=get,list --resource=configmaps")
    here.kubectl(f"create rolebinding reader --role=reader --serviceaccount={here.namespace}:robot")
    token = here.kubectl("create token robot --duration=1h").strip()
    config = yaml.safe_load((here.folder / "kubeconfig").read_text())
    config["users"][0]["user"] = {"token": token}
    here.write("robot", config)
    robot = {"KUBECONFIG": str(here.folder / "robot")}
    assert f"system:serviceaccount:{here.namespace}:robot" in here.kubectl("auth whoami", **robot)
    here.kubectl("get configmaps", **robot)
    assert "cannot list resource" in here.kubectl("get secrets", fails=True, **robot)
    bound = here.kubectl("create secret generic s")
    assert bound == "secret/s created\n"
    here.kubectl("create token robot --bound-object-kind=Secret --bound-object-name=s --audience=me")
    here.kubectl("delete serviceaccount robot")
    assert "You must be logged in" in here.kubectl("get configmaps", fails=True, **robot)

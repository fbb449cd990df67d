"""kubectl asks who may do what, and gives others a way in."""

from __future__ import annotations

import base64
from typing import Any

import yaml
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
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


def test_certificates(here: Place) -> None:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name(
        [x509.NameAttribute(NameOID.COMMON_NAME, "jane"), x509.NameAttribute(NameOID.ORGANIZATION_NAME, "devs")]
    )
    asked = x509.CertificateSigningRequestBuilder().subject_name(name).sign(key, hashes.SHA256())
    request = base64.b64encode(asked.public_bytes(serialization.Encoding.PEM)).decode()
    for which in ("good", "bad"):
        spec = {"request": request, "signerName": "kubernetes.io/kube-apiserver-client", "usages": ["client auth"]}
        made = {
            "apiVersion": "certificates.k8s.io/v1",
            "kind": "CertificateSigningRequest",
            "metadata": {"name": which},
        }
        here.kubectl("create -f " + here.write("csr.yaml", made | {"spec": spec}))
    assert here.read("csr good")["spec"]["username"] == "kubernetes-admin"
    assert "system:masters" in here.read("csr good")["spec"]["groups"]
    here.kubectl("certificate approve good")
    here.kubectl("certificate deny bad")
    shown = {line.split()[0]: line.split() for line in here.kubectl("get csr --no-headers").splitlines()}
    assert shown["good"][2:] == ["kubernetes.io/kube-apiserver-client", "kubernetes-admin", "<none>", "Approved"]
    assert shown["bad"][-1] == "Denied"
    assert "Common Name:    jane" in here.kubectl("describe csr good")
    assert "already Approved" in here.kubectl("certificate deny good", fails=True)
    here.kubectl("delete csr good bad")

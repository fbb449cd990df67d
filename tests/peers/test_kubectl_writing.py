"""kubectl writes: in each way that it has, and each time what is there afterwards is as it said."""

from __future__ import annotations

from typing import Any

import pytest
from tests.peers.serving import Place

_EDITOR = """#!/bin/sh
sed -i "s/$FROM/$TO/" "$1"
"""


def settings(name: str, **data: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}


def data(here: Place, name: str = "a") -> dict[str, str]:
    return here.read(f"configmap {name}").get("data", {})


def test_apply(here: Place) -> None:
    apply = "apply -f " + here.write("a.yaml", settings("a", k="v", l="m"))
    assert here.kubectl(apply) == "configmap/a created\n"
    assert here.kubectl(apply) == "configmap/a unchanged\n"
    here.write("a.yaml", settings("a", k="w"))
    assert "configured (server dry run)" in here.kubectl(f"{apply} --dry-run=server")
    assert data(here) == {"k": "v", "l": "m"}
    difference = here.run("sh", "-c", "kubectl diff -f a.yaml; test $? = 1")
    assert {"-  k: v", "+  k: w", "-  l: m"} <= set(difference.splitlines())
    assert here.kubectl(apply) == "configmap/a configured\n"
    assert data(here) == {"k": "w"}
    assert here.kubectl("diff -f a.yaml") == ""
    assert '"k":"w"' in here.kubectl("apply view-last-applied configmap a -o json").replace(" ", "")
    misspelt = here.write("b.yaml", settings("b") | {"dta": {}})
    assert 'unknown field "dta"' in here.kubectl(f"apply -f {misspelt}", fails=True)
    assert "created" in here.kubectl(f"apply --validate=ignore -f {misspelt}")


def test_apply_on_the_server(here: Place) -> None:
    here.write("a.yaml", settings("a", k="v", l="m"))
    ours, theirs = (
        "apply --server-side --field-manager=ours -f a.yaml",
        "apply --server-side --field-manager=theirs -f b.yaml",
    )
    assert here.kubectl(ours) == "configmap/a serverside-applied\n"
    here.write("b.yaml", settings("a", k="w"))
    assert 'conflict with "ours": .data.k' in here.kubectl(theirs, fails=True)
    assert "-  k: v\n+  k: w" in here.run(
        "sh", "-c", "kubectl diff --server-side --force-conflicts -f b.yaml; test $? = 1"
    )
    here.kubectl(f"{theirs} --force-conflicts")
    here.write("a.yaml", settings("a"))
    here.kubectl(ours)
    assert data(here) == {"k": "w"}
    managers = here.kubectl("get configmap a --show-managed-fields -o jsonpath={.metadata.managedFields[*].manager}")
    assert "theirs" in managers.split()
    here.kubectl("apply -f " + here.write("c.yaml", settings("c", k="v")))
    here.kubectl("apply --server-side -f c.yaml")  # takes over what it applied on its own side before
    assert data(here, "c") == {"k": "v"}
    here.kubectl("create -f " + here.write("d.yaml", settings("d", k="v")))
    assert "serverside-applied" in here.kubectl("apply --server-side --force-conflicts -f d.yaml")


def test_patch_replace_edit(here: Place) -> None:
    here.kubectl("create configmap a --from-literal=k=v")
    here.kubectl("""patch configmap a --type=merge -p '{"data": {"l": "m", "k": null}}'""")
    assert data(here) == {"l": "m"}
    here.kubectl("""patch configmap a --type=json -p '[{"op": "add", "path": "/data/n", "value": "o"}]'""")
    here.kubectl("""patch configmap a -p '{"data": {"l": "x"}}'""")
    assert data(here) == {"l": "x", "n": "o"}
    test = """[{"op": "test", "path": "/data/n", "value": "p"}]"""
    assert "rejected our request" in here.kubectl(f"patch configmap a --type=json -p '{test}'", fails=True)
    here.kubectl("replace -f " + here.write("a.yaml", settings("a", k="v")))
    assert data(here) == {"k": "v"}
    uid = here.read("configmap a")["metadata"]["uid"]
    here.kubectl("replace --force -f a.yaml")
    assert here.read("configmap a")["metadata"]["uid"] != uid
    editor = here.folder / "editor"
    editor.write_text(_EDITOR)
    editor.chmod(0o755)
    here.kubectl("edit configmap a", EDITOR=str(editor), FROM="k: v", TO="k: edited")
    assert data(here) == {"k": "edited"}
    said = here.kubectl("edit configmap a", EDITOR=str(editor), FROM="none", TO="none")
    assert data(here) == {"k": "edited"}, said
    here.kubectl("create deployment web --image=nginx")
    edit = here.kubectl("edit deployment web", fails=True, EDITOR=str(editor), FROM="replicas: 1", TO="replicas: -1")
    assert "must be greater than or equal to 0" in edit or "Edit cancelled" in edit
    here.kubectl(
        "edit deployment web --subresource=status", EDITOR=str(editor), FROM="status: {}", TO="status: {replicas: 3}"
    )
    assert here.read("deployment web")["status"] == {"replicas": 3}


def test_label_and_annotate(here: Place) -> None:
    here.kubectl("create configmap a")
    here.kubectl("create configmap b")
    assert here.kubectl("label configmap a team=x").endswith(" labeled\n")
    assert "--overwrite is false" in here.kubectl("label configmap a team=y", fails=True)
    here.kubectl("label configmap a team=y --overwrite")
    here.kubectl("annotate configmap --all note=hello --field-manager=noter")
    a, b = here.read("configmap a")["metadata"], here.read("configmap b")["metadata"]
    assert (a["labels"], a["annotations"], b["annotations"]) == ({"team": "y"}, {"note": "hello"}, {"note": "hello"})
    here.kubectl("label configmap -l team=y team-")
    assert "labels" not in here.read("configmap a")["metadata"]


@pytest.mark.parametrize("cascade", ["background", "foreground", "orphan"])
def test_delete(here: Place, cascade: str) -> None:
    """What is left of the owner is what a garbage collector waits for; nobody collects here."""
    here.kubectl("create deployment web --image=nginx")
    here.kubectl(f"delete deployment web --cascade={cascade} --wait=false")
    finalizers = {"background": "", "foreground": '["foregroundDeletion"]', "orphan": '["orphan"]'}[cascade]
    assert here.kubectl("get deployment web --ignore-not-found -o jsonpath={.metadata.finalizers}") == finalizers
    if finalizers:
        here.kubectl("""patch deployment web --type=merge -p '{"metadata": {"finalizers": null}}'""")
    assert "NotFound" in here.kubectl("delete deployment web", fails=True)
    here.kubectl("delete deployment web --ignore-not-found")
    for name in ("a", "b", "c"):
        here.kubectl(f"create configmap {name}")
    here.kubectl("label configmap a b gone=yes")
    here.kubectl("delete configmap -l gone=yes")
    here.kubectl("delete configmap c --now")
    here.kubectl("delete configmap --all")
    assert here.kubectl("get configmap -o name --field-selector metadata.name!=kube-root-ca.crt") == ""


def test_prune_and_kustomize(here: Place) -> None:
    for name in ("a", "b"):
        here.write(f"all/{name}.yaml", settings(name, k="v"))
    prune = "apply -f all --prune --all --prune-allowlist=core/v1/ConfigMap"
    here.kubectl(prune)
    (here.folder / "all" / "b.yaml").unlink()
    assert here.kubectl(prune) == "configmap/a unchanged\nconfigmap/b pruned\n"
    here.write("all/c.yaml", settings("c"))
    sets = f"apply -f all --prune --applyset=mine -n {here.namespace}"
    here.kubectl("delete configmap a")
    here.kubectl(sets, KUBECTL_APPLYSET="true")
    (here.folder / "all" / "c.yaml").unlink()
    assert "configmap/c pruned" in here.kubectl(sets, KUBECTL_APPLYSET="true")
    here.write(
        "kustom/kustomization.yaml",
        {"namePrefix": "k-", "resources": ["a.yaml"], "configMapGenerator": [{"name": "made", "literals": ["a=b"]}]},
    )
    here.write("kustom/a.yaml", settings("a", k="v"))
    assert "configmap/k-a created" in here.kubectl("apply -k kustom")
    assert here.kubectl("get -k kustom -o name").startswith("configmap/k-a\nconfigmap/k-made-")
    assert "configmap/k-a unchanged" in here.kubectl("apply -k kustom")
    here.kubectl("delete -k kustom")
    assert "k-a" not in here.kubectl("get configmap -o name")

"""What a StatefulSet's template may say that no other may."""

from __future__ import annotations

from typing import Any

import pytest

from trimtab.apiserver.builtin.workloads import check_stateful_set


def stateful_set(pod: dict[str, Any], *claims: str) -> dict[str, Any]:
    spec: dict[str, Any] = {
        "podManagementPolicy": "OrderedReady",
        "updateStrategy": {"type": "RollingUpdate"},
        "persistentVolumeClaimRetentionPolicy": {"whenDeleted": "Retain", "whenScaled": "Retain"},
        "selector": {"matchLabels": {"app": "db"}},
        "template": {"metadata": {"labels": {"app": "db"}}, "spec": {**POD, **pod}},
        "volumeClaimTemplates": [{"metadata": {"name": name}, "spec": CLAIM} for name in claims],
    }
    return {"metadata": {"name": "db"}, "spec": spec}


CLAIM = {"accessModes": ["ReadWriteOnce"], "volumeMode": "Filesystem", "resources": {"requests": {"storage": "1Gi"}}}
CONTAINER = {
    "name": "c",
    "image": "i",
    "imagePullPolicy": "Always",
    "terminationMessagePolicy": "File",
    "volumeMounts": [{"name": "data", "mountPath": "/data"}],
}
POD = {"restartPolicy": "Always", "dnsPolicy": "ClusterFirst", "containers": [CONTAINER]}


@pytest.mark.parametrize(
    ("pod", "claims", "expected"),
    [
        ({}, ["data"], []),
        ({"volumes": [{"name": "data", "emptyDir": {}}]}, ["data"], []),
        ({"volumes": [{"name": "data", "emptyDir": {}}]}, ["other"], []),
        ({"hostname": "Not_Good", "subdomain": "Not_Good"}, ["data"], []),
        ({}, ["other"], ["spec.template.spec.containers[0].volumeMounts[0].name"]),
        ({}, [], ["spec.template.spec.containers[0].volumeMounts[0].name"]),
    ],
)
def test_claims_are_volumes_of_its_pods(pod: dict[str, Any], claims: list[str], expected: list[str]) -> None:
    assert [each.field for each in check_stateful_set(stateful_set(pod, *claims))] == expected

"""What messages show of objects as Kubernetes' own code holds them."""

from typing import Any

from trimtab.apiserver.builtin.held import difference, held
from trimtab.apiserver.causes import invalid
from trimtab.apiserver.facts.fields import fields_of

MAIN: dict[str, Any] = {"name": "main", "image": "a", "resources": {"requests": {"cpu": "1"}}}
SPEC: dict[str, Any] = {"containers": [MAIN], "dnsPolicy": "ClusterFirst", "hostNetwork": True, "serviceAccount": "x"}


def test_what_differs_is_shown_with_three_lines_around_it() -> None:
    assert difference("PodSpec", SPEC, {**SPEC, "dnsPolicy": "Default"}).splitlines() == [
        "@@ -40,7 +40,7 @@",
        '  "RestartPolicy": "",',
        '  "TerminationGracePeriodSeconds": null,',
        '  "ActiveDeadlineSeconds": null,',
        '- "DNSPolicy": "ClusterFirst",',
        '+ "DNSPolicy": "Default",',
        '  "NodeSelector": null,',
        '  "ServiceAccountName": "",',
        '  "AutomountServiceAccountToken": null,',
    ]


def test_the_host_is_shown_in_the_security_context() -> None:
    context = held("PodSpec", SPEC)["SecurityContext"]
    assert list(context.items())[:3] == [("HostNetwork", True), ("HostPID", False), ("HostIPC", False)]
    assert held("PodSpec", {"containers": []})["SecurityContext"] is None


def test_volumes_are_shown_with_every_source_that_there_is() -> None:
    [volume] = held("PodSpec", {"volumes": [{"name": "v", "emptyDir": {}}]})["Volumes"]
    assert volume["EmptyDir"] == {"Medium": "", "SizeLimit": None}
    assert len(volume) == 1 + len(fields_of("io.k8s.api.core.v1.VolumeSource"))


def test_metadata_stand_in_place_and_fields_in_their_order() -> None:
    template = {"metadata": {"labels": {"b": "1", "a": "2"}, "annotations": {}}, "spec": SPEC}
    shown = invalid("spec.template", held("PodTemplateSpec", template), "field is immutable").message
    assert shown.startswith('Invalid value: {"labels":{"a":"2","b":"1"},"Spec":{"Volumes":null,"InitContainers":null,')


def test_of_a_volume_the_sources_alone_are_shown() -> None:
    old, new = ({"capacity": {"storage": size}, "hostPath": {"path": "/a"}} for size in ("1Gi", "2Gi"))
    assert difference("PersistentVolumeSpec", old, new, inline="PersistentVolumeSource") == ""
    assert '+  "Path": "/b",' in difference(
        "PersistentVolumeSpec", old, {"hostPath": {"path": "/b"}}, inline="PersistentVolumeSource"
    )

"""What a writer is told of an object that is taken all the same: what is outdated or ignored."""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import Any, Final, TypeAlias, cast

from trimtab.apiserver.builtin import texts

Json: TypeAlias = dict[str, Any]
Remark: TypeAlias = Callable[[Json, Json | None], list[str]]
"""Of an object, and of what it was before if it was there."""

_GONE: Final = {
    "cephfs": "deprecated in v1.28, non-functional in v1.31+",
    "photonPersistentDisk": "deprecated in v1.11, non-functional in v1.16+",
    "scaleIO": "deprecated in v1.16, non-functional in v1.22+",
    "storageos": "deprecated in v1.22, non-functional in v1.25+",
    "glusterfs": "deprecated in v1.25, non-functional in v1.26+",
    "rbd": "deprecated in v1.28, non-functional in v1.31+",
}
_GONE_IN_PODS: Final = _GONE | {
    "gitRepo": "deprecated in v1.11, and disabled by default in v1.33+",
    "flocker": "deprecated in v1.22, non-functional in v1.25+",
    "quobyte": "deprecated in v1.22, non-functional in v1.25+",
}
_SHOWN: Final = {"storageos": "storageOS"}
_CLASS: Final = "kubernetes.io/ingress.class"
_HINTS: Final = "service.kubernetes.io/topology-aware-hints"
_FOREVER: Final = (
    "spec.revisionHistoryLimit: a negative value retains all historical revisions; a value >= 0 is recommended"
)
_TOKENS: Final = (
    "spec.serviceAccountTokenInSecrets is unset; if supported by this CSI driver, set to true to prevent possible "
    "logging of tokens in volume attributes"
)


def remarks_on(resource: str, obj: Json, old: Json | None) -> list[str]:
    """All of them on an object of a kind, such as `deployments.apps`."""
    remark = _REMARKS.get(resource)
    return remark(obj, old) if remark is not None else []


def _service(obj: Json, _old: Json | None) -> list[str]:
    spec, annotations = texts.spec_of(obj), texts.part(obj["metadata"], "annotations")
    found: list[str] = []
    if _HINTS in annotations:
        found.append(f"annotation {_HINTS} is deprecated, please use service.kubernetes.io/topology-mode instead")
    kind, name, outer = spec.get("type"), spec.get("externalName"), spec.get("externalIPs")
    headless = kind == "ClusterIP" and spec.get("clusterIP") == "None"
    if headless:
        ignored = [field for field in ("loadBalancerIP", "externalIPs") if spec.get(field)]
        ignored += ["SessionAffinity"] if spec.get("sessionAffinity") != "None" else []
        found += [f"spec.{field} is ignored for headless services" for field in ignored]
    elif outer and kind != "ExternalName":
        found.append("spec.externalIPs is deprecated and may no longer be implemented in some clusters")
    if outer and kind == "ExternalName":
        found.append('spec.externalIPs is ignored when spec.type is "ExternalName"')
    if name and kind != "ExternalName":
        found.append('spec.externalName is ignored when spec.type is not "ExternalName"')
    if spec.get("trafficDistribution") == "PreferClose":
        found.append('spec.trafficDistribution: "PreferClose" is deprecated; use "PreferSameZone"')
    return found


def _ingress(obj: Json, old: Json | None) -> list[str]:
    annotated = _CLASS in texts.part(obj["metadata"], "annotations")
    if old is not None or not annotated or texts.spec_of(obj).get("ingressClassName") is not None:
        return []
    return [f"annotation \"{_CLASS}\" is deprecated, please use 'spec.ingressClassName' instead"]


def _slice(obj: Json, old: Json | None) -> list[str]:
    named = obj.get("addressType") == "FQDN" and old is None
    return ["spec.addressType: FQDN endpoints are deprecated"] if named else []


def _node(obj: Json, _old: Json | None) -> list[str]:
    spec = texts.spec_of(obj)
    found = ["spec.configSource: the feature is removed"] if spec.get("configSource") is not None else []
    if spec.get("externalID"):
        found.append("spec.externalID: this field is deprecated, and is unused by Kubernetes")
    return found


def _volume(obj: Json, _old: Json | None) -> list[str]:
    spec = texts.spec_of(obj)
    return [f"spec.{_SHOWN.get(name, name)}: {why}" for name, why in _GONE.items() if spec.get(name) is not None]


def _driver(obj: Json, old: Json | None) -> list[str]:
    def leaks(driver: Json) -> bool:
        spec = texts.spec_of(driver)
        return bool(spec.get("tokenRequests")) and spec.get("serviceAccountTokenInSecrets") is None

    return [_TOKENS] if leaks(obj) and not (old is not None and leaks(old)) else []


def _secret(obj: Json, _old: Json | None) -> list[str]:
    data = texts.part(obj, "data")
    if obj.get("type") != "kubernetes.io/tls":
        return []
    certificate, key = (base64.b64decode(data.get(name, "")) for name in ("tls.crt", "tls.key"))
    if b"-----BEGIN" not in certificate:
        return ["tls: failed to find any PEM data in certificate input"]
    return [] if b"-----BEGIN" in key else ["tls: failed to find any PEM data in key input"]


def _stateful(obj: Json, old: Json | None) -> list[str]:
    limit = texts.spec_of(obj).get("revisionHistoryLimit")
    return _templated(obj, old) + ([_FOREVER] if limit is not None and limit < 0 else [])


def _pod(obj: Json, old: Json | None) -> list[str]:
    return _on_pod(texts.spec_of(obj), "spec") if old is None else []


def _templated(obj: Json, old: Json | None) -> list[str]:
    template = texts.part(texts.spec_of(obj), "template")
    if old is not None and template == texts.part(texts.spec_of(old), "template"):
        return []
    return _on_pod(texts.spec_of(template), "spec.template.spec")


def _on_pod(spec: Json, path: str) -> list[str]:
    found: list[str] = []
    for where, volume in texts.numbered(spec, path, "volumes"):
        found += [
            f"{where}.{_SHOWN.get(name, name)}: {why}"
            for name, why in _GONE_IN_PODS.items()
            if volume.get(name) is not None
        ]
    taken: set[str] = set()
    secrets = texts.numbered(spec, path, "imagePullSecrets")
    for where, each in secrets:
        name = each.get("name", "")
        if name in taken:
            found.append(f'{where}.name: duplicate name "{name}"')
        taken.add(name)
    found += [f'{where}.name: invalid empty name ""' for where, each in secrets if not each.get("name")]
    if spec.get("terminationGracePeriodSeconds", 0) < 0:
        where = f"{path}.terminationGracePeriodSeconds"
        found.append(f"{where}: must be >= 0; negative values are invalid and will be treated as 1")
    for volume in cast("list[Json]", spec.get("volumes") or []):
        sources = cast("list[Json]", texts.part(volume, "projected").get("sources") or [])
        name = volume.get("name", "")
        found += [f'volume "{name}" (Projected) has no sources provided' for each in sources if not each]
    return found


_REMARKS: Final[dict[str, Remark]] = {
    "services": _service,
    "ingresses.networking.k8s.io": _ingress,
    "endpointslices.discovery.k8s.io": _slice,
    "nodes": _node,
    "persistentvolumes": _volume,
    "csidrivers.storage.k8s.io": _driver,
    "secrets": _secret,
    "pods": _pod,
    "statefulsets.apps": _stateful,
    **dict.fromkeys(("deployments.apps", "replicasets.apps", "daemonsets.apps", "jobs.batch"), _templated),
    "replicationcontrollers": _templated,
}

"""Objects as Kubernetes' own code holds them, for the messages that show them so: all fields, in the names of Go.

Its structs are much like those of the API, whose fields are facts; what is otherwise there is told here.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterator
from typing import Any, Final, TypeAlias, cast

from trimtab.apiserver import causes
from trimtab.apiserver.facts import Schema
from trimtab.apiserver.facts.fields import GoField, fields_of
from trimtab.apiserver.facts.reader import kubernetes

Json: TypeAlias = dict[str, Any]

_CORE: Final = "io.k8s.api.core.v1."
_METADATA: Final = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"
_NAMES: Final = {
    **{name: name.upper() for name in ("csi", "fc", "grpc", "ip", "iqn", "iscsi", "nfs", "os", "rbd", "tty", "uid")},
    "apiGroup": "APIGroup", "apiVersion": "APIVersion", "awsElasticBlockStore": "AWSElasticBlockStore",
    "cephfs": "CephFS", "chapAuthDiscovery": "DiscoveryCHAPAuth", "chapAuthSession": "SessionCHAPAuth",
    "diskURI": "DataDiskURI", "dnsConfig": "DNSConfig", "dnsPolicy": "DNSPolicy", "endpoints": "EndpointsName",
    "fsGroup": "FSGroup", "fsGroupChangePolicy": "FSGroupChangePolicy", "fsType": "FSType",
    "gcePersistentDisk": "GCEPersistentDisk", "gmsaCredentialSpec": "GMSACredentialSpec",
    "gmsaCredentialSpecName": "GMSACredentialSpecName", "httpGet": "HTTPGet", "httpHeaders": "HTTPHeaders",
    "iscsiInterface": "ISCSIInterface", "monitors": "CephMonitors", "pdName": "PDName",
    "seLinuxChangePolicy": "SELinuxChangePolicy", "seLinuxOptions": "SELinuxOptions", "sslEnabled": "SSLEnabled",
    "storageos": "StorageOS", "tcpSocket": "TCPSocket", "wwids": "WWIDs",
}  # fmt: skip
_NAMES_THERE: Final = {
    ("RBDVolumeSource", "image"): "RBDImage", ("RBDPersistentVolumeSource", "image"): "RBDImage",
    ("RBDVolumeSource", "pool"): "RBDPool", ("RBDPersistentVolumeSource", "pool"): "RBDPool",
    ("RBDVolumeSource", "user"): "RadosUser", ("RBDPersistentVolumeSource", "user"): "RadosUser",
    ("CephFSVolumeSource", "monitors"): "Monitors", ("CephFSPersistentVolumeSource", "monitors"): "Monitors",
}  # fmt: skip
_OF_THE_HOST: Final = ("hostNetwork", "hostPID", "hostIPC", "shareProcessNamespace", "hostUsers")
"""Fields of a Pod's spec that stand in its security context, before what else is there."""
_ORDERS: Final = {
    "PodSpec": """
        volumes initContainers containers ephemeralContainers restartPolicy terminationGracePeriodSeconds
        activeDeadlineSeconds dnsPolicy nodeSelector serviceAccountName automountServiceAccountToken nodeName
        securityContext imagePullSecrets hostname subdomain setHostnameAsFQDN affinity schedulerName tolerations
        hostAliases priorityClassName priority preemptionPolicy dnsConfig readinessGates runtimeClassName overhead
        enableServiceLinks topologySpreadConstraints os schedulingGates resourceClaims resources hostnameOverride
        schedulingGroup""",
    "PodSecurityContext": """
        seLinuxOptions windowsOptions runAsUser runAsGroup runAsNonRoot supplementalGroups supplementalGroupsPolicy
        fsGroup fsGroupChangePolicy sysctls seccompProfile appArmorProfile seLinuxChangePolicy""",
    "VolumeSource": """
        hostPath emptyDir gcePersistentDisk awsElasticBlockStore gitRepo secret nfs iscsi glusterfs
        persistentVolumeClaim rbd quobyte flexVolume cinder cephfs flocker downwardAPI fc azureFile configMap
        vsphereVolume azureDisk photonPersistentDisk projected portworxVolume scaleIO storageos csi ephemeral image""",
    "PersistentVolumeSource": """
        gcePersistentDisk awsElasticBlockStore hostPath glusterfs nfs rbd quobyte iscsi flexVolume cinder cephfs fc
        flocker azureFile vsphereVolume azureDisk photonPersistentDisk portworxVolume scaleIO local storageos csi""",
}
_ZEROS: Final[dict[str, Any]] = {"string": "", "boolean": False, "integer": 0, "number": 0}


def difference(definition: str, old: Json, new: Json, *, inline: str = "") -> str:
    """Where two structs of a definition of the core differ, as Kubernetes' messages show it.

    `inline` names a struct that stands in place in this one, where that alone is shown.
    """
    schema = kubernetes().named(_CORE + definition)
    before, after = (_lines(causes.Struct(_fields(schema, inline or definition, each))) for each in (old, new))
    return "".join(list(difflib.unified_diff(before, after))[2:])  # without the names of files


def _lines(struct: causes.Struct) -> list[str]:
    return [f"{line}\n" for line in json.dumps(struct, indent=1, ensure_ascii=False).splitlines()]


def held(definition: str, value: Json) -> causes.Struct:
    """A struct of a definition of the core, such as `PodSpec`, with all its fields."""
    return _struct(kubernetes().named(_CORE + definition), value)


def _struct(schema: Schema, value: Json) -> causes.Struct:
    if schema.name.startswith(_CORE):
        return causes.Struct(_fields(schema, schema.name.removeprefix(_CORE), value))
    return causes.Struct(_tagged(schema.name, value))


def _fields(schema: Schema, name: str, value: Json) -> Iterator[tuple[str, Any]]:
    """The fields of a struct, and those of the structs that stand in its place."""
    fields = {field.name: field for field in fields_of(_CORE + name)}
    if name == "PodSpec":
        value = _with_host(value)
    elif name == "PodSecurityContext":
        spec, flags = kubernetes().named(_CORE + "PodSpec"), {each.name: each for each in fields_of(_CORE + "PodSpec")}
        yield from ((_go(name, key), _value(spec.fields[key], flags[key], value.get(key))) for key in _OF_THE_HOST)
    for key in _ORDERS[name].split() if name in _ORDERS else fields:
        if key == "metadata":
            yield from _tagged(_METADATA, cast("Json", value.get(key) or {}))
        elif key in fields and fields[key].inline:
            yield from _fields(schema, key, value)
        elif key in fields and key in schema.fields:
            yield _go(name, key), _value(schema.fields[key], fields[key], value.get(key))


def _with_host(spec: Json) -> Json:
    host = {key: spec[key] for key in _OF_THE_HOST if key in spec}
    context: Json | None = spec.get("securityContext")
    return {**spec, "securityContext": context if context is None and not host else {**host, **(context or {})}}


def _tagged(definition: str, value: Json) -> Iterator[tuple[str, Any]]:
    """What all groups share, such as metadata, is the same there as in JSON."""
    for field in fields_of(definition):
        if item := value.get(field.name):
            yield field.name, dict(sorted(cast("Json", item).items())) if isinstance(item, dict) else item


def _value(schema: Schema, field: GoField, value: Any) -> Any:
    if value is None or (value in ([], {}) and not schema.fields):
        if field.pointer or schema.type == "array" or (schema.type == "object" and not schema.fields):
            return None
        return _struct(schema, {}) if schema.fields else _zero(schema)
    if isinstance(value, list):
        return [_item(schema.items, each) for each in cast("list[Any]", value)]
    if isinstance(value, dict) and not schema.fields:
        return {key: _item(schema.values, item) for key, item in sorted(cast("Json", value).items())}
    return _item(schema, value)


def _item(schema: Schema | None, value: Any) -> Any:
    return _struct(schema, cast("Json", value)) if schema is not None and schema.fields else value


def _zero(schema: Schema) -> Any:
    if schema.format == "int-or-string":
        return 0
    return "0" if schema.name.endswith(".Quantity") else _ZEROS.get(schema.type)


def _go(struct: str, key: str) -> str:
    return _NAMES_THERE.get((struct, key)) or _NAMES.get(key) or key[0].upper() + key[1:]

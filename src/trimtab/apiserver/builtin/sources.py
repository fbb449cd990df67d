"""What is wrong with where the data of a volume is, of Pods and of PersistentVolumes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeAlias

from trimtab.apiserver import causes, names
from trimtab.apiserver.builtin import texts
from trimtab.apiserver.builtin.containers import check_no_way_up
from trimtab.apiserver.causes import Cause

Json: TypeAlias = dict[str, Any]
Check: TypeAlias = Callable[[Json, str], list[Cause]]

_HOST_TYPES: Final = (
    "", "BlockDevice", "CharDevice", "Directory", "DirectoryOrCreate", "File", "FileOrCreate", "Socket",
)  # fmt: skip
_BYTE: Final = 255
_BLOB: Final = "https://{account-name}.blob.core.windows.net/{container-name}/{disk-name}.vhd"
_SECRETS: Final = ("controllerPublishSecretRef", "controllerExpandSecretRef", "nodePublishSecretRef")

# Sources of which nothing else is said.
_NEEDED: Final = {
    "glusterfs": ("endpoints", "path"),
    "rbd": ("monitors", "image"),
    "cephfs": ("monitors",),
    "cinder": ("volumeID",),
    "flexVolume": ("driver",),
    "vsphereVolume": ("volumePath",),
    "photonPersistentDisk": ("pdID",),
    "portworxVolume": ("volumeID",),
    "scaleIO": ("gateway", "system", "volumeName"),
    "storageos": ("volumeName",),
    "azureFile": ("secretName", "shareName"),
}


def check_source(name: str, source: Json, path: str, *, lasting: bool) -> list[Cause]:
    """What is wrong with a source by its name; `lasting` says that it is a PersistentVolume's."""
    if name == "csi" and not lasting:
        return texts.needed_following(source, path, "driver", names.subdomain)
    check = _CHECKS.get(name)
    return check(source, path) if check is not None else texts.needed(source, path, *_NEEDED.get(name, ()))


def _check_host(source: Json, path: str) -> list[Cause]:
    if not source.get("path"):
        return [causes.required(f"{path}.path")]
    found = check_no_way_up(source["path"], f"{path}.path")
    return found + texts.one_of_needed(f"{path}.type", source.get("type") or "", _HOST_TYPES)


def _check_partition(source: Json, path: str) -> list[Cause]:
    number = source.get("partition", 0)
    if 0 <= number <= _BYTE:
        return []
    return [causes.invalid(f"{path}.partition", number, texts.between(1, _BYTE))]


def _check_google(source: Json, path: str) -> list[Cause]:
    path = path.removesuffix("gcePersistentDisk") + "persistentDisk"
    return texts.needed(source, path, "pdName") + _check_partition(source, path)


def _check_amazon(source: Json, path: str) -> list[Cause]:
    return texts.needed(source, path, "volumeID") + _check_partition(source, path)


def _check_flocker(source: Json, path: str) -> list[Cause]:
    named = [name for name in ("datasetName", "datasetUUID") if source.get(name)]
    if not named:
        return [causes.required(path, "one of datasetName and datasetUUID is required")]
    if len(named) > 1:
        return [causes.invalid(path, "resource", "datasetName and datasetUUID can not be specified simultaneously")]
    return check_no_way_up(source["datasetName"], f"{path}.datasetName") if "datasetName" in named else []


def _check_nfs(source: Json, path: str) -> list[Cause]:
    found = texts.needed(source, path, "server", "path")
    way = source.get("path", "")
    return found if way.startswith("/") else [*found, causes.invalid(f"{path}.path", way, "must be an absolute path")]


def _check_quobyte(source: Json, path: str) -> list[Cause]:
    found: list[Cause] = []
    registry = source.get("registry", "")
    pairs = "must be a host:port pair or multiple pairs separated by commas"
    if not registry:
        found.append(causes.required(f"{path}.registry", pairs))
    elif any(":" not in each for each in registry.split(",")):
        found.append(causes.invalid(f"{path}.registry", registry, pairs))
    return found + texts.needed(source, path, "volume")


def _check_iscsi(source: Json, path: str) -> list[Cause]:
    found = texts.needed(source, path, "targetPortal", "iqn")
    iqn, number = source.get("iqn", ""), source.get("lun", 0)
    if iqn and not iqn.startswith(("iqn", "eui", "naa")):
        found.append(causes.invalid(f"{path}.iqn", iqn, "must be valid format starting with iqn, eui, or naa"))
    if not 0 <= number <= _BYTE:
        found.append(causes.invalid(f"{path}.lun", number, texts.between(0, _BYTE)))
    return found


def _check_fibre(source: Json, path: str) -> list[Cause]:
    if bool(source.get("targetWWNs")) == bool(source.get("wwids")):
        make = causes.required if not source.get("wwids") else _both
        return [make(f"{path}.targetWWNs", "must specify either targetWWNs or wwids, but not both")]
    if source.get("targetWWNs") and source.get("lun") is None:
        return [causes.required(f"{path}.lun", "lun is required if targetWWNs is specified")]
    return []


def _both(field: str, why: str) -> Cause:
    return causes.invalid(field, [], why)


def _check_azure(source: Json, path: str) -> list[Cause]:
    found = texts.needed(source, path, "diskName", "diskURI")
    kind, uri = source.get("kind", "Shared"), source.get("diskURI", "")
    if kind == "Managed":
        if not uri.startswith("/subscriptions/"):
            which = "/subscriptions/{sub-id}/resourcegroups/{group-name}/providers/microsoft.compute/disks/{disk-id}"
            found.append(causes.unsupported(f"{path}.diskURI", uri, (which,)))
    elif not uri.startswith("https://"):
        found.append(causes.unsupported(f"{path}.diskURI", uri, (_BLOB,)))
    return found


def _check_local(source: Json, path: str) -> list[Cause]:
    found = texts.needed(source, path, "path")
    return found or check_no_way_up(source["path"], f"{path}.path")


def _check_driver(source: Json, path: str) -> list[Cause]:
    found = texts.needed_following(source, path, "driver", names.subdomain)
    found += texts.needed(source, path, "volumeHandle")
    for name in _SECRETS:
        if source.get(name) is not None:
            found += texts.needed(source[name], f"{path}.{name}", "name", "namespace")
    return found


_CHECKS: Final[dict[str, Check]] = {
    "hostPath": _check_host,
    "gcePersistentDisk": _check_google,
    "awsElasticBlockStore": _check_amazon,
    "flocker": _check_flocker,
    "nfs": _check_nfs,
    "quobyte": _check_quobyte,
    "iscsi": _check_iscsi,
    "fc": _check_fibre,
    "azureDisk": _check_azure,
    "local": _check_local,
    "csi": _check_driver,
}

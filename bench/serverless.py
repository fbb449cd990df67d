"""What a server with so many Pods sends to a watch, without a server: `python -m bench.serverless COUNT`."""

import random
import sys
from collections.abc import Iterator
from typing import Any

import msgspec

from bench.population import Made, pods_by_name
from bench.templates import uid

_VERSION = 10_000
_CREATED = "2026-10-01T08:00:00Z"
_DEFAULTS: dict[str, Any] = {
    "restartPolicy": "Always",
    "dnsPolicy": "ClusterFirst",
    "securityContext": {},
    "schedulerName": "default-scheduler",
    "priority": 0,
    "enableServiceLinks": True,
    "preemptionPolicy": "PreemptLowerPriority",
}


def served_pods(count: int, namespace: str = "bench") -> Iterator[bytes]:
    """Make so many."""
    owner, managed = "", msgspec.Raw()
    for number, made in enumerate(pods_by_name(count)):
        if made.owner != owner:
            # For all Pods of a template as for its first: it is the same but for the name of a volume.
            owner, managed = made.owner, _managed(made)
        yield msgspec.json.encode(_served(made, number, namespace, managed))


def watch(count: int) -> Iterator[bytes]:
    """Make the lines of a watch that begins with the state, up to where that is whole."""
    for pod in served_pods(count):
        yield b'{"type":"ADDED","object":' + pod + b"}\n"
    metadata = {"resourceVersion": str(_VERSION + 2 * count), "annotations": {"k8s.io/initial-events-end": "true"}}
    bookmark = {"kind": "Pod", "apiVersion": "v1", "metadata": metadata}
    yield msgspec.json.encode({"type": "BOOKMARK", "object": bookmark}) + b"\n"


def _served(made: Made, number: int, namespace: str, managed: msgspec.Raw) -> dict[str, Any]:
    given = made.manifest["metadata"]
    metadata = {
        "name": given["name"],
        "generateName": given["generateName"],
        "namespace": namespace,
        "uid": uid(random.Random(number)),  # noqa: S311
        "resourceVersion": str(_VERSION + 2 * number),
        "generation": 1,
        "creationTimestamp": _CREATED,
        "labels": given["labels"],
        "annotations": given["annotations"],
        "ownerReferences": given["ownerReferences"],
        "managedFields": managed,
    }
    spec = {**made.manifest["spec"], **_DEFAULTS}
    return {"kind": "Pod", "apiVersion": "v1", "metadata": metadata, "spec": spec, "status": made.status}


def _managed(made: Made) -> msgspec.Raw:
    """Write down who manages what."""
    metadata = {key: made.manifest["metadata"][key] for key in ("generateName", "labels", "annotations")}
    created = fields({"metadata": metadata, "spec": made.manifest["spec"]})
    entries = [_entry("kube-controller-manager", created), _entry("kubelet", fields({"status": made.status}))]
    return msgspec.Raw(msgspec.json.encode(entries))


def _entry(manager: str, managed: dict[str, Any]) -> dict[str, Any]:
    entry = {"manager": manager, "operation": "Update", "apiVersion": "v1", "time": _CREATED}
    entry |= {"fieldsType": "FieldsV1", "fieldsV1": managed}
    return {**entry, "subresource": "status"} if manager == "kubelet" else entry


def fields(value: object) -> dict[str, Any]:
    """Write the fields of a value as managedFields do; a list of what has a name or a type is a map by that."""
    match value:
        case dict():
            return {f"f:{key}": fields(part) for key, part in value.items()}
        case [{"name": _}, *_] | [{"type": _}, *_]:
            by = "name" if "name" in value[0] else "type"
            return {f'k:{{"{by}":"{part[by]}"}}': {".": {}, **fields(part)} for part in value}
        case _:
            return {}


if __name__ == "__main__":
    sys.stdout.buffer.writelines(watch(int(sys.argv[1])))

"""What every cluster has from its start beside namespaces and roles: a real API server makes it, and so does this one.

How requests share the server, the two classes for what a cluster cannot do without, what serves which group, and the
Service by which Pods reach the server. Its endpoint is the host in the network of the simulated nodes, where nothing
listens: the server itself has an address on loopback, which no endpoint may have.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import Any, Final, TypeAlias, cast

import msgspec

from trimtab.apiserver.catalogue import Catalogue
from trimtab.apiserver.objects import encode
from trimtab.apiserver.storage import Store
from trimtab.apiserver.surroundings import Surroundings

Json: TypeAlias = dict[str, Any]
Line: TypeAlias = tuple[str, str, Json, Json, list[Json]]

_Line: Final = msgspec.json.Decoder(Line)
_PORTS: Final = [{"name": "https", "port": 6443, "protocol": "TCP"}]
_ADDRESS: Final = "172.18.0.1"
_NAME: Final[Json] = {"name": "kubernetes", "namespace": "default"}
_SUBSET: Final[Json] = {"addresses": [{"ip": _ADDRESS}], "ports": _PORTS}
_SLICE: Final[Json] = {
    "addressType": "IPv4",
    "endpoints": [{"addresses": [_ADDRESS], "conditions": {"ready": True}}],
    "ports": _PORTS,
}
_UNMIRRORED: Final = {"endpointslice.kubernetes.io/skip-mirror": "true"}
_OF_SERVICE: Final = {"kubernetes.io/service-name": "kubernetes"}
_ENDPOINTS: Final[tuple[Line, ...]] = (
    ("", "endpoints", {**_NAME, "labels": _UNMIRRORED}, {"subsets": [_SUBSET]}, []),
    ("discovery.k8s.io", "endpointslices", {**_NAME, "generation": 1, "labels": _OF_SERVICE}, _SLICE, []),
)


def make_standing(store: Store, catalogue: Catalogue, around: Surroundings) -> None:
    """Store what is not there; what an administrator changed stays as it is."""
    stamp = around.stamp()
    for group, plural, metadata, rest, owners in (*_told(), *_ENDPOINTS):
        kind = catalogue.find(group, "v1", plural)
        if kind is None:
            continue
        namespace = metadata.get("namespace", "")
        key = f"{namespace}/{metadata['name']}" if namespace else metadata["name"]
        if store.get(kind.bucket, key) is not None:
            continue
        made: Json = {**_since(rest, stamp)}
        made["metadata"] = {**metadata, "uid": around.uid(), "creationTimestamp": stamp}
        if owners:
            made["metadata"]["managedFields"] = [{**owner, "time": stamp} for owner in owners]
        store.commit(kind.bucket, key, encode(kind, made, store.revision + 1), expected=0)


def _since(rest: Json, stamp: str) -> Json:
    """The same, with conditions that hold from now on."""
    status = cast("Json", rest.get("status") or {})
    if "conditions" not in status:
        return rest
    told = [{"lastTransitionTime": stamp, **each} for each in cast("list[Json]", status["conditions"])]
    return {**rest, "status": {**status, "conditions": told}}


@cache
def _told() -> tuple[Line, ...]:
    lines = files("trimtab.apiserver").joinpath("standing.jsonl").read_bytes().splitlines()
    return tuple(_Line.decode(line) for line in lines[1:])

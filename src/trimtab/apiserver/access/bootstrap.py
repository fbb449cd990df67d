"""The roles and bindings that every cluster has, as a real API server makes them at its start."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import Any, Final, TypeAlias

import msgspec

from trimtab.apiserver.catalogue import Catalogue
from trimtab.apiserver.objects import encode
from trimtab.apiserver.storage import Store
from trimtab.apiserver.surroundings import Surroundings

Json: TypeAlias = dict[str, Any]

_GROUP: Final = "rbac.authorization.k8s.io"
_Line: Final = msgspec.json.Decoder(tuple[str, dict[str, Any], dict[str, Any], dict[str, Any]])


def make_roles(store: Store, catalogue: Catalogue, around: Surroundings) -> None:
    """Store those that are not there; what an administrator changed stays as it is."""
    stamp = around.stamp()
    owner = {"manager": "kube-apiserver", "operation": "Update", "apiVersion": f"{_GROUP}/v1", "time": stamp}
    owner["fieldsType"] = "FieldsV1"
    for plural, metadata, rest, fields in _told():
        kind = catalogue.find(_GROUP, "v1", plural)
        if kind is None:
            continue
        namespace = metadata.get("namespace", "")
        key = f"{namespace}/{metadata['name']}" if namespace else metadata["name"]
        if store.get(kind.bucket, key) is None:
            made: Json = {**rest, "metadata": {**metadata, "uid": around.uid(), "creationTimestamp": stamp}}
            made["metadata"]["managedFields"] = [{**owner, "fieldsV1": fields}]
            store.commit(kind.bucket, key, encode(kind, made, store.revision + 1), expected=0)


@cache
def _told() -> tuple[tuple[str, Json, Json, Json], ...]:
    lines = files("trimtab.apiserver.access").joinpath("roles.jsonl").read_bytes().splitlines()
    return tuple(_Line.decode(line) for line in lines[1:])

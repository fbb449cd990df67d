"""Between objects and the bytes that are stored of them: `{"kind":…,"apiVersion":…,"metadata":{…},…}`, in that order.

Since each begins with the same header, an answer is cut and joined from bytes without reading what is in them.
"""

from __future__ import annotations

from typing import Any, Final, TypeAlias

import msgspec

from trimtab.apiserver.catalogue import Kind
from trimtab.apiserver.metadata import tidy

Json: TypeAlias = dict[str, Any]

_VERSION: Final = b'"resourceVersion":"'
_METADATA: Final = b'"metadata":'
decode: Final = msgspec.json.Decoder(dict[str, Any]).decode


class _Labelled(msgspec.Struct, gc=False):
    labels: dict[str, str] = {}


class _Object(msgspec.Struct, gc=False):
    metadata: _Labelled


_decode_labels: Final = msgspec.json.Decoder(_Object).decode


def labels_of(data: bytes) -> dict[str, str]:
    """The labels of a stored object."""
    return _decode_labels(data).metadata.labels


def in_order(kind: Kind, obj: Json) -> Json:
    """The object with its type first, then its metadata, then the rest. One of a custom kind keeps its version."""
    rest = {name: value for name, value in obj.items() if name not in ("kind", "apiVersion", "metadata")}
    version = (obj.get("apiVersion") if kind.custom is not None else "") or kind.api_version
    return {"kind": kind.kind, "apiVersion": version, "metadata": tidy(obj["metadata"]), **rest}


def is_current(kind: Kind, data: bytes) -> bool:
    """Whether a stored object is in the version of its kind, and as the definition is today."""
    return data.startswith(kind.header) and revision_in(data) >= kind.since


def settled(kind: Kind, data: bytes) -> bytes:
    """A stored object of a custom kind as the definition is today, and in its version unless a webhook converts it."""
    definition, custom = kind.definition, kind.custom
    if definition is None or custom is None:
        return data
    obj = decode(data)
    stored = definition.versions.get(obj["apiVersion"].rpartition("/")[2])
    if stored is not None:
        stored.prune(obj)
        stored.default(obj)
    if stored is not custom and not definition.asks:
        obj["apiVersion"] = kind.api_version
        custom.prune(obj)
    return msgspec.json.encode(in_order(kind, obj))


def load(kind: Kind, data: bytes) -> Json:
    """A stored object, in the form of its kind; of a custom kind, one that is as its kind shows it."""
    obj = decode(data)
    if kind.conversion is not None:
        obj = kind.conversion.read(obj)
    obj["kind"], obj["apiVersion"] = kind.kind, kind.api_version
    return obj


def encode(kind: Kind, obj: Json, revision: int) -> bytes:
    """The bytes to store, as of a revision."""
    if kind.conversion is not None:
        obj = kind.conversion.write(obj)
    metadata = {**obj["metadata"], "resourceVersion": str(revision)}
    return msgspec.json.encode(in_order(kind, {**obj, "metadata": metadata}))


def revision_in(data: bytes) -> int:
    """The revision that a stored object names as its own. Before it stand names, which cannot look like it."""
    start = data.index(_VERSION) + len(_VERSION)
    return int(data[start : data.index(b'"', start)])


def copied(obj: Json) -> Json:
    """The object anew, with all that is in it."""
    return decode(msgspec.json.encode(obj))


def restamped(data: bytes, revision: int) -> bytes:
    """A stored object as of another revision."""
    obj = decode(data)
    obj["metadata"]["resourceVersion"] = str(revision)
    return msgspec.json.encode(obj)


def as_kind(kind: Kind, data: bytes) -> bytes:
    """A stored object as it is served: under the type that was asked for."""
    if kind.conversion is not None:
        return msgspec.json.encode(in_order(kind, load(kind, data)))
    if data.startswith(kind.header):
        return data
    return kind.header + data[data.index(_METADATA) :]


def as_item(kind: Kind, data: bytes) -> bytes:
    """A stored object as an item of a list: those of built-in kinds do not repeat their type."""
    if kind.conversion is not None:
        data = as_kind(kind, data)
    if kind.builtin:
        return b"{" + data[data.index(_METADATA) :]
    return as_kind(kind, data)

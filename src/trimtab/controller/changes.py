"""What an update changed of an object, for the causes of a reconcile."""

from __future__ import annotations

from typing import Any

import msgspec

from trimtab.cache import Cached
from trimtab.queue import What

_IDENTITY = frozenset({"kind", "apiVersion", "metadata", "status"})
_NONE = msgspec.Raw(b"")


class _Metadata(msgspec.Struct, gc=False):
    annotations: msgspec.Raw = _NONE


_parts = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_metadata = msgspec.json.Decoder(_Metadata).decode


def what_changed(old: Cached[Any], new: Cached[Any]) -> tuple[What, ...]:
    """Which parts differ. Servers write the same object as the same bytes, so bytes are compared."""
    if old is new:
        return ("resync",)
    before, after = _parts(old.json()), _parts(new.json())
    found: list[What] = []
    names = (before.keys() | after.keys()) - _IDENTITY
    if any(_bytes(before, name) != _bytes(after, name) for name in names):
        found.append("spec")
    if _bytes(before, "status") != _bytes(after, "status"):
        found.append("status")
    if old.labels != new.labels:
        found.append("labels")
    if bytes(_metadata(before["metadata"]).annotations) != bytes(_metadata(after["metadata"]).annotations):
        found.append("annotations")
    if not found or old.deleting != new.deleting or old.owner is not new.owner:
        found.append("metadata")
    return tuple(found)


def _bytes(parts: dict[str, msgspec.Raw], name: str) -> bytes:
    return bytes(parts.get(name, _NONE))

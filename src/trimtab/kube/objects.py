"""`Object`: the base of every typed kind."""

from __future__ import annotations

from msgspec import field

from trimtab.kube.base import Struct
from trimtab.kube.kinds import ResourceClass
from trimtab.kube.meta.v1 import ObjectMeta


class Object(Struct, ResourceClass):
    """What the API server stores under a name: its class says where it lives, its metadata which one it is."""

    metadata: ObjectMeta = field(default_factory=ObjectMeta)

    def __repr__(self) -> str:
        """Short, for logs: an object whole is pages long (`msgspec.json.encode` shows it)."""
        meta = self.metadata
        name = f"{meta.namespace}/{meta.name}" if meta.namespace else meta.name
        version = f" at {meta.resource_version}" if meta.resource_version else ""
        return f"<{self.kind} {name or meta.generate_name or '(unnamed)'}{version}>"

"""`Dynamic`: an object of a kind that has no class here."""

from __future__ import annotations

from functools import cache
from typing import Any, cast

import msgspec

from trimtab.kube.editing import lay_over
from trimtab.kube.kinds import Resource, ResourceClass
from trimtab.kube.meta.v1 import ObjectMeta
from trimtab.kube.reading import as_go_reads


class Dynamic(ResourceClass):
    """The JSON of an object, with typed metadata. It keeps every field, known or not.

    `dynamic("example.com/v1", "Widget")` makes the class of a kind; the client takes it as it takes `Pod`.
    """

    __slots__ = ("_metadata", "_metadata_before", "raw")

    def __init__(self, raw: dict[str, Any] | None = None, /, *, metadata: ObjectMeta | None = None) -> None:
        self.raw: dict[str, Any] = {} if raw is None else raw
        self._metadata = metadata
        self._metadata_before: dict[str, Any] = {}

    @property
    def metadata(self) -> ObjectMeta:
        """The metadata, typed; what is changed in it is sent. (`raw["metadata"]` stays as it was read.)"""
        if self._metadata is None:
            self._metadata = msgspec.convert(as_go_reads(ObjectMeta, self.raw.get("metadata") or {}), ObjectMeta)
            self._metadata_before = msgspec.to_builtins(self._metadata)
        return self._metadata

    def __getitem__(self, name: str) -> Any:
        return self.raw[name]

    def __setitem__(self, name: str, value: Any) -> None:
        self.raw[name] = value

    def __contains__(self, name: object) -> bool:
        return name in self.raw

    def get(self, *path: str, default: Any = None) -> Any:
        """What stands at a path, such as `obj.get("spec", "replicas", default=1)`."""
        value: Any = self.raw
        for name in path:
            if not isinstance(value, dict) or name not in value:
                return default
            value = cast("dict[str, Any]", value)[name]
        return value

    def to_wire(self) -> dict[str, Any]:
        """The JSON to send."""
        body = {"apiVersion": self.api_version, "kind": self.kind, **self.raw}
        if self._metadata is not None:
            after = msgspec.to_builtins(self._metadata)
            raw: dict[str, Any] = self.raw.get("metadata") or {}
            if (metadata := lay_over(ObjectMeta, raw, self._metadata_before, after)) != raw:
                body["metadata"] = metadata
        return body

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Dynamic) and self.to_wire() == other.to_wire()

    __hash__ = None  # type: ignore[assignment]  # it can be changed, so it is no key

    def __repr__(self) -> str:
        meta = self.metadata
        name = f"{meta.namespace}/{meta.name}" if meta.namespace else meta.name
        return f"<{self.kind} {name or meta.generate_name or '(unnamed)'}>"


@cache
def dynamic(api_version: str, kind: str, *, plural: str = "", namespaced: bool | None = None) -> type[Dynamic]:
    """The class of a kind that has none, such as `dynamic("example.com/v1", "Widget")`.

    Where plural or scope are not given, the client asks the server's discovery for them at first use.
    """
    group, _, version = api_version.rpartition("/")
    resource = Resource(group, version, kind, plural if namespaced is not None else "", namespaced is not False)

    class Made(Dynamic):
        __slots__ = ()

    Made.resource = resource
    Made.__name__ = Made.__qualname__ = kind
    return Made

"""`Resource`: where a kind lives in the API."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar


@dataclass(frozen=True, slots=True)
class Resource:
    """Where a kind lives in the API: what discovery says of it."""

    group: str
    version: str
    kind: str
    plural: str
    namespaced: bool = True
    subresources: tuple[str, ...] = ()

    @property
    def api_version(self) -> str:
        """`apps/v1`, or `v1` for the core group."""
        return f"{self.group}/{self.version}" if self.group else self.version

    def __str__(self) -> str:
        """`deployments.apps`, as kubectl and the API server's messages name it."""
        return f"{self.plural}.{self.group}" if self.group else self.plural


class ResourceClass:
    """What typed kinds and `Dynamic` have in common: the class knows where its objects live."""

    __slots__ = ()
    resource: ClassVar[Resource]

    @property
    def api_version(self) -> str:
        """`apps/v1`, or `v1` for the core group."""
        return self.resource.api_version

    @property
    def kind(self) -> str:
        """`Deployment`."""
        return self.resource.kind

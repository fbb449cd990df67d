"""Objects of which nothing but the metadata is wanted."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Final

from trimtab.kube.kinds import Resource
from trimtab.kube.objects import Object

if TYPE_CHECKING:
    from trimtab.kube.dynamic import Dynamic

PARTIAL: Final = Resource("meta.k8s.io", "v1", "PartialObjectMetadata", "")
"""What such an object calls itself on its way."""


class MetadataOnly(Object):
    """The metadata of an object: servers send it alone where it is asked for alone."""


@cache
def metadata_of(kind: type[Object | Dynamic]) -> type[MetadataOnly]:
    """The class of a kind's objects with only their metadata, for reads, watches and informers."""

    class Made(MetadataOnly):
        pass

    Made.resource = kind.resource
    Made.__name__ = Made.__qualname__ = f"{kind.__name__}Metadata"
    return Made

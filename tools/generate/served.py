"""What discovery says of kinds."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any


@dataclass
class Served:
    """Where the objects of a kind live. One that is only the body of a subresource (Eviction, Scale) has no plural."""

    plural: str = ""
    namespaced: bool = False
    subresources: list[str] = field(default_factory=list)


def note_served(
    served: dict[tuple[str, str, str], Served], group: str, version: str, resources: Iterable[dict[str, Any]]
) -> None:
    """Add one group-version's resources, each subresource's name to the kind that it belongs to."""
    by_plural: dict[str, Served] = {}
    for r in sorted(resources, key=lambda r: r["name"]):
        plural, _, subresource = r["name"].partition("/")
        key = (r.get("group", group), r.get("version", version), r["kind"])
        if not subresource:
            by_plural[plural] = served[key] = Served(plural, r["namespaced"])
            continue
        served.setdefault(key, Served(namespaced=r["namespaced"]))
        by_plural[plural].subresources.append(subresource)

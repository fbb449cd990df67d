"""Owners of replicas, between an object and its scale.

A Scale is no object of its own: who owns its `.spec.replicas` stands in the object that it scales, as whatever field
the object keeps its replicas in. So a write to the scale begins with `to_scale` and ends with `to_parent`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final, TypeAlias

from trimtab.apiserver.patching.fieldsets import Path, difference, has, of
from trimtab.apiserver.patching.owners import Owner, Who, decode, encode
from trimtab.apiserver.patching.values import Json

SCALE_VERSION: Final = "autoscaling/v1"

Places: TypeAlias = "Mapping[str, Path | None]"
"""By API version of the object, where it keeps its replicas; None where it has no scale in that version."""

_IN_SCALE: Final[Path] = ("f:spec", "f:replicas")


def place_of(json_path: str) -> Path:
    """The place that a custom resource definition calls `.spec.replicas`."""
    return tuple(f"f:{field}" for field in json_path.strip(".").split("."))


def to_scale(entries: list[Any] | None, places: Places) -> list[Json]:
    """The managedFields of the scale, of an object that has these."""
    fields = of(_IN_SCALE)
    found: list[Owner] = []
    for owner in decode(entries, ours=True).values():
        place = places.get(owner.api_version)
        if place and has(owner.fields, place):
            found.append(replace(owner, api_version=SCALE_VERSION, fields=fields, written=None))
    return encode(found)


def to_parent(
    entries: list[Any] | None, scale_entries: list[Any] | None, *, api_version: str, places: Places
) -> list[Json]:
    """The managedFields of the object, once those of its scale are `scale_entries`; before that, `entries`.

    `api_version` is the version in which the object is served. Who comes to own replicas by its scale has no time:
    so it is in Kubernetes.
    """
    before, scaling = decode(entries, ours=True), decode(scale_entries, ours=True)
    kept: dict[Who, Owner] = {}
    for who, owner in before.items():
        if owner.api_version not in places:
            continue
        place = places[owner.api_version]
        if place is None or not has(owner.fields, place):
            kept[who] = owner
        elif who in scaling:
            kept[who] = owner
            del scaling[who]
        elif left := difference(owner.fields, of(place)):
            kept[who] = owner.owning(left)
    place = places.get(api_version)
    for who, owner in scaling.items():
        if place and has(owner.fields, _IN_SCALE):
            time = before[who].time if who in before else None
            kept[who] = replace(owner, api_version=api_version, fields=of(place), time=time, written=None)
    return encode(kept.values())

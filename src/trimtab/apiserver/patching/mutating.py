"""A part of an object merged into it, as policies of the cluster do it: nobody comes to own what that changes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from trimtab.apiserver.facts import Schema
from trimtab.apiserver.patching.checking import faults, told
from trimtab.apiserver.patching.merging import merge
from trimtab.apiserver.patching.values import Json, is_list, is_map


class CannotMergeError(Exception):
    """The part is none that can be merged, in the words of Kubernetes."""


def merged(schema: Schema, obj: Json, part: Json) -> Json:
    """The object with the part. Raises CannotMergeError; what would be replaced as a whole may not be in it."""
    if wrong := faults(schema, part):
        raise CannotMergeError(f"failed to convert patch object to typed object: {told(wrong)}")
    if atomic := list(_atomics(schema, part, "")):
        what = "may not mutate atomic arrays, maps or structs"
        raise CannotMergeError(f"invalid ApplyConfiguration: {what}: {', '.join(atomic)}")
    return merge(schema, obj, part)


def _atomics(schema: Schema, value: Any, way: str) -> Iterator[str]:
    if is_map(value) and schema.is_map:
        if schema.atomic_map:
            yield way
        for key, inner in value.items():
            if (field := schema.fields.get(key)) is not None:
                yield from _atomics(field, inner, f"{way}.{key}")
    elif is_list(value) and schema.is_list:
        if schema.atomic_list:
            yield way
        for place, item in enumerate(value):
            yield from _atomics(schema.items, item, f"{way}[{place}]")

"""The reader of `fields.jsonl`: what Kubernetes' own types say of the fields of a definition and OpenAPI does not."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import NamedTuple

import msgspec


class GoField(NamedTuple):
    """A field of a Go struct."""

    number: int
    """In protobuf; 0 for none."""
    name: str
    """In JSON; of what stands in place, the name of its type in the same package."""
    flags: str

    @property
    def drops_zero(self) -> bool:
        """It is left out where it is empty, since then it is as if nobody had set it."""
        return ("o" in self.flags or "z" in self.flags) and "p" not in self.flags

    @property
    def shows_nothing(self) -> bool:
        """It is there where nobody has set it, as null if it is a list, a map or a time."""
        return "p" not in self.flags and "z" not in self.flags and not self.inline

    @property
    def pointer(self) -> bool:
        """Nothing is not the same as what is empty."""
        return "p" in self.flags

    @property
    def inline(self) -> bool:
        """Its own fields stand in its place in JSON."""
        return "i" in self.flags


@cache
def _lines() -> Mapping[str, list[tuple[int, str, str]]]:
    told = files("trimtab.apiserver.facts").joinpath("fields.jsonl").read_bytes()
    _, *lines = msgspec.json.Decoder(tuple[str, msgspec.Raw]).decode_lines(told)
    return {name: msgspec.json.decode(fields, type=list[tuple[int, str, str]]) for name, fields in lines}


@cache
def fields_of(definition: str) -> tuple[GoField, ...]:
    """The fields of a definition, such as `io.k8s.api.core.v1.PodSpec`; none where its type is not known."""
    return tuple(GoField(*each) for each in _lines().get(definition, ()))


@cache
def shown_nothings(definition: str) -> frozenset[str]:
    """The fields of a definition that are there where nobody has set them."""
    return frozenset(each.name for each in fields_of(definition) if each.shows_nothing)


@cache
def kept_empties(definition: str) -> frozenset[str]:
    """The fields of a definition that are there even where they are empty."""
    return frozenset(each.name for each in fields_of(definition) if not each.flags)


@cache
def shown_nulls(definition: str) -> frozenset[str]:
    """The fields of a definition that are null where nobody has set them, whatever they hold else."""
    return frozenset(each.name for each in fields_of(definition) if each.flags == "p")


@cache
def dropped_zeros(definition: str) -> frozenset[str]:
    """The fields of a definition that are left out where they are empty."""
    return frozenset(each.name for each in fields_of(definition) if each.drops_zero)


@cache
def pointer_fields(definition: str) -> frozenset[str]:
    """The fields of a definition that may be nothing, where what is empty is something else."""
    return frozenset(each.name for each in fields_of(definition) if each.pointer)

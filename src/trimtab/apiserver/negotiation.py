"""The station that settles the form of the answer, from what the client accepts."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, TypeAlias

from trimtab.apiserver import statuses
from trimtab.apiserver.messages import JSON, PROTOBUF, YAML, Request

TYPES: Final = (JSON, YAML, PROTOBUF)
_STREAMS: Final = (f"{JSON};stream=watch", f"{PROTOBUF};stream=watch")
_AGGREGATED: Final = ("apidiscovery.k8s.io", "v2", "APIGroupDiscoveryList")
_OF_OBJECTS: Final = frozenset({"Table", "PartialObjectMetadata", "PartialObjectMetadataList"})
_META: Final = frozenset({"v1", "v1beta1"})
_PEOPLE: Final = ("curl", "Wget", "Mozilla/5.0")
_PRETTY: Final = re.compile(r"(?:^|&)pretty=([^&]+)")
_TRUE: Final = frozenset({"1", "t", "T", "true", "True", "TRUE"})

Shape: TypeAlias = tuple[str, str, str]  # group, version and kind of what the object is to be turned into
Allows: TypeAlias = Callable[[str, Shape | None], bool]


@dataclass(frozen=True, slots=True)
class Form:
    """How to answer: in JSON, YAML or protobuf, and as what, if not as the object itself."""

    media: str = JSON
    shape: str = ""  # Table, PartialObjectMetadata or PartialObjectMetadataList
    version: str = ""  # of that shape


@dataclass(frozen=True, slots=True)
class _Clause:
    media: str
    parameters: dict[str, str]
    weight: float = 1.0

    def comes_before(self, other: _Clause) -> bool:
        """Whether it is more welcome. Like Kubernetes' library, which sees stars as less welcome than any weight."""
        if self.weight > other.weight:
            return True
        mine, its = self.media.split("/"), other.media.split("/")
        return any(a != "*" and b == "*" for a, b in zip(mine, its, strict=True))

    @property
    def shape(self) -> Shape | None:
        """What the object is to be turned into."""
        if not self.parameters.keys() & {"g", "v", "as"}:
            return None
        return self.parameters.get("g", ""), self.parameters.get("v", ""), self.parameters.get("as", "")


@lru_cache(maxsize=256)
def form_of(
    accept: str,
    *,
    watching: bool = False,
    collection: bool = False,
    custom: bool = False,
    protobuf: bool = True,
    tables: bool = True,
) -> Form:
    """The form for objects and lists that comes first among what is accepted. Refused where there is none."""
    if not custom:
        routed_form(accept, (*TYPES, *_STREAMS) if collection or watching else TYPES)
    allows = _object_as if protobuf else _unnumbered_as
    found = _first(accept, allows if tables else lambda media, shape: _is_no_table(shape) and allows(media, shape))
    if found is None:
        raise statuses.not_acceptable(TYPES)
    media, shape = found
    if watching and media == YAML:
        raise statuses.not_acceptable(_STREAMS)
    return Form(media) if shape is None else Form(media, shape[2], shape[1])


@lru_cache(maxsize=64)
def discovery_form(accept: str) -> tuple[Form, bool]:
    """How discovery is wanted, and whether all at once."""
    found = _first(accept, lambda _, shape: shape == _AGGREGATED)
    if found is not None and accept:
        return Form(found[0]), True
    return plain_form(accept), False


@lru_cache(maxsize=64)
def plain_form(accept: str) -> Form:
    """The form for what can be turned into nothing else. Refused where none is accepted."""
    found = _first(accept, _as_it_is)
    if found is None:
        raise statuses.not_acceptable(TYPES)
    return Form(found[0])


@lru_cache(maxsize=64)
def error_form(accept: str) -> Form:
    """The form for a refusal: what is accepted, or else JSON."""
    found = _first(accept, _as_it_is)
    return Form() if found is None else Form(found[0])


def wants_lines(request: Request) -> bool:
    """Whether JSON is for somebody to read: who says so, and whoever uses a browser or curl."""
    said = _PRETTY.search(request.query)
    if said is not None:
        return said[1] in _TRUE
    if request.header("user-agent").startswith(_PEOPLE):
        return True
    accept = request.header("accept")
    return "pretty" in accept and any(each.parameters.get("pretty") == "1" for each in _clauses(accept)[:1])


def routed_form(accept: str, types: Sequence[str] = TYPES) -> None:
    """Refuse who accepts nothing that is there, by the rule of Kubernetes' router, which knows no `application/*`."""
    named = [part.partition(";")[0].strip(" ") for part in accept.split(",")]
    if accept and not any(name == "*/*" or name in types for name in named):
        message = "406: Not Acceptable\n\nAvailable representations: " + ", ".join(types)
        raise statuses.Refused("NotAcceptable", message, empty_details=True)


def _as_it_is(_: str, shape: Shape | None) -> bool:
    return shape is None


def _object_as(media: str, shape: Shape | None) -> bool:
    if shape is None:
        return True
    group, version, kind = shape
    if group != "meta.k8s.io" or version not in _META or kind not in _OF_OBJECTS:
        return False
    return kind != "Table" or media != PROTOBUF


def _is_no_table(shape: Shape | None) -> bool:
    return shape is None or shape[2] != "Table"


def _unnumbered_as(media: str, shape: Shape | None) -> bool:
    """Custom resources have no protobuf, but their metadata has."""
    return media != PROTOBUF if shape is None else _object_as(media, shape)


def _first(accept: str, allows: Allows) -> tuple[str, Shape | None] | None:
    """The first media type that is accepted and allowed, in the shape that is asked for with it."""
    if not accept:
        return JSON, None
    for clause in _clauses(accept):
        for media in TYPES:
            if clause.media not in (media, "application/*", "*/*"):
                continue
            if clause.parameters.get("sv") or clause.parameters.get("stream", "watch") != "watch":
                continue
            if media == YAML and "stream" in clause.parameters:
                continue
            if allows(media, clause.shape):
                return media, clause.shape
    return None


def _clauses(accept: str) -> list[_Clause]:
    """What is accepted, the most welcome first."""
    found: list[_Clause] = []
    for part in accept.split(","):
        clause = _clause(part)
        if clause is None:
            continue
        place = len(found)
        while place and clause.comes_before(found[place - 1]):
            place -= 1
        found.insert(place, clause)
    return found


def _clause(text: str) -> _Clause | None:
    media, *given = text.split(";")
    kind, slash, subtype = (part.strip(" ") for part in media.partition("/"))
    if not slash and kind == "*":
        subtype = "*"
    if not subtype or "/" in subtype:
        return None
    parameters: dict[str, str] = {}
    weight = 1.0
    for each in given:
        name, _, value = each.partition("=")
        if not value or "=" in value:
            continue
        if name.strip(" ") == "q":
            weight = _weight(value)
        else:
            parameters[name.strip(" ")] = value.strip(" ")
    return _Clause(f"{kind}/{subtype}", parameters, weight)


def _weight(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return 0.0

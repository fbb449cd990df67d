"""The station that settles the form of the answer, from what the client accepts."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from trimtab.apiserver import statuses
from trimtab.apiserver.messages import JSON, YAML

TYPES: Final = (JSON, YAML)
_WATCH_TYPES: Final = (f"{JSON};stream=watch",)
_AGGREGATED: Final = "APIGroupDiscoveryList"
_OF_OBJECTS: Final = {
    "Table": frozenset({"v1", "v1beta1"}),
    "PartialObjectMetadata": frozenset({"v1", "v1beta1"}),
    "PartialObjectMetadataList": frozenset({"v1", "v1beta1"}),
}


@dataclass(frozen=True, slots=True)
class Form:
    """How to answer: in JSON or YAML, and as what, if not as the object itself."""

    media: str = JSON
    shape: str = ""  # Table, PartialObjectMetadata or PartialObjectMetadataList
    version: str = ""  # of that shape


@dataclass(frozen=True, slots=True)
class _Clause:
    media: str
    parameters: dict[str, str]
    weight: float


@lru_cache(maxsize=256)
def form_of(accept: str, *, watching: bool = False, collection: bool = False) -> Form:
    """The form for objects and lists that comes first among what is accepted. Refused where there is none."""
    named = False
    for clause in _clauses(accept):
        media = _media(clause.media)
        if not media:
            continue
        named = True
        shape, group, version = (clause.parameters.get(name, "") for name in ("as", "g", "v"))
        if shape and not (group == "meta.k8s.io" and version in _OF_OBJECTS.get(shape, ())):
            continue
        if watching and media != JSON:
            continue
        return Form(media, shape, version)
    if named:
        raise statuses.not_acceptable(_WATCH_TYPES if watching else TYPES)
    raise _nothing(*TYPES, *(_WATCH_TYPES if collection or watching else ()))


@lru_cache(maxsize=64)
def discovery_form(accept: str) -> str:
    """How discovery is wanted: "v2" for the aggregated one, "" for the old."""
    for clause in _clauses(accept):
        if not _media(clause.media):
            continue
        if not clause.parameters.get("as"):
            return ""
        asked = tuple(clause.parameters.get(name) for name in ("as", "g", "v"))
        if asked == (_AGGREGATED, "apidiscovery.k8s.io", "v2"):
            return "v2"
    raise statuses.not_acceptable(TYPES)


def plain_form(accept: str, media: str = JSON) -> None:
    """Refuse who does not accept what is there in one form only."""
    if not any(clause.media in (media, "*/*") for clause in _clauses(accept)):
        raise _nothing(media)


def _nothing(*types: str) -> statuses.Refused:
    message = "406: Not Acceptable\n\nAvailable representations: " + ", ".join(types)
    return statuses.Refused("NotAcceptable", message, empty_details=True)


def _media(name: str) -> str:
    return JSON if name == "*/*" else name if name in TYPES else ""


def _clauses(accept: str) -> list[_Clause]:
    """What is accepted, the most welcome first."""
    if not accept:
        return [_Clause("*/*", {}, 1.0)]
    clauses: list[_Clause] = []
    for part in accept.split(","):
        media, *given = part.split(";")
        parameters = dict(_parameter(each) for each in given)
        try:
            weight = float(parameters.pop("q", "1"))
        except ValueError:
            weight = 0.0
        clauses.append(_Clause(media.strip().lower(), parameters, weight))
    return sorted(clauses, key=lambda clause: -clause.weight)


def _parameter(text: str) -> tuple[str, str]:
    name, _, value = text.partition("=")
    return name.strip(), value.strip()

"""Built-in kinds that are one thing under two names: how an object is stored, and how each name shows it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias, cast

from trimtab.apiserver.builtin.autoscalers import in_v1, in_v2

Json: TypeAlias = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Conversion:
    """To and from the form in which objects are stored, which is that of another kind. Both return new objects."""

    bucket: str
    read: Callable[[Json], Json]
    write: Callable[[Json], Json]


# An Event of events.k8s.io is an Event of the core group, in other words.
_EVENT_FIELDS: Final[Mapping[str, str]] = {
    "regarding": "involvedObject",
    "note": "message",
    "deprecatedSource": "source",
    "deprecatedFirstTimestamp": "firstTimestamp",
    "deprecatedLastTimestamp": "lastTimestamp",
    "deprecatedCount": "count",
    "reportingController": "reportingComponent",
}
_OF_STORED: Final = {stored: name for name, stored in _EVENT_FIELDS.items()}


def _read_event(stored: Json) -> Json:
    made = {_OF_STORED.get(name, name): value for name, value in stored.items()}
    return {name: value for name, value in made.items() if value != ""}


def _write_event(event: Json) -> Json:
    made = {_EVENT_FIELDS.get(name, name): value for name, value in event.items()}
    for name, empty in (("involvedObject", cast("Json", {})), ("source", {}), ("reportingComponent", "")):
        made.setdefault(name, empty)
    for name in ("reportingInstance", "firstTimestamp", "lastTimestamp"):
        made.setdefault(name, "" if name == "reportingInstance" else None)
    return made


CONVERSIONS: Final[Mapping[str, Conversion]] = {
    "events.k8s.io/v1/events": Conversion("events", _read_event, _write_event),
    "autoscaling/v1/horizontalpodautoscalers": Conversion("horizontalpodautoscalers.autoscaling", in_v1, in_v2),
}
"""By group, version and plural name."""
RELATED: Final[Mapping[str, tuple[str, ...]]] = {
    "events": ("v1", "events.k8s.io/v1"),
    "horizontalpodautoscalers": ("autoscaling/v1", "autoscaling/v2"),
}
"""By plural name, the API versions that show the same objects."""


def between(plural: str, obj: Json, api_version: str) -> Json:
    """An object in another of its related API versions."""
    given, wanted = (CONVERSIONS.get(f"{each}/{plural}") for each in (obj["apiVersion"], api_version))
    stored = obj if given is None else given.write(obj)
    return {**(stored if wanted is None else wanted.read(stored)), "apiVersion": api_version}

"""What is wrong with Events, in the form in which they are stored, which is that of the core group."""

from __future__ import annotations

from typing import Any, Final, TypeAlias, cast

from trimtab.apiserver import causes, names
from trimtab.apiserver.builtin import texts
from trimtab.apiserver.causes import Cause

Json: TypeAlias = dict[str, Any]

_TYPES: Final = ("Normal", "Warning")
_LONGEST: Final = 128
_LONGEST_NOTE: Final = 1024
_FEWEST: Final = 2
_IMMUTABLE: Final = (
    ("involvedObject", "involvedObject"),
    ("reason", "reason"),
    ("message", "message"),
    ("source", "source"),
    ("firstTimestamp", "firstTimestamp"),
    ("lastTimestamp", "lastTimestamp"),
    ("count", "count"),
    ("reason", "reason"),  # Kubernetes looks twice, and says so twice
    ("type", "type"),
    ("eventTime", "eventTime"),
    ("action", "action"),
    ("related", "related"),
    ("reportingComponent", "reportingController"),
    ("reportingInstance", "reportingInstance"),
)


def check_old(obj: Json) -> list[Cause]:
    """What is wrong with an Event of the core group."""
    found = _check_place(obj)
    return found if obj.get("eventTime") is None else found + _check_told(obj, "reportingComponent")


def _check_place(obj: Json) -> list[Cause]:
    """An Event is where its object is; a new one of an object of the cluster is in one of two namespaces."""
    about, where = texts.part(obj, "involvedObject"), obj["metadata"].get("namespace", "")
    namespace = about.get("namespace", "")
    if obj.get("eventTime") is None:
        fits = namespace == where or (not namespace and where == "default")
    else:
        fits = bool(namespace) or where in ("default", "kube-system")
    return [] if fits else [causes.invalid("involvedObject.namespace", namespace, "does not match event.namespace")]


def _check_told(obj: Json, controller: str) -> list[Cause]:
    found: list[Cause] = []
    name = obj.get("reportingComponent") or ""
    if not name:
        found.append(causes.required(controller))
    found += texts.follows(controller, name, names.qualified)
    instance = obj.get("reportingInstance") or ""
    if not instance:
        found.append(causes.required("reportingInstance"))
    elif len(instance) > _LONGEST:
        found.append(causes.invalid("reportingInstance", "", f"can have at most {_LONGEST} characters"))
    for field in ("action", "reason"):
        value = obj.get(field) or ""
        if not value:
            found.append(causes.required(field))
        elif len(value) > _LONGEST:
            found.append(causes.invalid(field, "", f"can have at most {_LONGEST} characters"))
    if len(obj.get("message") or "") > _LONGEST_NOTE:
        found.append(causes.invalid("message", "", f"can have at most {_LONGEST_NOTE} characters"))
    return found


def check_new(obj: Json) -> list[Cause]:
    """What is wrong with an Event of events.k8s.io that is to be."""
    found = _check_place(obj)
    found += _check_new(obj)
    return found


def _check_new(obj: Json) -> list[Cause]:
    found = [] if obj.get("eventTime") else [causes.required("eventTime")]
    found += _check_told(obj, "reportingController")
    kind = obj.get("type") or ""
    if kind not in _TYPES:
        found.append(causes.invalid("type", "", f"has invalid value: {kind}"))
    found += [
        causes.invalid(name, "", "needs to be unset")
        for name in ("firstTimestamp", "lastTimestamp", "count", "source")
        if obj.get(name)
    ]
    return found + _check_series(obj)


def _check_series(obj: Json) -> list[Cause]:
    series = cast("Json | None", obj.get("series"))
    if series is None:
        return []
    found: list[Cause] = []
    if series.get("count", 0) < _FEWEST:
        found.append(causes.invalid("series.count", "", f"should be at least {_FEWEST}"))
    if not series.get("lastObservedTime"):
        found.append(causes.required("series.lastObservedTime"))
    return found


def check_new_change(new: Json, old: Json) -> list[Cause]:
    """What of an Event of events.k8s.io cannot change: all but its series."""
    found = _check_place(new)
    for name, field in _IMMUTABLE:
        if (new.get(name) or None) != (old.get(name) or None):
            found.append(causes.invalid(field, _shown(name, new.get(name)), texts.IMMUTABLE))
    return found + _check_series(new)


def _shown(name: str, value: Any) -> Any:
    if name not in ("involvedObject", "related") or not isinstance(value, dict):
        return value
    ref = cast("Json", value)
    order = ("kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath")
    go = ("Kind", "Namespace", "Name", "UID", "APIVersion", "ResourceVersion", "FieldPath")
    return causes.Struct({shown: ref.get(key, "") for key, shown in zip(order, go, strict=True)})

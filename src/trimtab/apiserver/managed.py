"""Who set which field: the books that are kept of every write (`patching/` has the rules)."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any, TypeAlias

from trimtab.apiserver.calls import Call
from trimtab.apiserver.catalogue import Kind
from trimtab.apiserver.facts import Schema
from trimtab.apiserver.patching import Versions, apply, fits_update, record_update, resets_of, to_parent, to_scale
from trimtab.apiserver.scaling import places_of, scale_of, with_scale
from trimtab.apiserver.versions import in_version

Json: TypeAlias = dict[str, Any]


class _Unfit(Exception):
    """An object that was converted does not fit the schema of its version: nothing can be told of who set what."""


def fields_after(call: Call, before: Json | None, after: Json, now: datetime) -> list[Json]:
    """The managedFields after a write that was no apply."""
    kind = call.target.kind
    if kind.schema is None:
        return []
    if kind.custom is not None and not (fits_update(kind.schema, after) and fits_update(kind.schema, before)):
        return []  # as the schema is today, nothing can be told of who set what
    try:
        return _updated(call, before, after, now)
    except _Unfit:
        return []


def _updated(call: Call, before: Json | None, after: Json, now: datetime) -> list[Json]:
    kind, sub = call.target.kind, _subresource(call)
    assert kind.schema is not None
    return record_update(
        before,
        after,
        schema=kind.schema,
        manager=call.manager,
        subresource=sub,
        api_version=kind.api_version,
        now=now,
        resets=resets_of(kind.group, kind.api_version, kind.kind, sub, has_status="status" in kind.subresources),
        versions=_versions(call),
    )


def applied_to(call: Call, live: Json | None, applied: Json, now: datetime) -> Json:
    """What an apply makes of an object, with its managedFields."""
    kind, sub = call.target.kind, _subresource(call)
    assert kind.schema is not None
    return apply(
        live,
        applied,
        schema=kind.schema,
        manager=call.manager,
        force=bool(call.options.force),
        subresource=sub,
        api_version=kind.api_version,
        now=now,
        resets=resets_of(kind.group, kind.api_version, kind.kind, sub, has_status="status" in kind.subresources),
        versions=_versions(call),
    )


def scaled(call: Call, kind: Kind, live: Json, change: Callable[[Json], Json], now: datetime) -> Json:
    """The object with the scale that a call makes of its scale, and with who set that."""
    places, entries = places_of(kind), live["metadata"].get("managedFields")
    before = scale_of(kind, live)
    if owned := to_scale(entries, places):
        before["metadata"]["managedFields"] = owned
    scale = change(before)
    if kind.custom is not None:
        scale["metadata"].pop("managedFields", None)  # Kubernetes does not know there what a Scale is, and forgets them
    elif not call.applies:
        scale["metadata"]["managedFields"] = fields_after(call, before, scale, now)
    made = with_scale(kind, live, scale)
    owners = scale["metadata"].get("managedFields")
    made["metadata"]["managedFields"] = to_parent(entries, owners, api_version=kind.api_version, places=places)
    return made


def _versions(call: Call) -> Versions:
    """What shows an object in another version, in which somebody owns fields."""
    kind = call.target.kind

    def shown(obj: Json, api_version: str) -> tuple[Json, Schema] | None:
        found = in_version(kind, call.known, obj, api_version)
        if found is None:
            return None
        if not (call.applies or fits_update(kind.schemas[api_version], found)):
            raise _Unfit
        return found, kind.schemas[api_version]

    return shown


def _subresource(call: Call) -> str:
    return call.target.subresource.name if call.target.subresource is not None else ""

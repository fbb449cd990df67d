"""Server-side apply, and the bookkeeping of managedFields for whoever writes in another way."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any, Final

import msgspec

from trimtab.apiserver.causes import Cause
from trimtab.apiserver.facts import Schema
from trimtab.apiserver.patching.checking import faults, fits, told
from trimtab.apiserver.patching.fieldsets import NOTHING, Node, difference, for_html, has, of, path_text, union
from trimtab.apiserver.patching.owners import Operation, Owner, Owners, UnreadableError, capped, decode, encode, reset
from trimtab.apiserver.patching.ownership import Conflict, ConflictsError, Ownership, Resets, Versions
from trimtab.apiserver.patching.refusals import Unexplained, not_too_deep
from trimtab.apiserver.patching.typedsets import compare, equal, field_set
from trimtab.apiserver.patching.values import Json, is_map
from trimtab.apiserver.statuses import Refused, bad_request
from trimtab.kube.timestamps import format_time

LAST_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"
BEFORE_APPLY: Final = "before-first-apply"

_UNKNOWN: Final = "unknown"
_MOST_ANNOTATIONS: Final = 256 * 1024

_NOBODYS: Final = of(
    ("f:apiVersion",),
    ("f:kind",),
    ("f:metadata",),
    *(
        ("f:metadata", f"f:{field}")
        for field in (
            *("name", "namespace", "creationTimestamp", "selfLink", "uid", "clusterName", "generation"),
            *("managedFields", "resourceVersion"),
        )
    ),
)
"""What nobody owns, whoever sent it."""


class ApplyConflict(Refused):
    """Somebody else owns fields that were applied with other values."""

    def __init__(self, conflicts: list[Conflict]) -> None:
        ordered = sorted(conflicts, key=lambda conflict: conflict.owner.identifier())
        causes = [
            Cause("FieldManagerConflict", f"conflict with {conflict.owner.shown()}", path_text(conflict.path))
            for conflict in ordered
        ]
        super().__init__("Conflict", _conflict_message(ordered), causes=causes)
        self.conflicts = ordered


@not_too_deep
def apply(
    live: Json | None,
    applied: Json,
    *,
    schema: Schema,
    manager: str,
    force: bool,
    subresource: str,
    api_version: str,
    now: datetime,
    resets: Resets | None = None,
    versions: Versions | None = None,
) -> Json:
    """What an apply makes of the live object, which is None where there is none yet.

    The result is a new object with its managedFields; where nothing changed, it is as the live one. Defaults are for
    the caller to fill in.

    - `schema`: of the kind, in the version `api_version`, of what the endpoint shows.
    - `manager`: who applies; `subresource`: "" or the endpoint's, such as "status".
    - `resets`: what the endpoint puts back, by API version.
    - `versions`: gives an object in another API version; without it, owners in other versions are forgotten.

    Raises ApplyConflict, and Refused for an object that cannot be applied.
    """
    _check(applied, live, schema, api_version)
    entries: Any = None if live is None else _meta(live).get("managedFields")
    try:
        owners = decode(entries, ours=True)
    except UnreadableError as error:
        raise Unexplained(f"failed to decode managed fields: {error}") from error
    before = _zero(schema, applied) if live is None else live
    ownership = Ownership(schema, api_version, versions or _no_other_version, resets or {})
    if not owners:
        writer = _owner(BEFORE_APPLY, "Update", api_version, subresource)
        owners = _updated(ownership, _zero(schema, applied), before, owners, writer, now)
    applier = _owner(manager, "Apply", api_version, subresource)
    try:
        new, owners = ownership.apply(before, applied, owners, applier, force=force)
    except ConflictsError as error:
        if remaining := _conflicts_that_count(error.conflicts, before, schema, api_version, manager):
            raise ApplyConflict(remaining) from None
        new, owners = ownership.apply(before, applied, owners, applier, force=True)
    owners = _stripped(owners, applier)
    if new is not None and applier.who in owners:
        owners[applier.who] = replace(owners[applier.who], time=_time(now))
    result = before if new is None else new
    if manager == "kubectl":
        result = _with_last_applied(result, applied)
    return _with_owners(result, owners)


@not_too_deep
def record_update(
    before: Json | None,
    after: Json,
    *,
    schema: Schema,
    manager: str,
    subresource: str,
    api_version: str,
    now: datetime,
    resets: Resets | None = None,
    versions: Versions | None = None,
) -> list[Json]:
    """The managedFields after a create (`before` is None), an update or a patch; [] where they are not kept.

    What `after` says of managedFields counts as far as clients may write them. The arguments are those of `apply`.
    """
    live_entries: Any = None if before is None else _meta(before).get("managedFields")
    try:
        owners = _owners_to_go_on_with(live_entries, _meta(after).get("managedFields"), subresource)
    except UnreadableError:
        owners = {}
    live = _zero(schema, after) if before is None else before
    if not owners and _meta(live).get("uid"):
        return []
    ownership = Ownership(schema, api_version, versions or _no_other_version, resets or {})
    writer = _owner(manager, "Update", api_version, subresource)
    return encode(_updated(ownership, live, _without_owners(after), owners, writer, now).values())


@not_too_deep
def keep_times(before: Json, after: Json) -> Json:
    """The object with the times of before, where nothing else is different: then it need not be written."""
    old: list[Json] = _meta(before).get("managedFields") or []
    new: list[Json] = _meta(after).get("managedFields") or []
    if not new or len(old) != len(new) or not all(map(_same_but_for_time, old, new)):
        return after
    settled = {**after, "metadata": {**_meta(after), "managedFields": old}}
    return settled if equal(before, settled) else after


def _same_but_for_time(one: Json, other: Json) -> bool:
    return equal({**one, "time": None}, {**other, "time": None})


def _zero(schema: Schema, like: Json) -> Json:
    """An object before anybody set anything: what a create is compared with."""
    named = {"apiVersion": like.get("apiVersion", ""), "kind": like.get("kind", "")}
    return {**named, **_copied(schema.zero)}


def _copied(structs: Json) -> Json:
    return {key: _copied(value) if is_map(value) else value for key, value in structs.items()}


def _check(applied: Json, live: Json | None, schema: Schema, api_version: str) -> None:
    meta = _meta(applied)
    kind = (live or applied).get("kind")
    if applied.get("apiVersion") != api_version or applied.get("kind") != kind:
        group, _, version = str(applied.get("apiVersion", "")).rpartition("/")
        raise bad_request(f"invalid object type: {group}/{version}, Kind={applied.get('kind', '')}")
    if meta.get("managedFields") is not None:
        raise bad_request("metadata.managedFields must be nil")
    if not fits(schema, applied):
        found = faults(schema, applied)
        group, _, version = api_version.rpartition("/")
        what = f"{meta.get('namespace', '')}/{meta.get('name', '')}; {group}/{version}, Kind={applied.get('kind', '')}"
        raise Unexplained(f"failed to create typed patch object ({what}): {told(found)}")


def _owners_to_go_on_with(live: Any, sent: Any, subresource: str) -> Owners:
    """Those whom the write names; where it names none, or nonsense, those of the live object."""
    if subresource or sent is None or (live and sent == live):
        return decode(live, ours=True)
    if reset(sent):
        return {}
    try:
        owners = decode(sent)
    except UnreadableError:
        owners = {}
    return owners or decode(live, ours=True)


def _updated(ownership: Ownership, live: Json, new: Json, owners: Owners, writer: Owner, now: datetime) -> Owners:
    """The owners after a write by other means than apply."""
    current = replace(writer, manager="current-operation")
    owners = _stripped(ownership.update(live, new, owners, current), current)
    wrote = owners.pop(current.who, None)
    if wrote is not None:
        earlier = owners.get(writer.who)
        fields = union(wrote.fields, earlier.fields) if earlier else wrote.fields
        owners[writer.who] = replace(writer, fields=fields, time=_time(now))
    return capped(owners)


def _stripped(owners: Owners, writer: Owner) -> Owners:
    """Without what nobody owns."""
    found = owners.get(writer.who)
    if found is None:
        return owners
    owners = dict(owners)
    if fields := difference(found.fields, _NOBODYS):
        owners[writer.who] = found.owning(fields)
    else:
        del owners[writer.who]
    return owners


def _conflicts_that_count(
    conflicts: list[Conflict], live: Json, schema: Schema, api_version: str, manager: str
) -> list[Conflict]:
    """Without those about what `kubectl apply` had set, when it is kubectl that now applies on the server's side."""
    if manager != "kubectl":
        return conflicts
    allowed = _last_applied_fields(live, schema, api_version)
    return [conflict for conflict in conflicts if not has(allowed, conflict.path)]


def _last_applied_fields(live: Json, schema: Schema, api_version: str) -> Node:
    annotations: Json = _meta(live).get("annotations") or {}
    annotation = annotations.get(LAST_APPLIED)
    if not annotation:
        return NOTHING
    try:
        last: Any = msgspec.json.decode(annotation)
    except msgspec.DecodeError:
        return NOTHING
    if not is_map(last) or last.get("apiVersion") != api_version or not fits(schema, last):
        return NOTHING
    fields = field_set(schema, last)
    for changed in compare(schema, last, live):
        fields = difference(fields, changed)
    return fields


def _with_last_applied(obj: Json, applied: Json) -> Json:
    """With kubectl's annotation as kubectl would write it, where there is one."""
    meta = _meta(obj)
    annotations: dict[str, str] = meta.get("annotations") or {}
    if not annotations.get(LAST_APPLIED):
        return obj
    named: Json = _meta(applied).get("annotations") or {}
    wanted = {key: value for key, value in named.items() if key != LAST_APPLIED}
    said: Json = {**applied, "metadata": {**_meta(applied), "annotations": wanted}}
    if not wanted:
        del said["metadata"]["annotations"]
    annotations = {**annotations, LAST_APPLIED: for_html(msgspec.json.encode(said, order="sorted").decode()) + "\n"}
    if sum(len(key) + len(value) for key, value in annotations.items()) > _MOST_ANNOTATIONS:
        del annotations[LAST_APPLIED]
    return {**obj, "metadata": {**meta, "annotations": annotations}}


def _with_owners(obj: Json, owners: Owners) -> Json:
    entries = encode(owners.values())
    bare = _without_owners(obj)
    return {**bare, "metadata": {**_meta(bare), "managedFields": entries}} if entries else bare


def _without_owners(obj: Json) -> Json:
    meta = _meta(obj)
    if "managedFields" not in meta:
        return obj
    return {**obj, "metadata": {key: value for key, value in meta.items() if key != "managedFields"}}


def _owner(manager: str, operation: Operation, api_version: str, subresource: str) -> Owner:
    return Owner(manager or _UNKNOWN, operation, api_version, subresource, NOTHING)


def _no_other_version(obj: Json, api_version: str) -> tuple[Json, Schema] | None:  # noqa: ARG001  # as Versions wants it
    return None


def _meta(obj: Mapping[str, Any]) -> Json:
    return obj.get("metadata") or {}


def _time(now: datetime) -> str:
    return format_time(now)


def _conflict_message(conflicts: list[Conflict]) -> str:
    if len(conflicts) == 1:
        only = conflicts[0]
        return f"Apply failed with 1 conflict: conflict with {only.owner.shown()}: {path_text(only.path)}"
    lines: list[str] = []
    last = ""
    for conflict in conflicts:
        if conflict.owner.identifier() != last:
            last = conflict.owner.identifier()
            lines.append(f"conflicts with {conflict.owner.shown()}:")
        lines.append(f"- {path_text(conflict.path)}")
    return f"Apply failed with {len(conflicts)} conflicts: " + "\n".join(lines)

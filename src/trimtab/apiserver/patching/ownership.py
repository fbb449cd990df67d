"""What a write does to who owns what: conflicts, fields taken over, fields let go.

Objects are compared in the API version of each owner; `Versions` gives an object in another one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple, TypeAlias

from trimtab.apiserver.facts import Schema
from trimtab.apiserver.patching.fieldsets import (
    NOTHING,
    Node,
    Path,
    difference,
    intersection,
    is_member,
    paths,
    union,
    without,
)
from trimtab.apiserver.patching.merging import merge, remove, with_named
from trimtab.apiserver.patching.owners import Owner, Owners, Who
from trimtab.apiserver.patching.reconciling import reconciled
from trimtab.apiserver.patching.typedsets import Changes, compare, equal, field_set

Json = dict[str, Any]

Versions: TypeAlias = "Callable[[Json, str], tuple[Json, Schema] | None]"
"""An object in another API version, with that one's schema; None where there is no such version any more."""

Resets: TypeAlias = "dict[str, Node]"
"""By API version, the fields that the endpoint puts back whatever was sent: nobody comes to own them there."""


class Conflict(NamedTuple):
    """A field that somebody else owns."""

    owner: Owner
    path: Path


class ConflictsError(Exception):
    """Fields that somebody else owns, and nobody said that it be forced."""

    def __init__(self, conflicts: list[Conflict]) -> None:
        super().__init__(f"{len(conflicts)} conflicts")
        self.conflicts = conflicts


class Ownership:
    """One write to one object through one endpoint."""

    def __init__(self, schema: Schema, api_version: str, versions: Versions, resets: Resets) -> None:
        self._schema = schema
        self._api_version = api_version
        self._versions = versions
        self._resets = resets

    def update(self, live: Json, new: Json, owners: Owners, writer: Owner) -> Owners:
        """Whoever writes owns what they changed; `writer` owned nothing before."""
        owners = self._reconciled(live, owners)
        owners, changes = self._taken_over(live, new, owners, writer.who, force=True)
        own = self._filtered(self._api_version, union(changes.modified, changes.added))
        if own:
            owners[writer.who] = writer.owning(own)
        return owners

    def apply(
        self, live: Json, applied: Json, owners: Owners, applier: Owner, *, force: bool
    ) -> tuple[Json | None, Owners]:
        """Merge what was applied into the live object: None where that changes nothing."""
        owners = self._reconciled(live, owners)
        merged = merge(self._schema, live, applied)
        last = owners.get(applier.who)
        own = self._filtered(self._api_version, field_set(self._schema, applied))
        owners[applier.who] = replace(applier, fields=own, time=last.time if last else None)
        new = self._pruned(merged, owners, last) if last and _lets_go(last.fields, own) else merged
        owners, _ = self._taken_over(live, new, owners, applier.who, force=force)
        return (None if equal(live, new) else new), owners

    def _filtered(self, api_version: str, fields: Node) -> Node:
        return without(fields, self._resets.get(api_version, NOTHING))

    def _in(self, obj: Json, api_version: str) -> tuple[Json, Schema] | None:
        return (obj, self._schema) if api_version == self._api_version else self._versions(obj, api_version)

    def _reconciled(self, live: Json, owners: Owners) -> Owners:
        """The owners with their sets as the schemas are today; those of versions that are gone are gone too."""
        found: Owners = {}
        schemas: dict[str, Schema | None] = {self._api_version: self._schema}
        for who, owner in owners.items():
            if owner.api_version not in schemas:
                there = self._in(live, owner.api_version)
                schemas[owner.api_version] = there and there[1]
            schema = schemas[owner.api_version]
            if schema is not None:
                fields = reconciled(schema, owner.fields)
                found[who] = owner.owning(fields)
        return found

    def _taken_over(self, live: Json, new: Json, owners: Owners, writer: Who, *, force: bool) -> tuple[Owners, Changes]:
        """Take from everybody else what becomes different, unless it is theirs and nobody forces it."""
        found = {self._api_version: self._changes(self._api_version, self._schema, live, new)}
        kept: Owners = {}
        conflicts: list[Conflict] = []
        for who, owner in owners.items():
            if who == writer:
                kept[who] = owner
                continue
            changes = found.get(owner.api_version)
            if changes is None:
                before, after = self._in(live, owner.api_version), self._in(new, owner.api_version)
                if before is None or after is None:
                    continue
                changes = found[owner.api_version] = self._changes(owner.api_version, before[1], before[0], after[0])
            lost = intersection(owner.fields, union(changes.modified, changes.added))
            conflicts += [Conflict(owner, path) for path in paths(lost)] if lost and not force else ()
            fields = difference(difference(owner.fields, lost), changes.removed)
            if fields:
                kept[who] = owner.owning(fields)
        if conflicts:
            raise ConflictsError(conflicts)
        if writer in kept and not kept[writer].fields:
            del kept[writer]
        return kept, found[self._api_version]

    def _changes(self, api_version: str, schema: Schema, live: Json, new: Json) -> Changes:
        changes = compare(schema, live, new)
        resets = self._resets.get(api_version)
        return Changes(*(without(fields, resets) for fields in changes)) if resets else changes

    def _pruned(self, merged: Json, owners: Owners, last: Owner) -> Json:
        """Without what its applier named last time and now does not, and nobody else owns."""
        there = self._in(merged, last.api_version)
        if there is None:
            return merged
        obj, schema = there
        named = with_named(schema, last.fields)
        pruned: Json = remove(schema, obj, named) or {}
        whole = with_named(schema, field_set(schema, obj))
        left = with_named(schema, field_set(schema, pruned))
        by_version: dict[str, Node] = {}
        for owner in owners.values():
            by_version[owner.api_version] = union(by_version.get(owner.api_version, NOTHING), owner.fields)
        # In the version in which it was applied first: the others may need what it has.
        for version in sorted(by_version, key=lambda version: version != last.api_version):
            pruned, left = self._with_owned(obj, pruned, (schema, whole, left), version, by_version[version], last)
        gone = intersection(difference(whole, left), named)
        kept: Json = remove(schema, obj, gone) or {}
        back = self._in_from(kept, last.api_version)
        return merged if back is None else back

    def _with_owned(
        self, obj: Json, pruned: Json, known: tuple[Schema, Node, Node], version: str, owned: Node, last: Owner
    ) -> tuple[Json, Node]:
        """Back comes what somebody owns, in the version in which they do."""
        schema, whole, left = known
        if version != last.api_version:
            there, less = self._from(obj, last.api_version, version), self._from(pruned, last.api_version, version)
            if there is None or less is None:
                return pruned, left
            obj, schema = there
            whole = with_named(schema, field_set(schema, obj))
            left = with_named(schema, field_set(schema, less[0]))
        gone = difference(whole, union(left, with_named(schema, owned)))
        pruned = remove(schema, obj, gone) or {}
        if version != last.api_version:
            back = self._from(pruned, version, last.api_version)
            pruned = back[0] if back else pruned
        return pruned, with_named(known[0], field_set(known[0], pruned))

    def _from(self, obj: Json, api_version: str, wanted: str) -> tuple[Json, Schema] | None:
        """An object of one version in another."""
        if wanted == self._api_version:
            back = self._in_from(obj, api_version)
            return None if back is None else (back, self._schema)
        return self._versions(obj, wanted)

    def _in_from(self, obj: Json, api_version: str) -> Json | None:
        """An object of another version in this endpoint's."""
        if api_version == self._api_version:
            return obj
        there = self._versions(obj, self._api_version)
        return there and there[0]


def _lets_go(last: Node, own: Node) -> bool:
    """Whether an applier may have named last time what it does not name now."""
    return last != own and not _within(last, own)


def _within(last: Node, own: Node) -> bool:
    for element, then in last.items():
        now = own.get(element)
        if now is None or is_member(then) != is_member(now) or not _within(then, now):
            return False
    return True

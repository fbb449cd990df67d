"""managedFields: who set which fields, how they are read and written."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, Final, Literal, TypeAlias

import msgspec

from trimtab.apiserver.causes import quoted
from trimtab.apiserver.patching.fieldsets import Node, as_read, in_order, union
from trimtab.apiserver.patching.values import is_list, is_map

Operation: TypeAlias = Literal["Apply", "Update"]
Who: TypeAlias = "tuple[str, Operation, str, str]"
"""Manager, operation, API version (of updates), subresource: what tells entries from each other."""

MOST_UPDATERS: Final = 10
ANCIENT: Final = "ancient-changes"


class UnreadableError(ValueError):
    """managedFields that are none."""


@dataclass(frozen=True, slots=True)
class Owner:
    """One entry of managedFields."""

    manager: str
    operation: Operation
    api_version: str
    subresource: str
    fields: Node
    time: str | None = None
    written: dict[str, Any] | None = None
    """The entry that it was read from, where that is as it would be written."""

    @property
    def who(self) -> Who:
        """What tells it from the others: one who applies does so in whichever version."""
        version = "" if self.operation == "Apply" else self.api_version
        return (self.manager, self.operation, version, self.subresource)

    def owning(self, fields: Node) -> Owner:
        """The same with other fields."""
        return self if fields is self.fields else replace(self, fields=fields, written=None)

    def entry(self) -> dict[str, Any]:
        """As it stands in the object."""
        if self.written is not None:
            return self.written
        entry: dict[str, Any] = {
            "manager": self.manager,
            "operation": self.operation,
            "apiVersion": self.api_version,
            "time": self.time,
            "fieldsType": "FieldsV1",
            "fieldsV1": in_order(self.fields),
            "subresource": self.subresource,
        }
        return {key: value for key, value in entry.items() if value or key == "fieldsV1"}

    def identifier(self) -> str:
        """By what the messages about conflicts are ordered."""
        manager, operation, version, subresource = self.who
        named = {"manager": manager, "operation": operation, "apiVersion": version, "subresource": subresource}
        return msgspec.json.encode({key: value for key, value in named.items() if value}).decode()

    def shown(self) -> str:
        """`"kubectl" with subresource "status" using v1`: the owner in a message."""
        text = quoted(self.manager)
        if self.subresource:
            text += f" with subresource {quoted(self.subresource)}"
        return text if self.operation == "Apply" else f"{text} using {self.api_version}"


Owners: TypeAlias = "dict[Who, Owner]"


def decode(entries: Any, *, ours: bool = False) -> Owners:
    """Read managedFields; UnreadableError where they are none. `ours` are as we wrote them."""
    owners: Owners = {}
    if not ours:
        _check(entries)
    for index, entry in enumerate(entries or ()):
        if entry.get("operation") not in {"Apply", "Update"}:
            raise UnreadableError("operation must be `Apply` or `Update`")
        if not entry.get("apiVersion"):
            raise UnreadableError("apiVersion must not be empty")
        if (fields_type := entry.get("fieldsType", "")) != "FieldsV1":
            fault = f"invalid fieldsType {quoted(fields_type)}" if fields_type else "missing fieldsType"
            raise UnreadableError(f"{fault} in managed fields entry {index}")
        try:
            fields: Node = entry.get("fieldsV1") or {}
            fields = fields if ours else as_read(fields)
        except (ValueError, msgspec.DecodeError) as error:
            raise UnreadableError(f"error decoding set: {error}") from error
        owner = Owner(
            entry.get("manager", ""),
            entry["operation"],
            entry["apiVersion"],
            entry.get("subresource", ""),
            fields,
            entry.get("time"),
            entry if ours else None,
        )
        owners[owner.who] = owner
    return owners


def _check(entries: Any) -> None:
    """Refuse what is no list of entries, or has something else than text where text belongs."""
    if entries is not None and not is_list(entries):
        raise UnreadableError("managed fields are no list")
    for entry in entries or ():
        if not is_map(entry):
            raise UnreadableError("an entry of the managed fields is no object")
        if not all(isinstance(value, str) for key, value in entry.items() if key != "fieldsV1" and value is not None):
            raise UnreadableError("an entry of the managed fields has no text where it should")


def encode(owners: Iterable[Owner]) -> list[dict[str, Any]]:
    """Write managedFields: appliers before updaters, the oldest first."""

    def place(owner: Owner) -> tuple[str, str, str, str, str]:
        return (owner.operation, owner.time or "", owner.manager, owner.api_version, owner.subresource)

    return [owner.entry() for owner in sorted(owners, key=place)]


def reset(entries: Any) -> bool:
    """Whether somebody asks to forget who owns what: an empty list, or one empty entry."""
    if not is_list(entries) or len(entries) > 1:
        return False
    return not entries or (is_map(entries[0]) and not any(entries[0].values()))


def capped(owners: Owners) -> Owners:
    """At most ten updaters: of more, the oldest become one for each API version."""
    updaters = [owner for owner in owners.values() if owner.operation == "Update"]
    excess = len(updaters) - MOST_UPDATERS
    if excess <= 0:
        return owners
    owners = dict(owners)
    first: dict[str, Owner] = {}
    for owner in sorted(updaters, key=lambda owner: (owner.time or "", owner.identifier())):
        if excess == 0:
            break
        version = owner.api_version
        if version not in first:
            first[version] = owner
            continue
        bucket: Who = (ANCIENT, "Update", version, "")
        if bucket not in owners:
            eldest = owners.pop(first[version].who)
            owners[bucket] = replace(eldest, manager=ANCIENT, subresource="", written=None)
        joined = union(owner.fields, owners[bucket].fields)
        del owners[owner.who]
        owners[bucket] = Owner(ANCIENT, "Update", version, "", joined, owner.time)
        excess -= 1
    return owners

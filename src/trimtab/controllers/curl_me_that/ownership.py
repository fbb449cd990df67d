"""Whose a key of a ConfigMap is, by what the API server keeps in managedFields. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from trimtab.client import Conflict
from trimtab.kube.core.v1 import ConfigMap
from trimtab.kube.meta.v1 import ManagedFieldsEntry

_DECLARES: Final = frozenset({"kubectl-client-side-apply"})  # by update, but from a file that says what should be
_FIELDS: Final = ("data", "binaryData")


def owners(config_map: ConfigMap, key: str) -> list[ManagedFieldsEntry]:
    """Those who set this key, one way or another."""
    return [
        entry
        for entry in config_map.metadata.managed_fields
        if any(f"f:{key}" in (entry.fields_v1.get(f"f:{field}") or {}) for field in _FIELDS)
    ]


def owned_by(config_map: ConfigMap, key: str, manager: str) -> bool:
    """Whether this manager applied the key."""
    return any(entry.manager == manager and entry.operation == "Apply" for entry in owners(config_map, key))


def others(entries: Iterable[ManagedFieldsEntry], manager: str) -> list[str]:
    """The names of the others among the owners."""
    return sorted({entry.manager or "somebody" for entry in entries if entry.manager != manager})


def claimants(config_map: ConfigMap, key: str, manager: str) -> list[str]:
    """The others who say that the key should be as they set it: those who apply.

    Who updated or patched it changed a value by hand, and does not claim the key.
    """
    claims = (e for e in owners(config_map, key) if e.operation == "Apply" or e.manager in _DECLARES)
    return others(claims, manager)


def keys_in_conflict(conflict: Conflict) -> set[str]:
    """The keys over which an apply met another owner; empty where it was refused for something else."""
    fields = [cause.field or "" for cause in conflict.causes if cause.reason == "FieldManagerConflict"]
    keys: set[str] = set()
    for path in fields:
        _, field, *rest = path.split(".", 2)
        keys.add(rest[0] if field in _FIELDS and rest else "")
    return keys

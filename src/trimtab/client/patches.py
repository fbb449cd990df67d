"""The ways to change an object that is there. Each knows the body it sends and the type of that body."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import msgspec


@dataclass(frozen=True, slots=True)
class MergePatch:
    """A JSON merge patch (RFC 7386): what is named is set, null removes, lists are replaced whole."""

    body: Mapping[str, Any]
    content_type = "application/merge-patch+json"

    def encode(self) -> bytes:
        """The body."""
        return msgspec.json.encode(self.body)


@dataclass(frozen=True, slots=True)
class StrategicMergePatch:
    """A merge patch that merges the lists of built-in kinds by their keys. Custom resources do not know it."""

    body: Mapping[str, Any]
    content_type = "application/strategic-merge-patch+json"

    def encode(self) -> bytes:
        """The body."""
        return msgspec.json.encode(self.body)


@dataclass(frozen=True, slots=True)
class JSONPatch:
    """A JSON patch (RFC 6902): operations in order, all or nothing; `test` makes it conditional."""

    operations: Sequence[Mapping[str, Any]]
    content_type = "application/json-patch+json"

    def encode(self) -> bytes:
        """The body."""
        return msgspec.json.encode(self.operations)


Patch: TypeAlias = MergePatch | StrategicMergePatch | JSONPatch
APPLY = "application/apply-patch+yaml"  # JSON is YAML

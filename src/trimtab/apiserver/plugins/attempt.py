"""What a plugin is asked about: an attempt to write something, and how it is refused."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, cast

from trimtab.apiserver import statuses
from trimtab.apiserver.calls import Call
from trimtab.apiserver.causes import Cause
from trimtab.apiserver.statuses import Refused

Json: TypeAlias = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Attempt:
    """One write: what it makes of what."""

    call: Call
    operation: str  # CREATE, UPDATE or DELETE
    new: Json | None
    old: Json | None

    @property
    def bucket(self) -> str:
        """What it is about, as `deployments.apps`."""
        return self.call.target.kind.bucket

    @property
    def subresource(self) -> str:
        """`status`, or ""."""
        sub = self.call.target.subresource
        return "" if sub is None else sub.name

    @property
    def namespace(self) -> str:
        """Where the object is, or is to be."""
        return self.call.target.namespace

    @property
    def name(self) -> str:
        """The object's name, or the beginning of the one that is made for it."""
        metadata = cast("Json", (self.new or {}).get("metadata") or {})
        return self.call.target.name or metadata.get("name") or metadata.get("generateName") or "Unknown"

    @property
    def obj(self) -> Json:
        """What is to be written; what is to go, where it is a deletion."""
        return cast("Json", self.new if self.new is not None else self.old)

    @property
    def spec(self) -> Json:
        """The spec of what is to be written, to be looked at and changed."""
        return cast("Json", self.obj.setdefault("spec", {}))

    def forbidden(self, why: str, causes: Sequence[Cause] = ()) -> Refused:
        """The refusal that plugins have for everything."""
        kind = self.call.target.kind
        return statuses.forbidden(kind.plural, kind.group, self.name, why, causes)

"""What happens to an object of any kind when it is written. In what kinds differ, facts say; `strategies`, the rest."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, Final, TypeAlias

from trimtab.apiserver import names
from trimtab.apiserver.builtin import texts
from trimtab.apiserver.builtin.rules import rules_for
from trimtab.apiserver.catalogue import Kind
from trimtab.apiserver.causes import Cause
from trimtab.apiserver.conforming import conform
from trimtab.apiserver.facts import StrategyFacts
from trimtab.apiserver.messages import User

Json: TypeAlias = dict[str, Any]

_NAME_RULES: Final[dict[str, Callable[[str], list[str]]]] = {
    "label1035": texts.label_1035,
    "label": names.label,
    "path": names.path_segment,
}
_CHECKED_AGAIN: Final = frozenset(
    {"configmaps", "persistentvolumeclaims", "persistentvolumes", "secrets", "serviceaccounts", "services"}
)
"""Kinds of which the rules for an update look at all of the metadata too."""
ASIDE: Final = frozenset({"apiVersion", "kind", "metadata", "status"})
"""What is not wanted of an object: what it is, what is told of it."""


class Strategy:
    """What all kinds do; in what they differ is told by facts."""

    returns_deleted: bool = False  # a deletion answers with the object
    unconditional_update: bool = False  # PUT may leave out the resource version
    create_on_update: bool = False  # PUT where there is nothing creates
    has_generation: bool = True  # what is wanted is counted
    default_policy: str = "Background"
    deletion_warning: ClassVar[str] = ""
    allots: ClassVar[bool] = False  # its objects have something that no other has

    def __init__(self, kind: Kind, stamp: Callable[[], str]) -> None:
        self._stamp = stamp
        self.has_status = "status" in kind.subresources
        self.checks_metadata_again = kind.bucket in _CHECKED_AGAIN
        self._kind = kind
        self._rules = rules_for(str(kind))
        self._told = StrategyFacts()
        if kind.facts is not None and kind.facts.strategy is not None:
            self._told = told = kind.facts.strategy
            self.returns_deleted = told.returned
            self.unconditional_update = told.unconditional
            self.create_on_update = told.upserts
            self.has_generation = told.generation
            self.default_policy = "Orphan" if told.orphans else "Background"
        self.name_rule = self._rules.name_rule or _NAME_RULES.get(self._told.names, names.subdomain)

    def fill(self, obj: Json) -> None:
        """Fill in what a writer may leave out, as if they had written it."""

    def note_writer(self, obj: Json, user: User) -> None:
        """Note of a new object who made it, where its kind tells."""

    def prepare_create(self, obj: Json) -> None:
        """Set what nobody but the server sets."""
        if self.has_status and ("status" in obj or self._told.status):
            obj["status"] = {**self._fresh_status(), **self._told.status}
        if self.has_generation:
            obj["metadata"]["generation"] = 1

    def prepare_update(self, new: Json, old: Json) -> None:
        """Take back what an update may not change, and count the generation."""
        if self.has_status:
            keep(new, old, "status")
        if self.has_generation and self._differs(new, old):
            new["metadata"]["generation"] = old["metadata"].get("generation", 0) + 1

    def prepare_status(self, new: Json, old: Json) -> None:
        """Take back all but the status, and the metadata that may go with it."""
        status = new.get("status")
        metadata = new["metadata"]
        for name in [name for name in new if name not in ASIDE]:
            del new[name]
        new.update({name: value for name, value in old.items() if name not in ASIDE})
        new.pop("status", None)
        if status is not None:
            new["status"] = status
        self._keep_metadata(metadata, old["metadata"])

    def prepare_part(self, part: str, new: Json, old: Json) -> None:  # noqa: ARG002 - for kinds with more parts
        """Take back all but a part that is written apart: a subresource."""
        self.prepare_status(new, old)

    def check_part(self, part: str, new: Json, old: Json) -> list[Cause]:
        """What is wrong with a change of such a part."""
        return (self.check_status if part == "status" else self.check_update)(new, old)

    def check_create(self, obj: Json) -> list[Cause]:
        """What is wrong with a new object."""
        return (self._rules.create or self._rules.check)(self._stored(obj))

    def check_update(self, new: Json, old: Json) -> list[Cause]:
        """What is wrong with a change."""
        new, old = self._stored(new), self._stored(old)
        return self._rules.check(new) + self._rules.change(new, old)

    def check_status(self, new: Json, old: Json) -> list[Cause]:
        """What is wrong with a change of the status."""
        return self._rules.status(self._stored(new), self._stored(old))

    def _stored(self, obj: Json) -> Json:
        """The form in which rules know the object."""
        return obj if self._kind.conversion is None else self._kind.conversion.write(obj)

    def doomed(self, old: Json, now: str) -> Json | None:  # noqa: ARG002 - for definitions
        """What an object becomes when it is to be deleted, where that is not what becomes of all; else None."""
        return None

    def grace(self, obj: Json, asked: int | None) -> int | None:  # noqa: ARG002
        """Seconds that the object has before it goes; None for a kind that goes at once."""
        return None

    def _fresh_status(self) -> Json:
        schema = self._kind.schema
        assert schema is not None
        return conform(schema.fields["status"], {})[0] if "status" in schema.fields else {}

    def _keep_metadata(self, new: Json, old: Json) -> None:
        """What of the metadata does not change with the status."""
        for name in self._told.status_keeps:
            keep(new, old, name)

    def _differs(self, new: Json, old: Json) -> bool:
        made, was = new["metadata"], old["metadata"]
        if any((made.get(name) or {}) != (was.get(name) or {}) for name in self._told.counted):
            return True
        return {k: v for k, v in new.items() if k not in ASIDE} != {k: v for k, v in old.items() if k not in ASIDE}


def keep(new: Json, old: Json, name: str) -> None:
    """Put back what was there under a name."""
    if name in old:
        new[name] = old[name]
    elif name == "status" and isinstance(new.get(name), dict):
        new[name] = {}
    else:
        new.pop(name, None)

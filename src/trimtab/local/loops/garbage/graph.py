"""Who owns whom, by uid, and what is to be done about one object now. Pure.

An owner is *solid* as long as it is there and does not wait for what it owns to go first. An object with owners and
without a solid one is garbage.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias

from trimtab.kube.kinds import Resource
from trimtab.kube.meta.v1 import ObjectMeta, OwnerReference

FOREGROUND: Final = "foregroundDeletion"
ORPHAN: Final = "orphan"

Policy: TypeAlias = Literal["Background", "Foreground", "Orphan"]


@dataclass(slots=True, eq=False)
class Thing:
    """An object, as far as it matters here."""

    resource: Resource
    namespace: str
    name: str
    uid: str
    owners: tuple[OwnerReference, ...] = ()
    deleting: bool = False
    finalizers: tuple[str, ...] = ()

    @property
    def waits(self) -> bool:
        """Whether it goes when what it owns has gone."""
        return self.deleting and FOREGROUND in self.finalizers

    @property
    def orphans(self) -> bool:
        """Whether it goes, and leaves what it owns behind."""
        return self.deleting and ORPHAN in self.finalizers


def thing_of(resource: Resource, metadata: ObjectMeta) -> Thing:
    """Read an object's metadata."""
    return Thing(
        resource,
        metadata.namespace,
        metadata.name,
        metadata.uid,
        tuple(metadata.owner_references),
        metadata.deletion_timestamp is not None,
        tuple(metadata.finalizers),
    )


# What is to be done


@dataclass(frozen=True, slots=True)
class Check:
    """Ask the server whether these owners are there: nobody has seen them."""

    owners: tuple[OwnerReference, ...]


@dataclass(frozen=True, slots=True)
class Delete:
    """It is garbage."""

    policy: Policy


@dataclass(frozen=True, slots=True)
class Unlink:
    """It goes on, without these owners."""

    uids: frozenset[str]


@dataclass(frozen=True, slots=True)
class Leave:
    """What it owns goes on without it: first these, then it may go."""

    dependents: tuple[Thing, ...]


@dataclass(frozen=True, slots=True)
class Release:
    """Nothing holds it any more: take this finalizer off."""

    finalizer: str


@dataclass(frozen=True, slots=True)
class Wait:
    """It waits for these to go: they are to be looked at."""

    dependents: tuple[Thing, ...]


Deed: TypeAlias = Check | Delete | Unlink | Leave | Release | Wait


@dataclass(slots=True)
class Graph:
    """All objects that were seen."""

    things: dict[str, Thing] = field(default_factory=dict[str, Thing])
    absent: set[str] = field(default_factory=set[str])
    """The uids of owners that the server says are not there. A uid never comes back."""
    _dependents: dict[str, dict[str, None]] = field(default_factory=dict[str, dict[str, None]])

    def see(self, thing: Thing) -> set[str]:
        """An object is so; whom that concerns, by uid."""
        before = self.things.get(thing.uid)
        self.things[thing.uid] = thing
        old = {owner.uid for owner in before.owners} if before is not None else set[str]()
        new = {owner.uid for owner in thing.owners}
        for uid in old - new:
            self._forget_dependent(uid, thing.uid)
        for uid in new - old:
            self._dependents.setdefault(uid, {})[thing.uid] = None
        concerned = {thing.uid} if thing.owners or thing.waits or thing.orphans else set[str]()
        if thing.waits and (before is None or not before.waits):
            concerned |= set(self._dependents.get(thing.uid, ()))
        # Owners that wait for it look again: it may be on its way, or not theirs any more.
        return concerned | {uid for uid in old | new if (owner := self.things.get(uid)) is not None and owner.waits}

    def lose(self, uid: str) -> set[str]:
        """An object is gone; whom that concerns."""
        thing = self.things.pop(uid, None)
        self.absent.discard(uid)
        if thing is None:
            return set()
        for owner in thing.owners:
            self._forget_dependent(owner.uid, uid)
        waiting = {owner.uid for owner in thing.owners if owner.uid in self.things and self.things[owner.uid].waits}
        dependents = set(self._dependents.get(uid, ()))
        if dependents:
            self.absent.add(uid)
        return dependents | waiting

    def is_absent(self, uid: str) -> set[str]:
        """The server says that there is no such object; whom that concerns."""
        self.absent.add(uid)
        return set(self._dependents.get(uid, ()))

    def dependents(self, uid: str) -> Iterable[Thing]:
        """What an object owns."""
        return [self.things[each] for each in self._dependents.get(uid, ())]

    def decide(self, uid: str) -> Deed | None:
        """What is to be done about an object now."""
        thing = self.things.get(uid)
        if thing is None:
            return None
        if thing.orphans:
            theirs = tuple(self.dependents(uid))
            return Leave(theirs) if theirs else Release(ORPHAN)
        if thing.waits:
            blocking = tuple(each for each in self._blocking(uid) if not self._leads_back(each, uid))
            return Wait(blocking) if blocking else Release(FOREGROUND)
        if thing.deleting or not thing.owners:
            return None
        return self._judge(thing)

    def _blocking(self, uid: str) -> Iterable[Thing]:
        return (each for each in self.dependents(uid) if _blocks(each, uid))

    def _leads_back(self, thing: Thing, uid: str) -> bool:
        """Whether it waits, over others or directly, for the very object that waits for it: then neither would go."""
        seen, todo = set[str](), [thing]
        while todo:
            each = todo.pop()
            if each.uid == uid:
                return True
            if each.waits and each.uid not in seen:
                seen.add(each.uid)
                todo += self._blocking(each.uid)
        return False

    def _judge(self, thing: Thing) -> Deed | None:
        """What becomes of an object with owners."""
        unknown, solid, gone, waiting = list[OwnerReference](), False, set[str](), set[str]()
        for reference in thing.owners:
            owner = self.things.get(reference.uid)
            if reference.uid in self.absent or (owner is not None and not _could_own(owner, reference, thing)):
                gone.add(reference.uid)
            elif owner is None:
                unknown.append(reference)
            elif owner.waits:
                waiting.add(reference.uid)
            else:
                solid = True
        if unknown:
            return Check(tuple(unknown))
        if solid:
            return Unlink(frozenset(gone | waiting)) if gone or waiting else None
        if waiting and any(self._blocking(thing.uid)):
            return Delete("Foreground")
        if ORPHAN in thing.finalizers:
            return Delete("Orphan")
        return Delete("Foreground" if FOREGROUND in thing.finalizers else "Background")

    def _forget_dependent(self, owner: str, dependent: str) -> None:
        theirs = self._dependents.get(owner)
        if theirs is not None:
            theirs.pop(dependent, None)
            if not theirs:
                del self._dependents[owner]
                self.absent.discard(owner)  # nobody asks any more


def _blocks(thing: Thing, owner: str) -> bool:
    return any(each.uid == owner and each.block_owner_deletion for each in thing.owners)


def _could_own(owner: Thing, reference: OwnerReference, thing: Thing) -> bool:
    """Whether it is the one that is meant. What lives in another namespace counts as absent."""
    if owner.resource.namespaced and owner.namespace != thing.namespace:
        return False
    return owner.name == reference.name and owner.resource.kind == reference.kind

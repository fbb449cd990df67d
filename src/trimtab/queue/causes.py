"""Why a key is worked on: merged and bounded, however much happens while it waits."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, Literal, TypeAlias

import msgspec

What: TypeAlias = Literal[
    "created",
    "deleted",
    "spec",  # whatever is outside of metadata and status: a ConfigMap's data too
    "status",
    "labels",
    "annotations",
    "metadata",  # what else there is: owners, finalizers, that it is being deleted
    "initial",  # it was there when we began to look
    "resync",
    "requeue",  # the reconciler asked for it
    "retry",  # the reconciler failed
]
"""What happened to an object, or made us look at it again."""

MOST: Final = 8
"""So many causes are remembered of one key; of more only how many."""


class Cause(msgspec.Struct, frozen=True, gc=False):
    """One object, at one version, and what of it made a key be looked at."""

    kind: str
    key: str
    resource_version: str = ""
    what: tuple[What, ...] = ()

    def __str__(self) -> str:
        return f"{self.kind} {self.key}: {', '.join(self.what)}"

    def joined(self, newer: Cause) -> Cause:
        """Both as one: the newer version, and all that happened."""
        what: tuple[What, ...] = (*self.what, *(one for one in newer.what if one not in self.what))
        return Cause(self.kind, self.key, newer.resource_version or self.resource_version, what)


class Causes(msgspec.Struct, frozen=True, gc=False):
    """All that is known of why a key is worked on: each object once, in the order in which they came.

    `more` counts what was said of others when there were enough already.
    """

    known: tuple[Cause, ...] = ()
    more: int = 0

    def __iter__(self) -> Iterator[Cause]:
        return iter(self.known)

    def __len__(self) -> int:
        return len(self.known)

    def __str__(self) -> str:
        told = "; ".join(map(str, self.known))
        return f"{told}; and {self.more} more" if self.more else told

    def joined(self, cause: Cause) -> Causes:
        """These and one more."""
        known = self.known
        for at, one in enumerate(known):
            if one.key == cause.key and one.kind == cause.kind:
                return Causes((*known[:at], one.joined(cause), *known[at + 1 :]), self.more)
        if len(known) < MOST:
            return Causes((*known, cause), self.more)
        return Causes(known, self.more + 1)


NONE: Final = Causes()

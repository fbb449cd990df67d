"""What a run remembers of each ReplicaSet: what it asked the server, and got no answer to.

The cache shows what was answered, at once. What was not may have happened or not; until that is known, a Pod could be
made twice. So before a ReplicaSet is looked at, what is open is settled by asking the server.
"""

from __future__ import annotations

from trimtab.controller import Options
from trimtab.kube.frozen import plain_class
from trimtab.kube.objects import Object


def place(kind: type[Object], key: str) -> str:
    """Under which key an object is remembered: objects of several kinds may have the same name."""
    return f"{plain_class(kind).resource.kind} {key}"


class Memory:
    """Open questions, by the key of the object that they are about."""

    def __init__(self, _: Options) -> None:
        self._asked: dict[str, set[str]] = {}
        self._doomed: dict[str, set[str]] = {}
        self._counted: dict[str, str] = {}

    def asks_for(self, key: str, name: str) -> None:
        """A Pod of this name is about to be asked for."""
        self._asked.setdefault(key, set()).add(name)

    def knows(self, key: str, name: str) -> None:
        """It is known what became of it."""
        asked = self._asked.get(key, set())
        asked.discard(name)
        if not asked:
            self._asked.pop(key, None)

    def open(self, key: str) -> list[str]:
        """The names of the Pods of which nobody knows whether they were made."""
        return sorted(self._asked.get(key, ()))

    def dooms(self, key: str, uid: str) -> None:
        """A Pod is about to be deleted."""
        self._doomed.setdefault(key, set()).add(uid)

    def is_deleted(self, key: str, uid: str) -> None:
        """It is."""
        doomed = self._doomed.get(key, set())
        doomed.discard(uid)
        if not doomed:
            self._doomed.pop(key, None)

    def doomed(self, key: str) -> frozenset[str]:
        """The uids of the Pods of which nobody knows whether they were deleted."""
        return frozenset(self._doomed.get(key, ()))

    def has_counted(self, key: str, uid: str) -> bool:
        """Whether the Pods of this very object were counted at the server since this run began."""
        return self._counted.get(key) == uid

    def counts(self, key: str, uid: str) -> None:
        """They were."""
        self._counted[key] = uid

    def forget(self, key: str) -> None:
        """The object is gone."""
        for each in (self._asked, self._doomed, self._counted):
            each.pop(key, None)

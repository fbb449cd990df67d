"""What a controller can see and write: what it declared, and nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from trimtab.cache import Informer, Lister
from trimtab.controller.declaration import Controller, DeclarationError
from trimtab.kube.dynamic import Dynamic
from trimtab.kube.frozen import plain_class
from trimtab.kube.objects import Object
from trimtab.kube.wire import K


class Undeclared(DeclarationError):
    """A controller reads or writes a kind that it did not declare."""


class Reach:
    """The kinds of one controller."""

    def __init__(self, controller: Controller, informers: Mapping[type[Any], Informer[Any]]) -> None:
        self._controller = controller
        self._listers = {kind: informers[kind].lister for kind in controller.seen}
        self._writable = {_identity(kind) for kind in (*controller.seen, *controller.writes)}

    def lister(self, kind: type[K]) -> Lister[K]:
        """Reads a kind from the cache."""
        lister = self._listers.get(kind) or self._listers.get(plain_class(kind))
        if lister is None:
            raise self._undeclared("reads", kind)
        return cast("Lister[K]", lister)

    def lister_if_seen(self, kind: type[K]) -> Lister[K] | None:
        """Reads a kind from the cache, if it is there."""
        return cast("Lister[K] | None", self._listers.get(kind))

    def check_write(self, kind: type[Object | Dynamic]) -> None:
        """Refuse to write what was not declared."""
        if _identity(kind) not in self._writable:
            raise self._undeclared("writes", kind)

    def check_owned(self, kind: type[Object | Dynamic]) -> None:
        """Refuse to own what was not declared."""
        if kind not in self._controller.owns:
            raise self._undeclared("owns", kind)

    def _undeclared(self, verb: str, kind: type[Any]) -> Undeclared:
        name = getattr(kind, "__name__", repr(kind))
        return Undeclared(
            f"controller {self._controller.name} {verb} {name}, which it does not declare: "
            f"add {verb}=[{name}] to its @app.controller(...)"
        )


def _identity(kind: type[Any]) -> tuple[str, str]:
    """Versions and views of a kind are one kind to who writes."""
    return kind.resource.group, kind.resource.kind

"""What is declared of a controller, checked where it is declared."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic

from trimtab.controller.mappings import KeyMapping
from trimtab.controller.predicates import Predicate
from trimtab.errors import TrimtabError
from trimtab.kube.kinds import ResourceClass
from trimtab.kube.wire import K
from trimtab.queue import Limiter

if TYPE_CHECKING:
    from trimtab.controller.context import Context
    from trimtab.kube.dynamic import Dynamic
    from trimtab.kube.objects import Object

_NAME = re.compile(r"[a-z0-9]([a-z0-9.-]{0,61}[a-z0-9])?")
_QUALIFIED = re.compile(r"[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?/[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?")


class DeclarationError(TrimtabError):
    """A controller was declared wrongly, or does what it did not declare."""


@dataclass(frozen=True, slots=True)
class Finalizer(Generic[K]):
    """What has to be done before an object may go: `Finalizer("example.com/bucket", delete_bucket)`.

    An object gets the finalizer before the reconciler sees it for the first time. When the object is to be deleted, or
    is no longer one that the controller is about, `cleanup` is called instead of the reconciler, until it returns;
    then the finalizer is taken away. It may return what a reconciler returns: `requeue(after=5)` says that it has not
    finished. It is called again after a crash, so what is done already it has to find done.
    """

    name: str
    cleanup: Callable[[K, Context], Any]

    def __post_init__(self) -> None:
        if not _QUALIFIED.fullmatch(self.name):
            raise DeclarationError(
                f"{self.name!r} is no name of a finalizer: put a domain of yours before it, such as example.com/bucket"
            )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Controller:
    """One controller of an app, as it was declared."""

    app: str
    name: str
    kind: type[Any]
    function: Callable[[Any, Context], Any]
    where: Predicate | None
    owns: tuple[type[Object | Dynamic], ...]
    reads: tuple[type[Object | Dynamic], ...]
    writes: tuple[type[Object | Dynamic], ...]
    watches: Mapping[type[Any], KeyMapping]
    workers: int
    timeout: float | None
    finalizer: Finalizer[Any] | None
    gone: Callable[[str, Context], Any] | None
    resync: float | None
    gather: float
    limiter: Callable[[], Limiter]
    known_as: str = ""

    def __post_init__(self) -> None:
        check_name(self.name, "controller")
        if self.known_as:
            check_name(self.known_as, "controller")
        for kind in (*self.seen, *self.writes):
            if not isinstance(kind, type) or not issubclass(kind, ResourceClass):  # pyright: ignore[reportUnnecessaryIsInstance]
                raise DeclarationError(
                    f"controller {self.name}: {kind!r} is no kind: give a class such as Pod, or dynamic('v1', 'Pod')"
                )
        for what, number in (("workers", self.workers), ("timeout", self.timeout), ("resync", self.resync)):
            if number is not None and number <= 0:
                raise DeclarationError(f"controller {self.name}: {what}={number!r} has to be more than zero")
        if self.gather < 0:
            raise DeclarationError(f"controller {self.name}: gather={self.gather!r} has to be zero or more")
        if not callable(self.function):
            raise DeclarationError(f"controller {self.name} wants a function, not {self.function!r}")

    @property
    def seen(self) -> tuple[type[Any], ...]:
        """The kinds that it has in its cache, each once."""
        return tuple(dict.fromkeys((self.kind, *self.owns, *self.reads, *self.watches)))

    @property
    def field_manager(self) -> str:
        """Under which name it owns the fields that it applies: `<app>/<controller>`, once where both are the same."""
        if self.known_as:
            return self.known_as
        return self.name if self.name == self.app else f"{self.app}/{self.name}"


def check_name(name: str, what: str) -> None:
    """Refuse what cannot be the name of an app or a controller."""
    if not _NAME.fullmatch(name):
        raise DeclarationError(
            f"{name!r} is no name of {'an' if what[0] in 'aeiou' else 'a'} {what}: "
            "use up to 63 lower case letters, digits, dots and dashes"
        )

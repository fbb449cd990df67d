"""Functions that expressions can call: overloads by name, and how libraries declare them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from trimtab.apiserver.cel.types import Type

Implementation: TypeAlias = (
    Callable[[], Any]
    | Callable[[Any], Any]
    | Callable[[Any, Any], Any]
    | Callable[[Any, Any, Any], Any]
    | Callable[[Any, Any, Any, Any], Any]
)


@dataclass(frozen=True, slots=True)
class Overload:
    """One signature of a function, and what it does; a member's target is its first argument."""

    id: str
    args: tuple[Type, ...]
    result: Type
    member: bool
    run: Callable[..., Any] | None
    """None for what the evaluation does itself: conditions, comparisons, indexing."""
    params: frozenset[str] = field(init=False)
    """The type parameters in it."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "params", frozenset(_params((*self.args, self.result))))


def _params(types: Iterable[Type]) -> set[str]:
    found: set[str] = set()
    for t in types:
        if t.kind == "param":
            found.add(t.name)
        found |= _params(t.params)
    return found


class Library:
    """A set of functions; libraries are added up to what an environment knows."""

    def __init__(self) -> None:
        self.functions: dict[str, list[Overload]] = {}

    def function(self, name: str, id: str, args: Iterable[Type], result: Type, run: Implementation | None) -> None:  # noqa: A002 - CEL's word
        """Declare a function that is called by its name."""
        self._add(name, Overload(id, tuple(args), result, member=False, run=run))

    def member(self, name: str, id: str, args: Iterable[Type], result: Type, run: Implementation | None) -> None:  # noqa: A002 - CEL's word
        """Declare a function that is called on its first argument."""
        self._add(name, Overload(id, tuple(args), result, member=True, run=run))

    def include(self, other: Library) -> None:
        """Add another library's functions."""
        for name, overloads in other.functions.items():
            for overload in overloads:
                self._add(name, overload)

    def _add(self, name: str, overload: Overload) -> None:
        self.functions.setdefault(name, []).append(overload)

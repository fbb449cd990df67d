"""Options that an app declares for those who run it: `trimtab run` shows them, and reads flags and environment.

An option is a declaration, and keeps no value: the values of one run are `Options`, so that one app may run twice in a
process with different ones.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Literal, TypeVar, cast, overload

from trimtab.errors import TrimtabError, one_line

T = TypeVar("T")
V = TypeVar("V")
_NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
_TRUE = frozenset({"true", "yes", "on", "1"})
_FALSE = frozenset({"false", "no", "off", "0"})


class OptionError(TrimtabError):
    """An option was declared wrongly, or given a value that it cannot have."""


@dataclass(frozen=True, slots=True, eq=False)
class Option(Generic[T]):
    """One option of an app. `ctx.option(it)` is its value."""

    name: str
    """As people type it, without dashes before it: `allow-cidr`."""
    about: str
    """A sentence for `trimtab run APP --help`."""
    default: T
    parse: Callable[[str], Any]
    """Makes a value of one word; raises ValueError, with a reason, for one that it does not like."""
    many: bool
    """Whether it may be given several times: then its value is a tuple."""

    def read(self, words: Sequence[str]) -> T:
        """The value that these words stand for: one word, or several for `many`. OptionError says what is wrong."""
        values = [self._one(word) for word in words]
        return cast("T", tuple(values) if self.many else values[-1])

    def _one(self, word: str) -> Any:
        try:
            return truth(word) if self.parse is bool else self.parse(word)
        except ValueError as error:
            raise OptionError(f"--{self.name} cannot be {one_line(word)!r}: {one_line(str(error))}") from error


class Options:
    """The values of one run: `options[ALLOW_CIDR]` is what was given, or the default."""

    def __init__(self, given: Mapping[Option[Any], Any] | None = None) -> None:
        self._given = dict(given or {})
        self._made: dict[Callable[[Options], Any], Any] = {}

    def __getitem__(self, option: Option[T]) -> T:
        return cast("T", self._given.get(option, option.default))

    def once(self, make: Callable[[Options], T]) -> T:
        """What `make` makes of these values: made when it is first asked for, and kept for this run."""
        if make not in self._made:
            self._made[make] = make(self)
        return cast("T", self._made[make])

    def put(self, make: Callable[[Options], T], made: T) -> None:
        """Give what `make` would have made: for tests, which have their own clock or network."""
        self._made[make] = made


class DeclaresOptions:
    """What an App has of options."""

    def __init__(self) -> None:
        self.options: dict[str, Option[Any]] = {}

    @overload
    def option(self, name: str, about: str, *, default: str = "") -> Option[str]: ...
    @overload
    def option(self, name: str, about: str, *, default: T, parse: Callable[[str], V]) -> Option[T | V]: ...
    @overload
    def option(
        self, name: str, about: str, *, parse: Callable[[str], V], many: Literal[True], default: tuple[V, ...] = ()
    ) -> Option[tuple[V, ...]]: ...
    @overload
    def option(
        self, name: str, about: str, *, many: Literal[True], default: tuple[str, ...] = ()
    ) -> Option[tuple[str, ...]]: ...
    def option(
        self,
        name: str,
        about: str,
        *,
        default: Any = None,
        parse: Callable[[str], Any] = str,
        many: bool = False,
    ) -> Option[Any]:
        """Declare an option: `TIMEOUT = app.option("timeout", "Seconds a fetch may take.", default=10.0, parse=float)`.

        `trimtab run` reads it from `--timeout` (or `--APP.timeout`) and `TRIMTAB_TIMEOUT`; `ctx.option(TIMEOUT)` is its
        value. `parse` makes a value of a word, and raises ValueError where it cannot; `bool` takes yes and no. With
        `many` it may be given several times (in the environment with commas between), and the value is a tuple.
        """
        if not _NAME.fullmatch(name):
            raise OptionError(f"{name!r} is no name of an option: use lower case words with dashes, such as allow-cidr")
        if name in self.options:
            raise OptionError(f"option {name!r} is declared twice")
        if default is None and parse in (str, bool) and not many:
            default = parse()
        declared: Option[Any] = Option(name, about, () if many and default is None else default, parse, many)
        self.options[name] = declared
        return declared


def truth(word: str) -> bool:
    """Yes or no, in the words that people use for it."""
    if word.lower() in _TRUE:
        return True
    if word.lower() in _FALSE:
        return False
    raise ValueError("say true or false")

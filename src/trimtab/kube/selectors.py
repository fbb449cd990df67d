"""Label selectors: which objects are meant, by their labels."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Literal, TypeAlias, cast, get_args

from trimtab.kube.invalid import InvalidValueError
from trimtab.kube.labels import check_label_key, check_label_value

if TYPE_CHECKING:
    from collections.abc import Sequence

    from trimtab.kube.meta.v1 import LabelSelector, LabelSelectorRequirement

Operator: TypeAlias = Literal["=", "==", "!=", "in", "notin", "exists", "!", ">", "<"]

_STRUCT_OPERATORS: Final[dict[str, Operator]] = {
    "In": "in",
    "NotIn": "notin",
    "Exists": "exists",
    "DoesNotExist": "!",
}
_BINARY: Final = tuple(operator for operator in get_args(Operator) if operator not in ("exists", "!"))
_INTEGER: Final = re.compile(r"[+-]?[0-9]{1,63}")
_NO_WORDS: Final = frozenset(["", "=", "==", "!", "!=", "(", ")", ",", "<", ">"])
_TOKEN: Final = re.compile(r"[ \t\r\n]*(==|!=|[=!(),<>]|[^=!(),<> \t\r\n]+)")


@dataclass(frozen=True, slots=True)
class Requirement:
    """One condition on one label."""

    key: str
    operator: Operator
    values: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        check_label_key(self.key)
        for value in self.values:
            check_label_value(self.key, value)
        count = len(self.values)
        if self.operator in ("exists", "!"):
            valid, wanted = count == 0, "no value"
        elif self.operator in ("in", "notin"):
            valid, wanted = count > 0, "at least one value"
        elif self.operator in (">", "<"):
            valid, wanted = count == 1 and _int64(self.values[0]) is not None, "one integer"
        else:
            valid, wanted = count == 1, "one value"
        if not valid:
            given = ", ".join(map(repr, self.values)) or "none"
            raise InvalidValueError(f"operator '{self.operator}' on label {self.key!r} takes {wanted}, not {given}")

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Tell whether an object with these labels is meant; what lacks the label satisfies `!=`, `notin` and `!`."""
        value = labels.get(self.key)
        match self.operator:
            case "=" | "==" | "in":
                return value in self.values
            case "!=" | "notin":
                return value not in self.values
            case "exists":
                return value is not None
            case "!":
                return value is None
            case _:
                return self._compares(value)

    def _compares(self, value: str | None) -> bool:
        number, bound = _int64(value or ""), _int64(self.values[0])
        if number is None or bound is None:
            return False
        return number > bound if self.operator == ">" else number < bound

    def __str__(self) -> str:
        match self.operator:
            case "exists":
                return self.key
            case "!":
                return f"!{self.key}"
            case "in" | "notin":
                return f"{self.key} {self.operator} ({','.join(self.values)})"
            case _:
                return f"{self.key}{self.operator}{self.values[0]}"


@dataclass(frozen=True, slots=True)
class Selector:
    """A set of requirements that objects must all meet by their labels.

    Without any it selects everything; `Selector.nothing()` is the one that selects nothing.
    """

    requirements: tuple[Requirement, ...] = ()
    is_nothing: bool = field(default=False, kw_only=True)

    def __post_init__(self) -> None:
        object.__setattr__(self, "requirements", tuple(sorted(self.requirements, key=lambda each: each.key)))

    @classmethod
    def parse(cls, text: str) -> Selector:
        """Read kubectl's syntax: `app=web,tier!=db,zone in (a,b),env notin (test),gpu,!spot,cores>4`."""
        return cls(_Parser(text).requirements())

    @classmethod
    def from_mapping(cls, labels: Mapping[str, str]) -> Selector:
        """Select what has all these labels, as the `selector` of a Service."""
        return cls(tuple(Requirement(key, "=", (value,)) for key, value in labels.items()))

    @classmethod
    def from_struct(cls, selector: LabelSelector | None) -> Selector:
        """Read a typed LabelSelector; as everywhere in Kubernetes an empty one selects everything, None nothing."""
        if selector is None:
            return cls.nothing()
        expressions = tuple(
            Requirement(each.key, _struct_operator(each), _set(each.values)) for each in selector.match_expressions
        )
        return cls(cls.from_mapping(selector.match_labels).requirements + expressions)

    @classmethod
    def of(cls, labels: Selector | Mapping[str, str] | str | None) -> Selector | None:
        """Take labels as people give them; None is no selection. An empty mapping is refused: it looks like one."""
        if isinstance(labels, Mapping):
            if not labels:
                # A Service without a selector selects nothing, but an empty query selects everything.
                raise InvalidValueError(
                    "labels={} would select everything: leave labels out, or give Selector.everything()"
                )
            return cls.from_mapping(labels)
        return cls.parse(labels) if isinstance(labels, str) else labels

    @classmethod
    def everything(cls) -> Selector:
        """Select every object."""
        return cls()

    @classmethod
    def nothing(cls) -> Selector:
        """Select no object."""
        return cls(is_nothing=True)

    @property
    def is_everything(self) -> bool:
        """Whether no object is left out."""
        return not self.requirements and not self.is_nothing

    @property
    def equalities(self) -> tuple[tuple[str, str], ...]:
        """The labels that an object must have with exactly these values: what an index can look up."""
        return tuple(
            (each.key, each.values[0])
            for each in self.requirements
            if each.operator in ("=", "==", "in") and len(each.values) == 1
        )

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Tell whether an object with these labels is selected."""
        return not self.is_nothing and all(each.matches(labels) for each in self.requirements)

    def __str__(self) -> str:
        # Kubernetes would print "" for both extremes. Sent to a server that selects everything; this is refused.
        return "<nothing>" if self.is_nothing else ",".join(map(str, self.requirements))

    def __repr__(self) -> str:
        return f"<Selector {self}>"


class _Parser:
    """Reads kubectl's syntax, token by token; the empty token ends it."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens = [*_TOKEN.findall(text), ""]
        self._position = 0

    def requirements(self) -> tuple[Requirement, ...]:
        found: list[Requirement] = []
        if not self._peek():
            return ()
        while True:
            found.append(self._requirement())
            if not self._accept(","):
                break
        if self._peek():
            raise self._expected("',' or the end")
        return tuple(found)

    def _requirement(self) -> Requirement:
        absent = self._accept("!")
        key = self._word()
        if key is None:
            raise self._expected("a label key" if absent else "a label key or '!'")
        if absent:
            return Requirement(key, "!")
        if self._peek() in ("", ","):
            return Requirement(key, "exists")
        if self._peek() not in _BINARY:
            raise self._expected(f"one of {' '.join(_BINARY)}")
        operator = cast("Operator", self._take())
        if operator in ("in", "notin"):
            return Requirement(key, operator, self._values())
        value = self._word()
        if value is None and self._peek() not in ("", ","):
            raise self._expected("a value")
        return Requirement(key, operator, (value or "",))

    def _values(self) -> tuple[str, ...]:
        """Read `(a,b)`, in which an empty place stands for the empty value."""
        if not self._accept("("):
            raise self._expected("'('")
        values = [self._word() or ""]
        while self._accept(","):
            values.append(self._word() or "")
        if not self._accept(")"):
            raise self._expected("',' or ')'")
        return _set(values)

    def _word(self) -> str | None:
        return self._take() if self._peek() not in _NO_WORDS else None

    def _peek(self) -> str:
        return self._tokens[self._position]

    def _take(self) -> str:
        self._position += 1
        return self._tokens[self._position - 1]

    def _accept(self, token: str) -> bool:
        accepted = self._peek() == token
        self._position += accepted
        return accepted

    def _expected(self, what: str) -> InvalidValueError:
        found = repr(self._peek()) if self._peek() else "the end"
        return InvalidValueError(f"label selector {self._text!r}: expected {what}, found {found}")


def _struct_operator(expression: LabelSelectorRequirement) -> Operator:
    operator = _STRUCT_OPERATORS.get(expression.operator)
    if operator is None:
        raise InvalidValueError(
            f"operator {expression.operator!r} on label {expression.key!r} is unknown: "
            f"write {', '.join(_STRUCT_OPERATORS)}"
        )
    return operator


def _set(values: Sequence[str]) -> tuple[str, ...]:
    return tuple(sorted(set(values)))


def _int64(text: str) -> int | None:
    number = int(text) if _INTEGER.fullmatch(text) else None
    return number if number is not None and -(2**63) <= number < 2**63 else None

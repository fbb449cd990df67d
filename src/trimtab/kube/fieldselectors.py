"""Field selectors: which objects are meant, by a few of their fields."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

from trimtab.kube.invalid import InvalidValueError

if TYPE_CHECKING:
    from collections.abc import Mapping

_TERM: Final = re.compile(r"(?:[^\\,]|\\(?:.|\Z))+", re.DOTALL)  # up to a comma without a backslash
_OPERATOR: Final = re.compile(r"!=|==?")
_SPECIAL: Final = re.compile(r"[\\,=]")
_ESCAPED: Final = re.compile(r"\\([\\,=])")
_VALUE: Final = re.compile(rf"(?:[^\\,=]|{_ESCAPED.pattern})*+")


@dataclass(frozen=True, slots=True)
class FieldRequirement:
    """One condition on one field; a field that an object lacks counts as empty."""

    field: str
    operator: Literal["=", "!="]
    value: str

    def matches(self, fields: Mapping[str, str]) -> bool:
        """Tell whether an object with these fields is meant."""
        return (fields.get(self.field, "") == self.value) == (self.operator == "=")

    def __str__(self) -> str:
        return self.field + self.operator + _SPECIAL.sub(r"\\\g<0>", self.value)


@dataclass(frozen=True, slots=True)
class FieldSelector:
    """A set of requirements that objects must all meet by their fields; without any it selects everything."""

    requirements: tuple[FieldRequirement, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "requirements", tuple(sorted(self.requirements, key=str)))

    @classmethod
    def parse(cls, text: str) -> FieldSelector:
        r"""Read kubectl's syntax: `spec.nodeName=n1,status.phase!=Failed`; backslashes escape `\`, `,` and `=`."""
        found = (_parse_term(text, term) for term in _TERM.findall(text))
        return cls(tuple(each for each in found if each.field or each.value))

    @classmethod
    def from_mapping(cls, fields: Mapping[str, str]) -> FieldSelector:
        """Select what has all these fields with exactly these values."""
        return cls(tuple(FieldRequirement(name, "=", value) for name, value in fields.items()))

    @property
    def is_everything(self) -> bool:
        """Whether no object is left out."""
        return not self.requirements

    @property
    def equalities(self) -> tuple[tuple[str, str], ...]:
        """The fields that an object must have with exactly these values: what an index can look up."""
        return tuple((each.field, each.value) for each in self.requirements if each.operator == "=")

    def matches(self, fields: Mapping[str, str]) -> bool:
        """Tell whether an object with these fields is selected."""
        return all(each.matches(fields) for each in self.requirements)

    def __str__(self) -> str:
        return ",".join(map(str, self.requirements))

    def __repr__(self) -> str:
        return f"<FieldSelector {self}>"


def _parse_term(text: str, term: str) -> FieldRequirement:
    operator = _OPERATOR.search(term)
    if operator is None:
        raise InvalidValueError(f"field selector {text!r}: {term!r} has no operator, write field=value or field!=value")
    value = term[operator.end() :]
    if not _VALUE.fullmatch(value):
        raise InvalidValueError(
            f"field selector {text!r}: in value {value!r} put a backslash before '\\', ',' and '=', and nowhere else"
        )
    return FieldRequirement(term[: operator.start()], "!=" if operator[0] == "!=" else "=", _ESCAPED.sub(r"\1", value))

"""Says what is wrong with a selector in the words of Go's parsers, which users know from Kubernetes."""

from __future__ import annotations

import re
from typing import Final

from trimtab.apiserver import causes, names

_SPACE: Final = " \t\r\n"
_SPECIAL: Final = "=!(),<>"
_SYMBOLS: Final = frozenset([")", ",", "!", "==", "=", ">", "<", "!=", "("])
_WORDS: Final = frozenset(["in", "notin"])
_OPERATORS: Final = ("in", "notin", "=", "==", "!=", ">", "<")
_SAID: Final = "in, notin, =, ==, !=, gt, lt"
_UNSPACED: Final = re.compile(rf"[^{re.escape(_SPECIAL + _SPACE)}]+")
_INTEGER: Final = re.compile(r"[+-]?[0-9]+")
_TERM: Final = re.compile(r"(?:[^\\,]|\\(?:.|\Z))+", re.DOTALL)
_OPERATOR: Final = re.compile(r"!=|==?")


def label_fault(text: str) -> str:
    """The first fault of a label selector; "" where there is none."""
    try:
        _Labels(text).read()
    except _Fault as fault:
        return str(fault)
    return ""


def field_fault(text: str) -> str:
    """The first fault of a field selector; "" where there is none."""
    for term in sorted(_TERM.findall(text)):
        operator = _OPERATOR.search(term)
        if operator is None:
            return f"invalid selector: '{text}'; can't understand '{term}'"
        if fault := _value_fault(term[operator.end() :]):
            return f"invalid field selector: {fault}"
    return ""


def _value_fault(value: str) -> str:
    characters = iter(value)
    for character in characters:
        if character == "\\":
            escaped = next(characters, "")
            if escaped not in ("\\", ",", "="):
                return f"invalid escape sequence: \\{escaped}"
        elif character in ",=":
            return f"unescaped character in value: {ord(character)}"
    return ""


class _Fault(Exception):
    pass


class _Labels:
    """Goes through the tokens of a label selector; the empty one ends it."""

    def __init__(self, text: str) -> None:
        self._tokens = _tokens(text)
        self._at = 0

    def read(self) -> None:
        while token := self._here:
            if not _is_word(token) and token != "!":  # noqa: S105 - of a text, and no secret
                raise _Fault(f"found '{token}', expected: !, identifier, or 'end of string'")
            try:
                self._requirement()
            except _Fault as fault:
                raise _Fault(f"unable to parse requirement: {fault}") from fault
            found = self._take()
            if not found:
                return
            if found != ",":
                raise _Fault(f"found '{found}', expected: ',' or 'end of string'")
            if not _is_word(self._here) and self._here != "!":
                raise _Fault(f"found '{self._here}', expected: identifier after ','")

    @property
    def _here(self) -> str:
        return self._tokens[self._at]

    def _take(self) -> str:
        token = self._here
        self._at += 1 if token else 0
        return token

    def _requirement(self) -> None:
        absent = self._here == "!"
        if absent:
            self._take()
        key = self._take()
        if not _is_word(key):
            raise _Fault(f"found '{key}', expected: identifier")
        if faults := names.qualified(key):
            raise _Fault(f"<nil>: {causes.invalid('', key, '; '.join(faults))}")
        if absent or self._here in ("", ","):
            return
        operator = self._take()
        if operator not in _OPERATORS:
            raise _Fault(f"found '{operator}', expected: {_SAID}")
        values = self._values() if operator in _WORDS else [self._value()]
        _check_values(key, operator, sorted(set(values)))

    def _value(self) -> str:
        if self._here in ("", ","):
            return ""
        value = self._take()
        if not _is_word(value):
            raise _Fault(f"found '{value}', expected: identifier")
        return value

    def _values(self) -> list[str]:
        opening = self._take()
        if opening != "(":
            raise _Fault(f"found '{opening}' expected: '('")
        first = self._here
        if first == ")":
            self._take()
            return [""]
        if not _is_word(first) and first != ",":
            raise _Fault(f"found '{first}', expected: ',', ')' or identifier")
        found = self._listed()
        self._take()
        return found

    def _listed(self) -> list[str]:
        found: list[str] = []
        while True:
            token = self._take()
            after = self._here
            if _is_word(token):
                found.append(token)
                if after == ")":
                    return found
                if after != ",":
                    raise _Fault(f"found '{after}', expected: ',' or ')'")
            elif token == ",":  # noqa: S105 - of a text, and no secret
                if not found or after in (")", ","):
                    found.append("")
                if after == ")":
                    return found
            else:
                raise _Fault(f"found '{token}', expected: ',', or identifier")


def _check_values(key: str, operator: str, values: list[str]) -> None:
    found: list[causes.Cause] = []
    for index, value in enumerate(values):
        if operator in "<>" and not (
            _INTEGER.fullmatch(value) and len(value) < 4000 and -(2**63) <= int(value) < 2**63
        ):
            why = "for 'Gt', 'Lt' operators, the value must be an integer"
            found.append(causes.invalid(f"values[{index}]", value, why))
    for index, value in enumerate(values):
        if faults := names.label_value(value):
            found.append(causes.invalid(f"values[{index}][{key}]", value, "; ".join(faults)))
    if found:
        faults = list(dict.fromkeys(map(str, found)))
        raise _Fault(faults[0] if len(faults) == 1 else f"[{', '.join(faults)}]")


def _is_word(token: str) -> bool:
    return bool(token) and token[0] not in _SPECIAL


def _tokens(text: str) -> list[str]:
    found: list[str] = []
    place = 0
    while place < len(text) and text[place] != "\0":
        if text[place] in _SPACE:
            place += 1
        elif text[place] in _SPECIAL:
            found.append(_symbol(text, place))
            place += len(found[-1])
        else:
            word = _UNSPACED.match(text, place)
            assert word is not None
            found.append(word[0])
            place = word.end()
    return [*found, ""]


def _symbol(text: str, start: int) -> str:
    """The longest symbol that begins here: what follows is taken to it as long as it makes one."""
    end = start + 1
    while end < len(text) and text[start : end + 1] in _SYMBOLS:
        end += 1
    return text[start:end]

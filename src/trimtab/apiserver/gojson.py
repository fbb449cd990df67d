"""Says what is wrong with JSON in the words of Go's scanner, which clients and their users know from Kubernetes."""

from __future__ import annotations

from typing import Final

_DEEPEST: Final = 10_000
_SPACE: Final = b" \t\r\n"
_DIGITS: Final = b"0123456789"
_HEX: Final = b"0123456789abcdefABCDEF"
_ESCAPES: Final = b'bfnrt\\/"'
_LITERALS: Final = {ord("t"): b"true", ord("f"): b"false", ord("n"): b"null"}
_SHORT: Final = {"\t": "\\t", "\n": "\\n", "\r": "\\r", "\a": "\\a", "\b": "\\b", "\f": "\\f", "\v": "\\v"}


def fault(body: bytes) -> str:
    """The first fault in what should be one JSON value; "" where there is none."""
    try:
        _Scanner(body).scan()
    except _Fault as error:
        return str(error)
    return ""


class _Fault(Exception):
    pass


class _Scanner:
    """Goes through the bytes once. `_open` has a closing bracket for each list and object that is open."""

    def __init__(self, body: bytes) -> None:
        self._body = body
        self._at = 0
        self._open: list[int] = []

    def scan(self) -> None:
        while True:
            if self._value():
                continue  # a list or an object has begun, with a value in it
            while self._open and not self._goes_on():
                self._open.pop()
            if not self._open:
                break
        self._blanks()
        if self._at < len(self._body):
            raise self._wrong("after top-level value")

    def _value(self) -> bool:
        """Read a value, or the beginning of one that has values of its own: then it is True."""
        first = self._next()
        if first in b"{[":
            self._at += 1
            self._open.append(ord("}") if first == ord("{") else ord("]"))
            if len(self._open) > _DEEPEST:
                raise _Fault(f"invalid character {_quoted(first)} exceeded max depth")
            if self._next() == self._open[-1]:
                self._at += 1
                self._open.pop()
                return False
            if first == ord("{"):
                self._key()
            return True
        if first == ord('"'):
            self._string()
        elif first in _LITERALS:
            self._literal(_LITERALS[first])
        elif first in b"-0123456789":
            self._number()
        else:
            raise self._wrong("looking for beginning of value")
        return False

    def _goes_on(self) -> bool:
        """After a value: whether another follows in the same list or object."""
        in_object = self._open[-1] == ord("}")
        found = self._next()
        if found == self._open[-1]:
            self._at += 1
            return False
        if found != ord(","):
            raise self._wrong("after object key:value pair" if in_object else "after array element")
        self._at += 1
        if in_object:
            self._next()
            self._key()
        return True

    def _key(self) -> None:
        if self._here() != ord('"'):
            raise self._wrong("looking for beginning of object key string")
        self._string()
        if self._next() != ord(":"):
            raise self._wrong("after object key")
        self._at += 1

    def _string(self) -> None:
        self._at += 1
        while (found := self._here()) != ord('"'):
            if found < 0x20:
                raise self._wrong("in string literal")
            self._at += 1
            if found == ord("\\"):
                self._escape()
        self._at += 1

    def _escape(self) -> None:
        found = self._here()
        if found == ord("u"):
            for _ in range(4):
                self._at += 1
                if self._here() not in _HEX:
                    raise self._wrong("in \\u hexadecimal character escape")
        elif found not in _ESCAPES:
            raise self._wrong("in string escape code")
        self._at += 1

    def _literal(self, word: bytes) -> None:
        for wanted in word:
            if self._here() != wanted:
                raise self._wrong(f"in literal {word.decode()} (expecting {_quoted(wanted)})")
            self._at += 1

    def _number(self) -> None:
        if self._here() == ord("-"):
            self._at += 1
            if self._here() not in _DIGITS:
                raise self._wrong("in numeric literal")
        if self._here() == ord("0"):
            self._at += 1
        else:
            self._digits()
        if self._body[self._at : self._at + 1] == b".":
            self._at += 1
            self._must_have_digits("after decimal point in numeric literal")
        if self._body[self._at : self._at + 1] in (b"e", b"E"):
            self._at += 1
            if self._here() in b"+-":
                self._at += 1
            self._must_have_digits("in exponent of numeric literal")

    def _must_have_digits(self, where: str) -> None:
        if self._here() not in _DIGITS:
            raise self._wrong(where)
        self._digits()

    def _digits(self) -> None:
        while self._at < len(self._body) and self._body[self._at] in _DIGITS:
            self._at += 1

    def _blanks(self) -> None:
        while self._at < len(self._body) and self._body[self._at] in _SPACE:
            self._at += 1

    def _next(self) -> int:
        self._blanks()
        return self._here()

    def _here(self) -> int:
        if self._at >= len(self._body):
            raise _Fault("unexpected end of JSON input")
        return self._body[self._at]

    def _wrong(self, where: str) -> _Fault:
        return _Fault(f"invalid character {_quoted(self._body[self._at])} {where}")


def _quoted(byte: int) -> str:
    """A byte as Go prints the character of that number."""
    character = chr(byte)
    if character in ("'", "\\"):
        return f"'\\{character}'"
    if character in _SHORT:
        return f"'{_SHORT[character]}'"
    if byte < 0x20 or byte == 0x7F:
        return f"'\\x{byte:02x}'"
    return f"'{character}'" if character.isprintable() else f"'\\u{byte:04x}'"

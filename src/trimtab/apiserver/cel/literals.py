"""What literals stand for."""

from __future__ import annotations

import math
import re
from typing import Final

from trimtab.apiserver.cel.values import INT_MAX, INT_MIN, UINT_MAX, Uint

_ESCAPED: Final = re.compile(r"\\(?:([abfnrtv\"'\\?`])|u(.{4})|U(.{8})|[xX](.{2})|([0-3][0-7]{2}))", re.DOTALL)
_SIMPLE: Final = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_LAST_CODE_POINT: Final = 0x10FFFF


def whole(text: str) -> int | None:
    """An int, decimal or hexadecimal, with its sign; None where it does not fit."""
    digits = text.lstrip("-")
    number = _number(digits)
    if number is None:
        return None
    number = -number if text.startswith("-") else number
    return number if INT_MIN <= number <= INT_MAX else None


def unsigned(text: str) -> Uint | None:
    """An unsigned int without its suffix; None where it does not fit."""
    number = _number(text)
    return Uint(number) if number is not None and number <= UINT_MAX else None


def double(text: str) -> float | None:
    """A floating point number; None where it is too large."""
    number = float(text)
    return None if math.isinf(number) else number


def string(text: str) -> str | None:
    """The text between the quotes, its escapes resolved; None where an escape names no character."""
    body, raw = _body(text)
    if raw:
        return body
    try:
        return _ESCAPED.sub(_character, body)
    except ValueError:
        return None


def octets(text: str) -> bytes | None:
    """The bytes of a bytes literal, where `\\xff` is one byte."""
    body, raw = _body(text[1:])
    if raw:
        return body.encode()
    parts: list[bytes] = []
    last = 0
    for escape in _ESCAPED.finditer(body):
        parts.append(body[last : escape.start()].encode())
        hexadecimal, octal = escape.group(4), escape.group(5)
        if hexadecimal or octal:
            parts.append(bytes([int(hexadecimal, 16) if hexadecimal else int(octal, 8)]))
        elif escape.group(1):
            parts.append(_character(escape).encode())
        else:
            return None  # bytes have no code points to name
        last = escape.end()
    parts.append(body[last:].encode())
    return b"".join(parts)


def _number(text: str) -> int | None:
    if len(text) > 32:  # more than any number that fits, however it is written
        return _number(text.lstrip("0") or "0") if text.startswith("0") and len(text.lstrip("0")) <= 32 else None
    return int(text, 16) if text.startswith("0x") else int(text)


def _body(text: str) -> tuple[str, bool]:
    raw = text[0] in "rR"
    text = text[1:] if raw else text
    quotes = 3 if text[:3] in ('"""', "'''") else 1
    return text[quotes:-quotes].replace("\r\n", "\n").replace("\r", "\n"), raw


def _character(escape: re.Match[str]) -> str:
    simple, short, long, hexadecimal, octal = escape.groups()
    if simple:
        return _SIMPLE.get(simple, simple)
    code = int(octal, 8) if octal else int(short or long or hexadecimal, 16)
    if code > _LAST_CODE_POINT or 0xD800 <= code <= 0xDFFF:
        raise ValueError(code)
    return chr(code)
